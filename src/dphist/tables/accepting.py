"""What tables accept as data: counts with bounds, or plain numbers, whose bounds are promised."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dphist.counting.checks import refuse_other_than_counts
from dphist.data.weight import say_step
from dphist.errors import Argument, BoundsError, ParameterError
from dphist.tables.cell_sums import Columns, check_same_sums
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


def check_accepted(
    data: KeyedCounts,
    keys: Keys,
    max_rows: int,
    step: Fraction | None,
    one_row_per: str | None,
    sums: Columns,
) -> None:
    """Refuse data with other keys than a mechanism, or a bound that it does not protect."""
    if not keys.same_cells(data.keys):
        raise ParameterError(
            "keys",
            "must be those that the data were counted by, in the same order",
            "give the mechanism keys=counts.keys",
        )
    if data.max_rows > max_rows:
        raise too_many_rows(data.max_rows, max_rows)
    if data.step != step:
        raise BoundsError(
            f"the table was counted {say_step(data.step)}, and the mechanism is for one "
            f"counted {say_step(step)}; give the mechanism step=counts.step"
        )
    if one_row_per is not None and data.one_row_per != one_row_per:
        raise BoundsError(
            f"the table was counted without one row per {one_row_per!r} of each unit, "
            "which the mechanism is for; count it with "
            + Argument("one_row_per", one_row_per)
            + ", or leave that out of the mechanism"
        )
    check_same_sums(data.columns, sums)


def too_many_rows(max_rows: int, own: int) -> BoundsError:
    """Return the error for data that were counted with more rows than the mechanism's own."""
    return BoundsError(
        "the table was counted with "
        + Argument("max_rows", max_rows)
        + f", more than the mechanism's {own}; give the mechanism "
        + Argument("max_rows", max_rows)
    )


def _refuse_table(given: Any) -> None:
    if isinstance(given, Mapping | str | bytes) or hasattr(given, "columns"):
        raise ParameterError(
            "counts",
            "must be KeyedCounts, which KeyedCounts.from_table makes of a table, or an array of "
            "counts with a dimension for each key",
        )
