"""Combinations of values that no record can have, as everybody knows without any data.

They are a public argument and never looked up in data. They change nothing that is measured: cells
of the unbiased tables are marked, and whole numbers and made-up records are none there.

Combinations that share a key are linked. All combinations of values of linked keys are listed, so
which cells of a table are impossible is exact, also of a table that has only some of the keys: if
all wards are impossible for an age, the age is.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np

from dphist.arrays import BoolArray, IntArray
from dphist.errors import ParameterError
from dphist.tables.conditions import find_weights
from dphist.tables.keys import OTHER, Key, Keys
from dphist.tables.lattice import Table

MAX_COMBINATIONS = 10_000
MAX_LINKED = 2**24  # combinations of values of keys that are linked
_EXCHANGES = 8  # of each key, until records that are still impossible are replaced by others

Combination: TypeAlias = tuple[tuple[int, Table], ...]
"""Positions of keys, ascending, each with the positions of values, some of all."""

_EXAMPLE = "such as [{'sex': 'm', 'ward': 'maternity'}]"


@dataclass(frozen=True, slots=True, repr=False)
class Impossible:
    """Combinations of values of keys that no record can have.

    Attributes
    ----------
    keys : Keys.
    combinations : each forbids all records that have, of each key it names, one of its values.

    >>> keys = Keys.read({"sex": ["f", "m"], "ward": ["maternity", "surgery", "eyes"]})
    >>> found = Impossible.read([{"sex": "m", "ward": "maternity"}], keys)
    >>> found
    [{'sex': ['m'], 'ward': ['maternity']}]
    >>> found.mark((0, 1)).tolist()
    [[False, False, False], [True, False, False]]
    >>> Impossible.read(found.to_content(), keys) == found
    True
    """

    keys: Keys
    combinations: tuple[Combination, ...]

    @classmethod
    def read(cls, given: Any, keys: Keys) -> "Impossible":
        """Return combinations, checked.

        Parameters
        ----------
        given : sequence of mappings of names of keys to values, as conditions of
            `KeyedTables.count` name them; or what `to_content` returns; or combinations, whose
            values are those of the keys given.

        Raises
        ------
        ParameterError
            If a key or value is unknown, a combination is given twice, or no record is possible.
        """
        read = _read_combination
        if isinstance(given, Impossible):  # as `dataclasses.replace` gives what a mechanism holds
            given = given.to_content() if given.keys == keys else given.by_value()
        if isinstance(given, Mapping) and {*given} == {"combinations"}:
            given, read = given["combinations"], _read_content
        if isinstance(given, str | Mapping) or not hasattr(given, "__len__"):
            raise ParameterError("impossible", f"must be a list of mappings, {_EXAMPLE}")
        held = list(given)
        if not 1 <= len(held) <= MAX_COMBINATIONS:
            raise ParameterError(
                "impossible",
                f"must list 1 to {MAX_COMBINATIONS:,} combinations",
                "name several values of a key in one: {'sex': 'm', 'ward': ['a', 'b']}",
            )
        for key in keys:
            if key.name == "impossible":
                raise ParameterError(
                    "impossible",
                    "must not be given with a key of that name: tables have a column of it",
                    "rename the column",
                )
        found = tuple(sorted(read(each, keys) for each in held))
        if len(set(found)) < len(found):
            raise ParameterError("impossible", "must list each combination once")
        made = cls(keys, found)
        if any(cells.all() for _, cells in made.linked):
            raise ParameterError(
                "impossible", "must leave at least one combination of all keys possible"
            )
        return made

    @property
    def linked(self) -> "Linked":
        """Sets of keys that combinations link, each with which cells of them are impossible."""
        return _link(self.keys.shape, self.combinations)

    def mark(self, table: Table) -> BoolArray:
        """Return which cells of a table are impossible; its positions of keys are ascending."""
        sizes = self.keys.shape
        found = np.zeros([sizes[i] for i in table], np.bool_)
        for keys, cells in self.linked:
            hidden = tuple(axis for axis, i in enumerate(keys) if i not in table)
            found |= cells.all(axis=hidden).reshape([sizes[i] if i in keys else 1 for i in table])
        return found

    def to_content(self) -> dict[str, Any]:
        """Return what JSON can hold: the positions of values, by the names of keys."""
        return {
            "combinations": [
                {self.keys.names[i]: [*values] for i, values in each} for each in self.combinations
            ]
        }

    def texts(self) -> list[str]:
        """Return each combination as text.

        >>> keys = Keys.read({"sex": ["f", "m"], "ward": ["maternity", "surgery", "eyes"]})
        >>> Impossible.read([{"sex": "m", "ward": ["eyes", "maternity"]}], keys).texts()
        ['sex=m, ward=maternity or eyes']
        """
        return [
            ", ".join(
                f"{self.keys.names[i]}={' or '.join(_name_values(self.keys.keys[i], values))}"
                for i, values in each
            )
            for each in self.combinations
        ]

    def by_value(self) -> list[dict[str, Any]]:
        """Return what `read` takes for any keys that have these values."""
        return [
            {self.keys.names[i]: _list_values(self.keys.keys[i], values) for i, values in each}
            for each in self.combinations
        ]

    def __repr__(self) -> str:
        return repr(self.by_value())


Linked: TypeAlias = tuple[tuple[Table, BoolArray], ...]


@lru_cache(maxsize=8)
def _link(sizes: tuple[int, ...], combinations: tuple[Combination, ...]) -> Linked:
    """Return sets of keys that combinations link, with the impossible cells of each.

    Raises
    ------
    ParameterError
        If keys with too many combinations of values are linked.
    """
    sets: list[set[int]] = []
    for each in combinations:
        joined = {i for i, _ in each}
        for other in [other for other in sets if other & joined]:
            sets.remove(other)
            joined |= other
        sets.append(joined)
    found = []
    for keys in map(tuple, map(sorted, sets)):
        shape = [sizes[i] for i in keys]
        if math.prod(shape) > MAX_LINKED:
            raise ParameterError(
                "impossible",
                f"must link keys of at most {MAX_LINKED:,} combinations of values; combinations "
                "that share a key link theirs",
                "leave out some, or list coarser values",
            )
        cells = np.zeros(shape, np.bool_)
        for each in combinations:
            if each[0][0] in keys:
                named = dict(each)
                cells[np.ix_(*(named.get(i, range(sizes[i])) for i in keys))] = True
        cells.setflags(write=False)
        found.append((keys, cells))
    return tuple(found)


def _read_combination(given: Any, keys: Keys) -> Combination:
    if not isinstance(given, Mapping):
        raise ParameterError("impossible", f"must be a list of mappings, {_EXAMPLE}")
    found: dict[int, Table] = {}
    for name, wanted in given.items():
        if name not in keys.names:
            raise ParameterError(
                "impossible",
                f"must name keys: {name!r} is none",
                f"the keys are {', '.join(map(repr, keys.names))}",
            )
        try:
            chosen = find_weights(keys[name], wanted)
        except ParameterError as error:
            fault = f"must name values of the keys: that of {name!r} {error.fault}"
            raise ParameterError("impossible", fault) from None
        found[keys.names.index(name)] = tuple(np.flatnonzero(chosen).tolist())
    return _shorten(found, keys)


def _read_content(given: Any, keys: Keys) -> Combination:
    """Return a combination of a file, by the positions of values."""
    problem = ParameterError("impossible", f"must be a list of mappings, {_EXAMPLE}")
    if not isinstance(given, Mapping):
        raise problem
    found = {}
    for name, places in given.items():
        if name not in keys.names or not isinstance(places, list):
            raise problem
        if not all(type(v) is int and 0 <= v < keys[name].size for v in places):
            raise problem
        found[keys.names.index(name)] = tuple(sorted(set(places)))
    return _shorten(found, keys)


def _shorten(found: Mapping[int, Table], keys: Keys) -> Combination:
    """Return a combination without keys of which it names all values: these exclude nobody."""
    if not all(found.values()):
        raise ParameterError("impossible", "must name at least one value of each key")
    made = tuple((i, v) for i, v in sorted(found.items()) if len(v) < keys.keys[i].size)
    if not made:
        raise ParameterError(
            "impossible", "must leave at least one combination of all keys possible"
        )
    if len(made) < 2:
        raise ParameterError(
            "impossible",
            f"must each name at least two keys, and not all of their values, {_EXAMPLE}",
            "leave a value that no record has out of the keys",
        )
    return made


def _runs(values: Table) -> list[tuple[int, int]]:
    """Return positions as ranges, of which the last is left out.

    >>> _runs((0, 1, 2, 5))
    [(0, 3), (5, 6)]
    """
    runs = [
        [v for _, v in run] for _, run in groupby(enumerate(values), lambda pair: pair[1] - pair[0])
    ]
    return [(run[0], run[-1] + 1) for run in runs]


def _list_values(key: Key, values: Table) -> list[Any]:
    """Return values as conditions name them."""
    if key.axis is None:
        return [key.labels[v] for v in values]
    bins, edges = tuple(v for v in values if v < key.axis.bins), key.axis.local_edges
    ends = [(edges[start].item(), edges[stop].item()) for start, stop in _runs(bins)]
    return [*ends, *([OTHER] if len(bins) < len(values) else [])]


def _name_values(key: Key, values: Table) -> list[str]:
    if key.axis is None:
        return [str(key.labels[v]) for v in values]
    listed = _list_values(key, values)
    return [each if isinstance(each, str) else f"{each[0]} to {each[1]}" for each in listed]


@dataclass(frozen=True, slots=True)
class Rules:
    """Which made-up records are impossible.

    Attributes
    ----------
    parts : columns of records, ascending, each with which cells of these are impossible. No two
        have a column in common.
    """

    parts: tuple[tuple[tuple[int, ...], BoolArray], ...] = ()

    @classmethod
    def of(cls, impossible: Impossible | None, used: Table) -> "Rules":
        """Return the rules of records that have the keys at these positions, and no others."""
        parts = []
        for keys, cells in () if impossible is None else impossible.linked:
            hidden = tuple(axis for axis, i in enumerate(keys) if i not in used)
            shown: BoolArray = np.asarray(cells.all(axis=hidden))
            if shown.any():
                parts.append((tuple(used.index(i) for i in keys if i in used), shown))
        return cls(tuple(parts))

    def find(self, records: IntArray) -> BoolArray:
        """Return which records are impossible."""
        found = np.zeros(len(records), np.bool_)
        for columns, cells in self.parts:
            found |= cells[tuple(records[:, c] for c in columns)]
        return found

    def forbid(self, records: IntArray, column: int, change: Any) -> None:
        """Set `change` to infinity for each record and value of a column that is impossible."""
        for columns, cells in self.parts:
            if column in columns:
                others = tuple(records[:, c] for c in columns if c != column)
                wrong = np.moveaxis(cells, columns.index(column), -1)[others]
                change[np.broadcast_to(wrong, change.shape)] = np.inf

    def correct(self, records: IntArray, draw: np.random.Generator) -> None:
        """Make all records possible, in place.

        They exchange values with possible ones, which leaves the counts of each key as they are.
        The rest become copies of possible records.
        """
        columns = sorted({c for part, _ in self.parts for c in part})
        for column in columns * _EXCHANGES:
            wrong = self.find(records)
            if not wrong.any():
                return
            bad, good = (draw.permutation(np.flatnonzero(each)) for each in (wrong, ~wrong))
            size = min(len(bad), len(good))
            ones, others = bad[:size], good[:size]
            held = records[ones], records[others]
            records[ones, column], records[others, column] = held[1][:, column], held[0][:, column]
            worse = self.find(records[ones]) | self.find(records[others])
            records[ones[worse]], records[others[worse]] = held[0][worse], held[1][worse]
        wrong = self.find(records)
        bad, good = np.flatnonzero(wrong), np.flatnonzero(~wrong)
        if len(bad) and len(good):
            records[bad] = records[draw.choice(good, len(bad))]
        elif len(bad):
            self._replace(records)

    def _replace(self, records: IntArray) -> None:
        """Give all records the values of a possible cell, in the columns of the rules."""
        for columns, cells in self.parts:
            place = np.unravel_index(int(np.argmin(cells)), cells.shape)
            records[:, columns] = place
