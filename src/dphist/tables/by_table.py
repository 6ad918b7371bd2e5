"""Numbers by table, such as weights, and keys by name: reading them from what a caller gives."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dphist.errors import ParameterError
from dphist.parameters import decimal_text, positive_number
from dphist.tables.keys import Keys, Names, read_tables


def read_by_table(
    given: Any, name: str, tables: tuple[Names, ...], keys: Keys
) -> tuple[Fraction, ...] | None:
    """Return a number for each table: of a mapping by table, or of a sequence in their order."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        found = dict.fromkeys(tables, Fraction(1))
        for table, number in _read_pairs(given, name, keys):
            if table not in found:
                raise ParameterError(
                    name, f"must name tables that are asked: {'+'.join(table)!r} is not"
                )
            found[table] = number
        numbers: Sequence[Fraction] = list(found.values())
    else:
        if isinstance(given, str) or not hasattr(given, "__len__") or len(given) != len(tables):
            raise ParameterError(name, "must be a mapping of tables to numbers")
        numbers = [_read_number(each, name) for each in given]
    return tuple(numbers)


def read_ranges(given: Any, tables: tuple[Names, ...], keys: Keys) -> Names:
    """Return the names of keys of which ranges are asked, in the order of the keys.

    Raises
    ------
    ParameterError
        If there is none, or one is no key of a table asked.
    """
    if isinstance(given, str | Mapping) or not hasattr(given, "__iter__"):
        raise ParameterError("ranges", "must be a list of names of keys, such as ['age']")
    asked = list(given)
    if not asked or not all(isinstance(name, str) for name in asked):
        raise ParameterError("ranges", "must be a list of names of keys, such as ['age']")
    for name in asked:
        if name not in keys.names:
            raise ParameterError("ranges", f"must name keys: {name!r} is none of them")
        if keys[name].discover is not None:
            raise ParameterError(
                "ranges",
                f"must not name {name!r}: values that are found have no order",
                "list its values, or leave it out",
            )
        if not any(name in table for table in tables):
            raise ParameterError("ranges", f"must name keys of tables asked: {name!r} is in none")
    if len(set(asked)) < len(asked):
        raise ParameterError("ranges", "must name each key once")
    return tuple(name for name in keys.names if name in asked)


def _read_pairs(given: Mapping[Any, Any], name: str, keys: Keys) -> list[tuple[Names, Fraction]]:
    """Return tables and numbers of a mapping, checked."""
    pairs = []
    for table, number in given.items():
        try:
            (names,) = read_tables([table], keys.names)
        except ParameterError as error:
            raise ParameterError(name, error.fault) from None
        pairs.append((names, _read_number(number, name)))
    return pairs


def _read_number(given: Any, name: str) -> Fraction:
    number = positive_number(given, name, 10**6)
    if number < Fraction(1, 10**6):
        raise ParameterError(name, "must be at least 1e-6")
    return number


def write_table(names: Names) -> str:
    """Return a table as text: its keys with "+" between them."""
    return "+".join(names) or "all"


def write_by_table(tables: tuple[Names, ...], numbers: tuple[Fraction, ...]) -> list[str]:
    """Return the tables, each with its number, as text."""
    pairs = zip(tables, numbers, strict=True)
    return [f"{write_table(names)}: {decimal_text(number)}" for names, number in pairs]


def read_numbers(parts: list[str] | None, name: str) -> dict[str, str] | None:
    """Read tables with numbers as they are typed, such as region=2.

    Raises
    ------
    ParameterError
    """
    if parts is None:
        return None
    found = dict(part.partition("=")[::2] for part in parts)
    if len(found) < len(parts) or not all(found.values()):
        raise ParameterError(name, "must name each table once, as TABLE=NUMBER")
    return found
