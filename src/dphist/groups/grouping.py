"""The groups of a release: the column, and its public values or how these are found."""

from collections.abc import Callable
from typing import Any, TypeVar

from dphist.errors import ParameterError
from dphist.tables.key_cells import check_cells
from dphist.tables.keys import Key, Keys, Value

Read = TypeVar("Read")

MOST_CELLS = 2**26
"""Bins of all groups together: beyond this a release outgrows the memory it is meant for."""


def read_groups(given: Any, *, other: bool = False) -> Keys:
    """Return the groups as keys with a single key, checked.

    Parameters
    ----------
    given : mapping of one column to its public values, or to `DiscoverKeys`; or what
        `Keys.to_content` returns; or keys.
    other : whether there is one more group, "other", for all other rows.

    Raises
    ------
    ParameterError

    >>> read_groups({"district": ["Bern", "Uri"]}, other=True)
    {'district': ['Bern', 'Uri', 'other']}
    """
    if not isinstance(other, bool):
        raise ParameterError("other", "must be True or False")
    keys = as_groups(lambda: Keys.read(given))
    if len(keys) != 1:
        raise ParameterError(
            "groups", "must name one column, with its values: {'district': ['Bern', 'Uri']}"
        )
    (key,) = keys
    if key.axis is not None:
        raise ParameterError(
            "groups",
            "must list values, or give a dphist.DiscoverKeys: not bins",
            "count by several keys with dphist.Tables",
        )
    keys.check_shares()
    return as_groups(lambda: Keys.read(keys, (key.name,))) if other else keys


def as_groups(read: Callable[[], Read]) -> Read:
    """Return what `read` returns; errors about keys name the groups."""
    try:
        return read()
    except ParameterError as error:
        if error.parameter != "keys":
            raise
        raise ParameterError("groups", error.fault, error.remedy, error.more) from None


def find_group(groups: Keys) -> Key:
    """Return the only key of groups."""
    return groups.keys[0]


def count_cells(groups: Keys, bins: int) -> int:
    """Return how many bins all groups have together, at most.

    Raises
    ------
    ParameterError
        If they are too many.
    """
    check_cells(groups)
    cells = find_group(groups).size * bins
    if cells > MOST_CELLS:
        raise ParameterError(
            ("groups", "bins"), f"must be at most {MOST_CELLS} bins of all groups together"
        )
    return cells


def list_labels(groups: Keys) -> tuple[Value, ...]:
    """Return the groups by their values, "other" last; they must be known."""
    return find_group(groups).labels
