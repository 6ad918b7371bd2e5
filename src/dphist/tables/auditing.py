"""How tables are audited: on which neighbors."""

import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from dphist.arrays import IntArray
from dphist.document.audited import SMALL_DELTA, AuditedClass, Auditing, Pair
from dphist.errors import ParameterError
from dphist.tables.keyed_tables import KeyedTables
from dphist.tables.mechanism import Tables

_MOST_CELLS = 4096
_LARGEST = 2**62 - 1  # records in all
_HUGE = "counts next to 2**62 in all"


class CellNeighbors:
    """One unit adds `max_rows` records to cells of all keys."""

    def __init__(self, mechanism: Tables) -> None:
        self.shape = mechanism.keys.shape
        self.size = math.prod(self.shape)
        self.by = mechanism.max_rows
        if self.size > _MOST_CELLS:
            raise ParameterError("keys", f"must have at most {_MOST_CELLS} cells to be audited")

    def pairs(self) -> Iterator[Pair]:
        """Return edge cases first, then a unit in many cells, and random counts."""
        flat = np.zeros(self.size, np.int64)
        bases = {"no records": flat, "a few in each cell": flat + 3}
        bases[_HUGE] = flat + (_LARGEST // self.size - self.by)
        draw = np.random.default_rng(3)
        bases["random counts"] = draw.geometric(0.1, self.size) * draw.integers(0, 2, self.size)
        places = {"the first cell": 0, "the last cell": self.size - 1}
        places["a cell in the middle"] = self.size // 2
        for name, base in bases.items():
            for where, place in places.items():
                grown = base.copy()
                grown[place] += self.by
                yield self._make(f"{name}; one unit in {where}", base, grown, name == _HUGE)
        spread = flat.copy()
        for k in range(self.by):
            spread[k * (self.size - 1) // max(self.by - 1, 1)] += 1
        yield self._make("no records; one unit in many cells", flat, spread)

    def vary(self, name: str, raw: Any, draw: random.Random) -> Iterator[Pair]:
        """Add the same records to both, or the unit somewhere else."""
        one, other = (each.copy() for each in raw)
        if one.max(initial=0) > 2**40:
            return
        place = draw.randrange(self.size)
        more = draw.choice((1, 3, 30, 1000))
        one[place] += more
        other[place] += more
        yield self._make(f"{name}; {more} more in cell {place + 1}", one, other)
        moved = raw[0].copy()
        moved[place] += self.by
        base = name.partition(";")[0]
        yield self._make(f"{base}; one unit in cell {place + 1}", raw[0], moved)

    def _make(self, name: str, one: IntArray, other: IntArray, huge: bool = False) -> Pair:
        return Pair(name, one.reshape(self.shape), other.reshape(self.shape), (one, other), huge)


def _list_contrasts(value: KeyedTables) -> dict[str, list[int]]:
    """Return the noisy contrasts: all numbers of the tables follow from them."""
    return {str(table): found.ravel().tolist() for table, found in value.contrasts.items()}


AUDITING = Auditing(
    neighbors=CellNeighbors,
    compared=_list_contrasts,
    mechanisms={
        Tables: AuditedClass(
            small={"delta": SMALL_DELTA, "keys": {"a": [1, 2], "b": [1, 2]}, "tables": ["a+b"]},
            others={
                "that overlap": {
                    "delta": SMALL_DELTA,
                    "keys": {"a": [1, 2, 3], "b": [1, 2], "c": [1, 2, 3, 4, 5]},
                    "tables": ["a+b", "b+c"],
                }
            },
        )
    },
)
