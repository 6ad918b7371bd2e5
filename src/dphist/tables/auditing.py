"""How tables are audited: on which neighbors."""

from dataclasses import replace
from typing import Any

import numpy as np

from dphist.arrays import IntArray
from dphist.data.clamp import Clamp
from dphist.document.audited import (
    SMALL_DELTA,
    AuditedClass,
    Auditing,
    CellNeighbors,
    Numbers,
    Pair,
    Statement,
    go_beyond,
    name_others,
)
from dphist.errors import UnsupportedError
from dphist.release.release import Release
from dphist.tables.drawing import sort_by_length
from dphist.tables.keyed_counts import KeyedCounts
from dphist.tables.keyed_tables import KeyedTables
from dphist.tables.lattice import subsets
from dphist.tables.mechanism import Tables

_MOST_ROWS = 20_000  # about as many, where each row is held


class SumNeighbors(CellNeighbors):
    """One unit adds up to `max_rows` records to cells, with values that are summed.

    All of its values are beyond the bounds that are farthest from the centers.
    """

    has_huge = False

    def __init__(self, mechanism: Tables) -> None:
        super().__init__(mechanism.keys.shape, mechanism.max_rows, "cell", "keys")
        self.keys, self.sums = mechanism.keys, dict(mechanism.sums or ())

    def _pair(self, name: str, base: str, one: IntArray, other: IntArray) -> Pair:
        held = np.minimum(one, max(_MOST_ROWS // self.size, 3))
        own = np.repeat(np.arange(self.size), other - one)
        data = self._sum_rows(held, own[:0]), self._sum_rows(held, own)
        return Pair(name, *data, (base, one, other))

    def _sum_rows(self, counts: IntArray, own: IntArray) -> KeyedCounts:
        """Return users who have one row each, and one user with rows in these cells."""
        cells = np.concatenate([np.repeat(np.arange(self.size), counts), own])
        more = len(cells) - len(own)
        cell, user = name_others(self.sums, "cell", "user")
        rows: dict[str, Any] = {cell: cells, user: np.zeros(len(cells), np.int64)}
        rows[user][:more] = np.arange(1, more + 1)
        for name, clamp in self.sums.items():
            rows[name] = np.full(len(cells), go_beyond(clamp, counts_users=True))
            rows[name][:more] = float(clamp.low)
        counted = KeyedCounts.from_table(
            rows, keys={cell: range(self.size)}, user=user, max_rows=self.most, sums=self.sums
        )
        return replace(counted, keys=self.keys)


def _neighbors(mechanism: Tables) -> CellNeighbors:
    """Return neighbors: one unit adds `max_rows` records to cells of all keys.

    Raises
    ------
    UnsupportedError
        If values of keys are found: which cells there are depends on the data. Or if rows of a unit
        differ on a key, which the neighbors here do not. Or if counts are sums of weights.
    """
    if mechanism.one_row_per is not None and mechanism.max_rows > 1:
        raise UnsupportedError(
            "tables with one row of a unit for each value of a key are not audited on neighbors of "
            "the kind, whose rows may be alike: give pairs of neighbors, or audit them without "
            "one_row_per"
        )
    if mechanism.keys.discovering:
        raise UnsupportedError(
            "tables whose values are found have no cells to be audited on: audit them with all "
            "values listed"
        )
    if mechanism.step is not None:
        raise UnsupportedError(
            "tables of weights are not audited as such: their noise is that of tables without a "
            "step, of as many records as a unit has steps; audit these"
        )
    if mechanism.sums:
        return SumNeighbors(mechanism)
    return CellNeighbors(mechanism.keys.shape, mechanism.max_rows, "cell", "keys")


def _list_contrasts(value: KeyedTables) -> dict[str, list[int]]:
    """Return the noisy contrasts: all numbers of the tables follow from them."""
    sums = [(f"{name} ", held.tables) for name, held in value.summed.items()]
    return {
        f"{prefix}{table}": found.ravel().tolist()
        for prefix, tables in [("", value), *sums]
        for table, found in tables.contrasts.items()
    }


def _read_contrasts(mechanism: Tables, release: Release, _: Any) -> Numbers:
    """Return the noisy contrasts in the order of drawing: of counts, then of each sum.

    Not those of noise on cells, or where values of keys are found.
    """
    if mechanism.keys.discovering or mechanism.noise_on == "cells":
        return None
    lattice, found = mechanism.lattice, []
    order = dict.fromkeys(part for table in lattice.maximal for part in subsets(table))
    for held in (release.value, *(each.tables for each in release.value.summed.values())):
        for table in order:
            noisy = held.contrasts[table].ravel()
            for _, drawn_together in sort_by_length(lattice, table):
                found += noisy[drawn_together].tolist()
    return found


AUDITING = Auditing(
    neighbors=_neighbors,
    compared=_list_contrasts,
    mechanisms={
        Tables: AuditedClass(
            small={"delta": SMALL_DELTA, "keys": {"a": [1, 2], "b": [1, 2]}, "tables": ["a+b"]},
            others={
                "that overlap": {
                    "delta": SMALL_DELTA,
                    "keys": {"a": [1, 2, 3], "b": [1, 2], "c": [1, 2, 3, 4, 5]},
                    "tables": ["a+b", "b+c"],
                },
                "with ranges": {
                    "delta": SMALL_DELTA,
                    "keys": {"a": [1, 2, 3], "b": [1, 2]},
                    "tables": ["a+b"],
                    "ranges": ["a"],
                },
                "with sums": {
                    "delta": SMALL_DELTA,
                    "keys": {"a": [1, 2], "b": [1, 2]},
                    "tables": ["a+b"],
                    "sums": {"spent": Clamp(-1, 2, 1)},
                },
                "of pure epsilon": {
                    "delta": 0,
                    "keys": {"a": [1, 2, 3], "b": [1, 2, 3, 4], "c": [1, 2, 3, 4]},
                    "tables": ["a+b", "b+c", "a+c"],
                },
                "of pure epsilon, on cells": {
                    "delta": 0,
                    "keys": {"a": [1, 2], "b": [1, 2]},
                    "tables": ["a+b"],
                },
            },
            statement=Statement(_read_contrasts, fixed=True),
            tiny={"of two cells": {"delta": 0, "keys": {"a": [1, 2]}, "tables": ["a"]}},
        )
    },
)
