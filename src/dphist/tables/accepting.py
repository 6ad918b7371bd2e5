"""What tables accept as data: counts with bounds, or plain numbers, whose bounds are promised."""

from collections.abc import Mapping
from typing import Any

from dphist.counting.checks import refuse_other_than_counts
from dphist.errors import ParameterError
from dphist.tables.keyed_counts import KeyedCounts
from dphist.tables.keys import Keys


def accept_counts(given: Any, keys: Keys, max_rows: int, one_row_per: str | None) -> KeyedCounts:
    """Return data of a mechanism for these keys: `KeyedCounts`, or what `from_counts` takes.

    Of the latter the caller promises the bounds of the mechanism.
    """
    if isinstance(given, KeyedCounts):
        return given
    _refuse_table(given)
    if one_row_per is None:
        return KeyedCounts.from_counts(given, keys=keys)
    return KeyedCounts.from_counts(given, keys=keys, max_rows=max_rows, one_row_per=one_row_per)


def refuse_other_data(given: Any, keys: Keys) -> None:
    """Refuse what is neither `KeyedCounts` nor can be counts, without a look at any number."""
    if isinstance(given, KeyedCounts):
        return
    _refuse_table(given)
    keys.check_listed()
    refuse_other_than_counts(given, "counts", keys.shape)


def _refuse_table(given: Any) -> None:
    if isinstance(given, Mapping | str | bytes) or hasattr(given, "columns"):
        raise ParameterError(
            "counts",
            "must be KeyedCounts, which KeyedCounts.from_table makes of a table, or an array of "
            "counts with a dimension for each key",
        )
