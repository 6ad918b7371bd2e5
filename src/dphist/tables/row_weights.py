"""Weights of rows: how a table by several keys is counted by them, and what is refused beside."""

from fractions import Fraction
from typing import Any

from dphist.data import weight as weights
from dphist.data.weight import Weight, check_steps, count_steps
from dphist.errors import Argument, ParameterError
from dphist.privacy.unit import PrivacyUnit
from dphist.tables.keys import Keys

MOST_STEPS = 10**6
"""Largest bound on what one unit adds, in steps."""


def read_count(count: Any, keys: Keys) -> tuple[Any, Weight | None]:
    """Return the column of counts, or of weights, and the weights.

    Raises
    ------
    ParameterError
        If there are weights, and values of a key are to be found.
    """
    if not isinstance(count, Weight):
        return count, None
    if keys.discovering:
        raise ParameterError(
            "count",
            "must be a column of whole numbers where values are found, as those of "
            f"{keys.discovering[0].name!r}",
            "list the values in " + Argument("keys"),
        )
    return count.column, count


def weigh(weight: Weight, max_rows: int) -> dict[str, Any]:
    """Return how rows are weighed and bounded, in steps: arguments of `count_cells`."""
    check_steps(max_rows, weight.step, "max_rows", MOST_STEPS)
    return {"weighing": weight.weighing(), "max_records": count_steps(max_rows, weight.step)}


def read_step(step: Any, max_rows: int, **beside: object) -> Fraction:
    """Return the unit of counts of tables, checked; see `dphist.data.weight.read_step`."""
    held = weights.read_step(step, **beside)
    check_steps(max_rows, held, "max_rows", MOST_STEPS)
    return held


def check_weight(
    weight: object, unit: PrivacyUnit | None, one_row_per: str | None, *, finding: bool
) -> None:
    """Refuse data that say something else of their weights than what is counted.

    Raises
    ------
    ParameterError
    """
    if weight is None:
        return
    if not isinstance(weight, Weight):
        raise ParameterError("weight", "must be a dphist.Weight, or None")
    if unit is None or one_row_per is not None or finding:
        raise ParameterError(
            "weight", "must be of rows that were bounded, by keys that list their values"
        )
