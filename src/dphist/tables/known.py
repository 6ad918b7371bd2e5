"""Margins of tables that are public: given by the caller, and not measured.

The noise of contrasts of different sets of keys is uncorrelated. So tables that agree with known
margins, and are otherwise the closest to what was measured, have the exact contrasts of the keys of
these margins, and all others as they are (`docs/understand/proofs/tables.md`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.arrays import FloatArray, IntArray
from dphist.errors import ParameterError
from dphist.tables.contrasts import LARGEST_PRODUCT, measure_all
from dphist.tables.impossible import Impossible
from dphist.tables.keys import Key, Keys, Names
from dphist.tables.lattice import Table, subsets

MOST_RECORDS = 2**53
_EXAMPLE = "such as {'': 48_842, 'region': {'BE': 20_000, 'UR': 28_842}}"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Known:
    """Exact margins, which agree with each other. Public.

    Attributes
    ----------
    keys : Keys.
    margins : int64 counts by the positions of their keys, ascending, of two values or more each; a
        dimension for each. None is part of another.

    >>> keys = Keys.read({"sex": ["f", "m"], "age": [1, 2, 3]})
    >>> known = Known.read({"": 9, "sex": {"m": 5, "f": 4}}, keys, lambda names: names)
    >>> known.names, known.cells(()).tolist(), known.cells((1,))
    ([('sex',)], 9.0, None)
    """

    keys: Keys
    margins: Mapping[Table, IntArray]

    @classmethod
    def read(
        cls, given: Any, keys: Keys, check: Callable[[Names], object], before: "Known | None" = None
    ) -> "Known":
        """Return margins, checked.

        Parameters
        ----------
        given : mapping of tables to their counts, as for `KeyedTables.with_known`.
        check : raises a ParameterError for keys that no table has together.
        before : margins that are known already.

        Raises
        ------
        ParameterError
        """
        if not isinstance(given, Mapping) or not given:
            raise ParameterError("margins", f"must name at least one margin, {_EXAMPLE}")
        found: dict[Table, IntArray] = {}
        for margin, counts in given.items():
            names = _read_names(margin, check)
            table, cells = _read_cells(counts, names, keys)
            if table in found:
                raise ParameterError("margins", f"must give {_name(names)} once")
            found[table] = cells
        listed = [*found.items(), *({} if before is None else before.margins).items()]
        for (one, first), (other, second) in combinations(listed, 2):
            shared = tuple(i for i in one if i in other)
            if (_sum_to(first, one, shared) != _sum_to(second, other, shared)).any():
                one_name, other_name, both = (
                    _name(tuple(keys.names[i] for i in table)) for table in (one, other, shared)
                )
                raise ParameterError(
                    "margins",
                    f"must agree, also with those known before: {one_name} and {other_name} differ "
                    f"in their sums ({both})",
                )
        held = dict(listed)
        return cls(keys, {t: held[t] for t in sorted(held) if not any({*t} < {*o} for o in held)})

    @property
    def names(self) -> list[Names]:
        """The names of the keys of each margin."""
        return [tuple(self.keys.names[i] for i in table) for table in self.margins]

    @property
    def listed(self) -> str:
        """The margins, each by its keys, as text."""
        return ", ".join("+".join(names) or "total" for names in self.names)

    def cells(self, table: Table) -> FloatArray | None:
        """Return the exact cells of a table whose keys have two values or more, if known."""
        inside, found = self.largest_within(table)
        return found.astype(np.float64) if inside == table else None

    def largest_within(self, table: Table) -> tuple[Table, IntArray]:
        """Return the known sums with the most cells that are sums of a table, and their keys."""
        parts = [(tuple(i for i in own if i in table), own) for own in self.margins]
        sums = [(part, _sum_to(self.margins[own], own, part)) for part, own in parts]
        return max(sums, key=lambda each: (each[1].size, len(each[0])))

    def contrasts(self) -> dict[Table, IntArray]:
        """Return the exact contrasts of all sets of keys of the margins.

        Raises
        ------
        ParameterError
            If the counts are too large.
        """
        found = {}
        for table, counts in self.margins.items():
            products = measure_all(counts)
            if (np.abs(products) >= LARGEST_PRODUCT).any():
                raise ParameterError("margins", "must have smaller counts for keys of this size")
            for part in subsets(table):
                block = tuple(slice(1, None) if i in part else 0 for i in table)
                found[part] = np.asarray(products[block])
        return found

    def check_possible(self, impossible: Impossible) -> None:
        """Refuse records in cells that nothing can be in.

        Raises
        ------
        ParameterError
        """
        for table, counts in self.margins.items():
            if counts[impossible.mark(table)].any():
                names = _name(tuple(self.keys.names[i] for i in table))
                raise ParameterError(
                    "margins", f"must be 0 where values are impossible: {names} is not"
                )

    def to_content(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        listed = (counts.tolist() for counts in self.margins.values())
        return dict(zip(map("+".join, self.names), listed, strict=True))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Known):
            return NotImplemented
        return (self.keys, self.to_content()) == (other.keys, other.to_content())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Known({self.listed}; counts not shown)"


def _name(names: Names) -> str:
    return repr("+".join(names)) if names else "the total"


def _sum_to(counts: IntArray, table: Table, part: Table) -> IntArray:
    """Return the sums of a table by some of its keys."""
    others = tuple(axis for axis, i in enumerate(table) if i not in part)
    return np.asarray(counts.sum(axis=others))


def _read_names(margin: object, check: Callable[[Names], object]) -> Names:
    """Return the keys of a margin in the order given."""
    names: Any = margin
    if isinstance(margin, str):
        names = margin.split("+") if margin else []
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ParameterError(
            "margins", "must name margins by their keys, such as 'sex+age', or '' for the total"
        )
    try:
        check(tuple(names))
    except ParameterError as error:
        raise ParameterError("margins", error.fault) from None
    return tuple(names)


def _read_cells(given: Any, names: Names, keys: Keys) -> tuple[Table, IntArray]:
    """Return counts, checked, by the positions of keys of two values or more."""
    held = [keys[name] for name in names]
    shape = tuple(key.size for key in held)
    if isinstance(given, Mapping):
        given = _order_cells(given, held, names)
    elif hasattr(given, "__arrow_c_stream__") and hasattr(given, "columns"):
        given = _order_cells(_read_frame(given, names), held, names)
    problem = ParameterError(
        "margins",
        f"must be whole numbers of at least 0 that add up to at most 2**53: {_name(names)} is not",
    )
    try:
        array = np.asarray(given, object)
    except (TypeError, ValueError):
        raise problem from None
    flat = array.ravel().tolist()
    if not all(type(n) is not bool and isinstance(n, int | np.integer) and n >= 0 for n in flat):
        raise problem
    if array.shape != shape:
        raise ParameterError(
            "margins",
            f"must have a dimension for each key, of its values, in order: {_name(names)} has not",
        )
    if sum(map(int, flat)) > MOST_RECORDS:
        raise problem
    places = [keys.names.index(name) for name in names]
    cells = array.transpose(sorted(range(len(places)), key=places.__getitem__))
    several = tuple(i for i in sorted(places) if keys.keys[i].size > 1)
    return several, np.ascontiguousarray(cells, np.int64).reshape(
        [keys.keys[i].size for i in several]
    )


def _order_cells(given: Mapping[Any, Any], held: Sequence[Key], names: Names) -> Any:
    """Return counts by value, or by tuples of values of several keys, as an array."""
    if any(key.axis is not None for key in held):
        raise ParameterError(
            "margins", f"must be an array where keys have bins, in their order: {_name(names)}"
        )
    places = [{(type(v), v): place for place, v in enumerate(key.labels)} for key in held]
    found: Any = np.full([key.size for key in held], None, object)
    for cell, count in given.items():
        values = cell if len(held) > 1 else (cell,)
        at = []
        if isinstance(values, tuple) and len(values) == len(held):
            plain = [v.item() if isinstance(v, np.generic) else v for v in values]
            at = [each.get((type(v), v)) for each, v in zip(places, plain, strict=True)]
        if not held or len(at) < len(held) or None in at or found[tuple(at)] is not None:
            raise ParameterError(
                "margins", f"must name values of the keys, each cell once: {_name(names)} does not"
            )
        found[tuple(at)] = count
    if any(count is None for count in found.ravel()):
        raise ParameterError("margins", f"must give every cell: {_name(names)} lacks some")
    return found.tolist()


def _read_frame(given: Any, names: Names) -> dict[Any, Any]:
    """Return the counts of a dataframe with columns of the keys, and `count`."""
    frame = pa.table(given)
    if not {*names, "count"} <= {*frame.column_names}:
        raise ParameterError(
            "margins", f"must be dataframes with columns of keys, and 'count': {_name(names)}"
        )
    columns = [frame[name].to_pylist() for name in names]
    cells = list(zip(*columns, strict=True)) if len(names) > 1 else columns[0] if names else []
    found = dict(zip(cells, frame["count"].to_pylist(), strict=bool(names)))
    if len(found) < frame.num_rows:
        raise ParameterError("margins", f"must list each cell once: {_name(names)} does not")
    return found
