"""Weight: a column of weights of rows, with public bounds in whole steps."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dphist.arrays import FloatArray
from dphist.counting.bounding.weights import Weighing
from dphist.data.clamp import Clamp
from dphist.errors import Argument, ParameterError
from dphist.parameters import Exact, decimal_text, positive_number

MOST_STEPS = 2**40
"""Largest bound on what one unit adds to a count, in steps."""


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Weight:
    """A column of weights, such as those of a survey: a row counts as that many records.

    Parameters
    ----------
    column : text
        The column. Missing weights, NaN and negative ones are refused when the table is counted.
    low, high : numbers, 0 <= `low` < `high`
        A weight below `low` counts as `low`, one above `high`, infinity included, as `high`. Both
        must come from public knowledge: bounds that were read from the data would betray those at
        the bounds.
    step : number above 0
        The unit of weights, public as well. 1 and both bounds are whole multiples of it. Each
        weight is rounded to the nearest multiple first (halfway: the even one), by the exact binary
        value of a float.

    Raises
    ------
    ParameterError
        If a number is not finite, `low` is negative or not below `high`, or the step does not
        divide 1 and both bounds.

    Examples
    --------
    >>> Weight("w", 0, 20, "0.01")
    Weight('w', low=0, high=20, step=0.01)
    """

    column: str
    clamp: Clamp

    def __init__(self, column: str, low: Exact, high: Exact, step: Exact) -> None:
        if not isinstance(column, str) or not column:
            raise ParameterError("column", "must be the name of a column, as text")
        clamp = Clamp(low, high, step)
        if clamp.low < 0:
            raise ParameterError("low", "must be at least 0: no row counts less than nothing")
        if (1 / clamp.step).denominator != 1:
            raise ParameterError(
                "step", "must divide 1, as 0.01 does, so that one record is a whole number of steps"
            )
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "clamp", clamp)

    def __repr__(self) -> str:
        return f"Weight({self.column!r}, {self.clamp.in_code})"

    @property
    def step(self) -> Fraction:
        """The unit of weights."""
        return self.clamp.step

    @property
    def max_records(self) -> int:
        """How many records a row counts at most: `high`, rounded up.

        >>> Weight("w", 0, "2.5", "0.5").max_records
        3
        """
        return math.ceil(self.clamp.high)

    def weighing(self) -> Weighing:
        """Return how the weights become whole numbers of steps."""
        return Weighing(self.step, self.clamp.least, self.clamp.most)

    def to_text(self) -> str:
        """Return the bounds and the step, as ``0:20:0.01``."""
        return self.clamp.to_text()

    @classmethod
    def from_text(cls, text: str) -> "Weight":
        """Return what a text such as ``w=0:20:0.01`` writes.

        Raises
        ------
        ParameterError
            If it has no column or not three numbers, or as the class.
        """
        column, _, numbers = text.rpartition("=")
        parts = numbers.split(":")
        if not column or len(parts) != 3:
            raise ParameterError("weight", "must be COLUMN=LOW:HIGH:STEP, such as w=0:20:0.01")
        return cls(column, *parts)


def check_column(count: object, where: str) -> None:
    """Refuse weights where `count` must name a column of whole numbers.

    Raises
    ------
    ParameterError
    """
    if isinstance(count, Weight):
        raise ParameterError(
            "count",
            f"must be a column of whole numbers {where}",
            "weights are for LabelCounts.from_table, and for KeyedCounts.from_table with listed "
            "keys",
        )


def read_weight(count: str | Weight | None) -> tuple[str | None, Weight | None]:
    """Return the column of counts, or of weights, and the weights."""
    return (count.column, count) if isinstance(count, Weight) else (count, None)


def read_step(step: Exact, **beside: object) -> Fraction:
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
        raise ParameterError("step", "must divide 1, like the step of the data's weights")
    for name in [name for name, each in beside.items() if each]:
        raise ParameterError("step", "must be left out with " + Argument(name))
    return held


def check_steps(records: int, step: Fraction, name: str, most: int) -> None:
    """Refuse a bound, the parameter `name`, of more steps than noise is drawn for.

    Raises
    ------
    ParameterError
    """
    if count_steps(records, step) > most:
        raise ParameterError(name, f"must be at most {most:,} steps of weights", "widen the step")


def count_steps(records: int, step: Fraction | None) -> int:
    """Return a number of records in steps.

    >>> count_steps(20, Fraction(1, 100)), count_steps(20, None)
    (2000, 20)
    """
    return records if step is None else int(records / step)


def to_records(steps: int, step: Fraction | None) -> float:
    """Return a number of steps in records: a whole number where it is one.

    >>> to_records(250, Fraction(1, 100)), to_records(300, Fraction(1, 100)), to_records(7, None)
    (2.5, 3, 7)
    """
    if step is None:
        return steps
    found = steps * step
    return int(found) if found.denominator == 1 else float(found)


def to_unit(steps: Any, step: Fraction) -> FloatArray:
    """Return whole numbers of steps in the unit of the step, each the float nearest to it.

    So written in full it is the decimal of the step: 1234 steps of 0.01 are 12.34. Exact for
    numbers below 2**53.

    >>> to_unit([1234, 7], Fraction(1, 100)).tolist()
    [12.34, 0.07]
    """
    found: FloatArray = np.asarray(steps, np.float64) * step.numerator / step.denominator
    return found


def say_step(step: Fraction | None) -> str:
    """Say in an error how rows were counted.

    >>> say_step(None), say_step(Fraction(1, 100))
    ('in whole records', 'by weights in steps of 0.01')
    """
    return "in whole records" if step is None else f"by weights in steps of {decimal_text(step)}"


def state_weight(weight: Weight | None) -> dict[str, str]:
    """Return what a release states of weights: their bounds and step; nothing without any."""
    return {} if weight is None else {"weights": weight.to_text()}
