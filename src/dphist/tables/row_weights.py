"""Weights of rows: how a table by several keys is counted by them, and what is refused beside."""

from fractions import Fraction
from typing import Any

from dphist.counting.bounding.weights import Weighing
from dphist.data.weight import Weight
from dphist.errors import Argument, ParameterError
from dphist.parameters import decimal_text, positive_number
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
    clamp = weight.clamp
    check_steps(max_rows, clamp.step)
    weighing = Weighing(clamp.step, clamp.least, clamp.most)
    return {"weighing": weighing, "max_records": steps_of(max_rows, clamp.step)}


def steps_of(max_rows: int, step: Fraction | None) -> int:
    """Return a number of records in steps.

    >>> steps_of(20, Fraction(1, 100)), steps_of(20, None)
    (2000, 20)
    """
    return max_rows if step is None else int(max_rows / step)


def read_step(step: Any, max_rows: int, **beside: object) -> Fraction:
    """Return the unit of counts of a mechanism, checked.

    Parameters
    ----------
    beside : parameters that do not go with it; None if they are not given.

    Raises
    ------
    ParameterError
    """
    held = positive_number(step, "step", 1)
    if (1 / held).denominator != 1:
        raise ParameterError("step", "must divide 1, as that of the weights of the data does")
    check_steps(max_rows, held)
    for name in [name for name, each in beside.items() if each]:
        raise ParameterError("step", "must be left out with " + Argument(name))
    return held


def check_steps(max_rows: int, step: Fraction) -> None:
    """Refuse more steps of one unit than noise is drawn for.

    Raises
    ------
    ParameterError
    """
    if steps_of(max_rows, step) > MOST_STEPS:
        raise ParameterError(
            "max_rows", f"must be at most {MOST_STEPS:,} steps of weights", "widen the step"
        )


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


def say_step(step: Fraction | None) -> str:
    """Say in an error how a table was counted.

    >>> say_step(None), say_step(Fraction(1, 100))
    ('in whole records', 'by weights in steps of 0.01')
    """
    return "in whole records" if step is None else f"by weights in steps of {decimal_text(step)}"


def state_weight(weight: Weight | None) -> dict[str, str]:
    """Return what a release states of weights: their bounds and step; nothing without any."""
    return {} if weight is None else {"weights": weight.to_text()}
