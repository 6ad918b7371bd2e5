"""Keys: the public values by which records are counted, and which of them a table has."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

from dphist.data.axis.axis import Axis
from dphist.errors import ParameterError
from dphist.tables.discover_keys import DiscoverKeys

OTHER = "other"
"""The value of all rows that no other value of a key has."""

Value: TypeAlias = str | int | bool
Names: TypeAlias = tuple[str, ...]

MAX_VALUES = 10**7
"""Values that a key lists, at most."""

_COLUMNS = ("table", "count", "error", "low", "high")
_SORTS = {str: "text", int: "whole numbers", bool: "truth values"}


@dataclass(frozen=True, slots=True)
class Key:
    """A key: a column, and the public values that it is counted by.

    Attributes
    ----------
    name : the name of the column.
    values : (n,) listed values, of one type; empty if there is an axis.
    axis : the bins between public edges; None if values are listed.
    other : whether there is one more value, "other", for all other rows, those without a value
        included.
    discover : how the values are found, which nobody listed; None for other keys. Such a key has
        "other", and as many values as may be found at most.

    >>> Key("sex", ("f", "m"), other=True).labels
    ('f', 'm', 'other')
    """

    name: str
    values: tuple[Value, ...] = ()
    axis: Axis | None = None
    other: bool = False
    discover: DiscoverKeys | None = None

    @property
    def listed(self) -> int:
        """The number of values without "other"; of values to be found, the largest."""
        if self.discover is not None:
            return self.discover.max_found
        return len(self.values) if self.axis is None else self.axis.bins

    @property
    def size(self) -> int:
        """The number of values."""
        return self.listed + self.other

    @property
    def labels(self) -> tuple[Value, ...]:
        """The values; of bins, their first edges."""
        values = self.values if self.axis is None else tuple(map(str, self.axis.local_edges[:-1]))
        return (*values, OTHER) if self.other else values

    def to_content(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        if self.discover is not None:
            return {"discover": self.discover.to_content(), "other": True}
        listed: Any = [*self.values] if self.axis is None else self.axis.to_content()
        return {"values" if self.axis is None else "axis": listed, "other": self.other}


@dataclass(frozen=True, slots=True, repr=False)
class Keys:
    """Keys by name, in the order given.

    >>> keys = Keys.read({"sex": ["f", "m"], "age": Axis.regular(0, 100, 50)})
    >>> keys
    {'sex': ['f', 'm'], 'age': 2 bins from 0 to 100}
    >>> keys.shape, Keys.read(keys.to_content()) == keys
    ((2, 2), True)
    """

    keys: tuple[Key, ...]

    @classmethod
    def read(cls, given: Any, other: Sequence[str] = ()) -> "Keys":
        """Return keys, checked.

        Parameters
        ----------
        given : mapping of names to a sequence of values, which are all text, all whole numbers or
            all truth values, or to an `Axis` or `DiscoverKeys`; or what `to_content` returns; or
            keys.
        other : names of keys that get one more value, "other", for all other rows.

        Raises
        ------
        ParameterError
        """
        if isinstance(given, Keys):
            found = given.keys
        else:
            if not isinstance(given, Mapping) or not given:
                raise ParameterError(
                    "keys",
                    "must name at least one column, each with its values, such as "
                    "{'sex': ['f', 'm'], 'age': dh.Axis.regular(0, 100, 5)}",
                )
            found = tuple(_read_key(name, values) for name, values in given.items())
        if isinstance(other, str) or not all(isinstance(name, str) for name in other):
            raise ParameterError("other", "must be a list of names of keys")
        keys = cls(found)
        _check_columns(keys)
        unknown = set(other) - set(keys.names)
        if unknown:
            raise ParameterError("other", f"must name keys: {sorted(unknown)[0]!r} is none")
        return cls(tuple(_with_other(key) if key.name in other else key for key in found))

    @property
    def names(self) -> Names:
        """The names, in order."""
        return tuple(key.name for key in self.keys)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each."""
        return tuple(key.size for key in self.keys)

    @property
    def discovering(self) -> tuple[Key, ...]:
        """The keys whose values are found."""
        return tuple(key for key in self.keys if key.discover is not None)

    def check_listed(self) -> None:
        """Refuse keys whose values are to be found, where there are only counts of cells.

        Raises
        ------
        ParameterError
        """
        if self.discovering:
            raise ParameterError(
                "keys",
                "must list all values: counts of cells have no labels that could be found",
                "count a table, with KeyedCounts.from_table; it may have a column of counts",
            )

    def check_shares(self) -> None:
        """Refuse shares for finding values that leave none for the tables.

        Raises
        ------
        ParameterError
        """
        shares = (key.discover.share for key in self.keys if key.discover is not None)
        if not sum(shares) < 1:
            raise ParameterError(
                "keys", "must leave a share for the tables: those for finding values reach 1"
            )

    def with_found(self, found: Mapping[str, tuple[str, ...]]) -> "Keys":
        """Return keys of which those whose values were found have these, and "other".

        >>> keys = Keys.read({"drug": DiscoverKeys(share="0.3"), "sex": ["f", "m"]})
        >>> keys.with_found({"drug": ("A", "B")})
        {'drug': ['A', 'B', 'other'], 'sex': ['f', 'm']}
        """
        return Keys(
            tuple(
                key if key.discover is None else Key(key.name, found[key.name], other=True)
                for key in self.keys
            )
        )

    def __getitem__(self, name: str) -> Key:
        return next(key for key in self.keys if key.name == name)

    def __iter__(self) -> Iterator[Key]:
        return iter(self.keys)

    def __len__(self) -> int:
        return len(self.keys)

    def sizes(self) -> list[str]:
        """Return the keys, each with the number of its values, as text."""
        return [
            f"{key.name} ({'' if key.discover is None else 'found: at most '}{key.size:,})"
            for key in self.keys
        ]

    def same_cells(self, others: "Keys") -> bool:
        """Whether the same keys count the same cells, in the same order."""
        return len(self) == len(others) and all(
            (one.name, one.labels) == (two.name, two.labels)
            and list(map(type, one.labels)) == list(map(type, two.labels))
            and one.axis == two.axis
            and (one.discover is None) == (two.discover is None)
            for one, two in zip(self.keys, others.keys, strict=True)
        )

    def to_content(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {key.name: key.to_content() for key in self.keys}

    def __repr__(self) -> str:
        shown = []
        for key in self.keys:
            if key.discover is not None:
                shown.append(f"{key.name!r}: {key.discover}")
                continue
            values = str([*key.labels]) if key.axis is None else key.axis.in_words
            if key.axis is None and key.size > 12:
                values = f"{key.size} values"
            if key.axis is not None and key.other:
                values += ", and other"
            shown.append(f"{key.name!r}: {values}")
        return f"{{{', '.join(shown)}}}"


def _check_columns(keys: Keys) -> None:
    """Refuse names that released tables have for other columns."""
    taken = set(_COLUMNS)
    for key in keys:
        ends = [key.name] if key.axis is None else [f"{key.name}_start", f"{key.name}_stop"]
        for name in ends:
            if name in taken:
                raise ParameterError(
                    "keys",
                    f"must not make a column {name!r}, which released tables have already",
                    "rename the column",
                )
            taken.add(name)


def _with_other(key: Key) -> Key:
    if OTHER in key.values:
        raise ParameterError(
            "other",
            f"must not name the key {key.name!r}, which lists a value {OTHER!r} of its own",
            "rename that value",
        )
    return replace(key, other=True)


def _read_key(name: object, given: Any) -> Key:
    if not isinstance(name, str) or not name:
        raise ParameterError("keys", "must be named by columns, as text that is not empty")
    _check_text(name)
    if "+" in name:
        raise ParameterError(
            "keys",
            f"must have names without '+', which joins the keys of a table: {name!r}",
            "rename the column",
        )
    if isinstance(given, Key):
        return replace(given, name=name)
    if isinstance(given, Axis):
        return Key(name, axis=replace(given, name=name))
    if isinstance(given, DiscoverKeys):
        return Key(name, other=True, discover=given)
    if isinstance(given, Mapping):
        return _read_content(name, given)
    return Key(name, _read_values(name, given))


def _read_content(name: str, content: Mapping[str, Any]) -> Key:
    if {*content} == {"axis", "other"} and isinstance(content["other"], bool):
        return Key(name, axis=Axis.from_content(content["axis"]), other=content["other"])
    if {*content} == {"values", "other"} and isinstance(content["other"], bool):
        if content["values"] == [] and content["other"]:  # of a key of which no value was found
            return Key(name, other=True)
        key = Key(name, _read_values(name, content["values"]))
        return _with_other(key) if content["other"] else key
    if {*content} == {"discover", "other"} and content["other"] is True:
        return Key(name, other=True, discover=DiscoverKeys(**content["discover"]))
    raise ParameterError("keys", f"must give the values of {name!r} as a list, or a dphist.Axis")


def _read_values(name: str, given: Any) -> tuple[Value, ...]:
    if given is None or isinstance(given, str | bytes | set | frozenset) or not _has_items(given):
        raise ParameterError(
            "keys",
            f"must list the values of {name!r}, in their order, or give a dphist.Axis; the values "
            "must be public, and not taken from the data",
        )
    if len(given) > MAX_VALUES:
        raise ParameterError(
            "keys",
            f"must list at most {MAX_VALUES:,} values of {name!r}",
            "list groups of them, or find those that enough rows have: dphist.DiscoverKeys",
        )
    held = [_to_plain(value) for value in (given.tolist() if hasattr(given, "tolist") else given)]
    if not held:
        raise ParameterError("keys", f"must list at least one value of {name!r}")
    sorts = set(map(type, held))
    if len(sorts) > 1 or not sorts <= {*_SORTS}:
        raise ParameterError(
            "keys",
            f"must list values of {name!r} that are all text, all whole numbers or all truth "
            "values",
            "give dates, times and other numbers as bins between edges: a dphist.Axis",
        )
    if sorts == {str}:
        _check_text("".join(held))
    if sorts == {int} and not all(-(2**63) <= value < 2**63 for value in held):
        raise ParameterError("keys", f"must list whole numbers of {name!r} that are within int64")
    if len(set(held)) < len(held):
        raise ParameterError("keys", f"must list each value of {name!r} once")
    return tuple(held)


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ParameterError(
            "keys", "must have names and values of UTF-8, without half a surrogate pair"
        ) from None


def _has_items(given: Any) -> bool:
    return hasattr(given, "__len__") and hasattr(given, "__iter__")


def _to_plain(value: Any) -> Any:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    return str(value) if isinstance(value, str) else value


def read_tables(given: Any, names: Names) -> tuple[Names, ...]:
    """Return the tables asked, each by its keys in the order of `names`.

    Parameters
    ----------
    given : sequence of tables; each is the names of its keys, as a list, or as text with "+"
        between them. An empty list is the number of all records.
    names : the names of all keys.

    Raises
    ------
    ParameterError
        If there is none, a key is unknown or named twice, or a table is asked twice.

    >>> read_tables(["sex", "age+sex"], ("age", "sex"))
    (('sex',), ('age', 'sex'))
    """
    if isinstance(given, str) or not _has_items(given) or not len(given):
        raise ParameterError(
            "tables", "must list at least one table by its keys, such as ['sex', 'sex+age']"
        )
    found: list[Names] = []
    for each in given:
        keys = each.split("+") if isinstance(each, str) else each
        if not isinstance(keys, list | tuple) or not all(isinstance(key, str) for key in keys):
            raise ParameterError(
                "tables",
                "must each be text, such as 'sex+age', or a list of names of keys",
                "an empty list asks for the number of all records",
            )
        for key in keys:
            if key not in names:
                raise ParameterError("tables", f"must name keys: {key!r} is none of them")
        if len(set(keys)) < len(keys):
            raise ParameterError("tables", f"must name each key once: {'+'.join(keys)!r}")
        table = tuple(name for name in names if name in keys)
        if table in found:
            raise ParameterError(
                "tables", f"must list each table once: {'+'.join(table)!r} is asked twice"
            )
        found.append(table)
    return tuple(found)


def find_places(names: Sequence[str], keys: Keys, tables: Sequence[Names]) -> tuple[int, ...]:
    """Return the positions of keys, refusing sets that no table asked has.

    Every table has the keys of one value, too, which every record has.

    Raises
    ------
    ParameterError
    """
    if isinstance(names, str):
        raise ParameterError("names", "must be a list of names of keys")
    for name in names:
        if name not in keys.names:
            raise ParameterError(
                "names",
                f"must be keys of the tables: {name!r} is none",
                f"give each by itself; the keys are {list_names(keys.names)}",
            )
    if len(set(names)) < len(names):
        raise ParameterError("names", "must be different keys")
    alone = {key.name for key in keys if key.size == 1}
    if not any({*names} <= {*table} | alone for table in tables):
        asked = list_names(["+".join(table) for table in tables])
        raise ParameterError(
            "names",
            f"must be keys that one of the tables asked has together: {'+'.join(names)!r} is "
            f"in none of {asked}",
            "ask this table in a new release; what a release has not measured is not known",
        )
    return tuple(keys.names.index(name) for name in names)


def list_names(names: Sequence[str]) -> str:
    """Return names in quotes."""
    return ", ".join(map(repr, names))
