"""What tables accept as data: counts with bounds, or plain numbers, whose bounds are promised."""

from collections.abc import Mapping
from typing import Any

from dphist.errors import ParameterError
from dphist.tables.keyed_counts import KeyedCounts
from dphist.tables.keys import Keys


def accept_counts(given: Any, keys: Keys, max_rows: int, one_row_per: str | None) -> KeyedCounts:
    """Return data of a mechanism for these keys: `KeyedCounts`, or what `from_counts` takes.

    Of the latter the caller promises the bounds of the mechanism.
    """
    if isinstance(given, KeyedCounts):
        return given
    if isinstance(given, Mapping | str | bytes) or hasattr(given, "columns"):
        raise ParameterError(
            "counts",
            "must be KeyedCounts, which KeyedCounts.from_table makes of a table, or an array of "
            "counts with a dimension for each key",
        )
    if one_row_per is None:
        return KeyedCounts.from_counts(given, keys=keys)
    return KeyedCounts.from_counts(given, keys=keys, max_rows=max_rows, one_row_per=one_row_per)
