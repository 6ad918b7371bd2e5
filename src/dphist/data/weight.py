"""Weight: a column of weights of rows, with public bounds in whole steps."""

import math
from dataclasses import dataclass
from fractions import Fraction

from dphist.data.clamp import Clamp
from dphist.errors import ParameterError
from dphist.parameters import Exact


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
                "step", "must divide 1, as 0.01 does: a weight of 1 is one record, in whole steps"
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
            "weights are for KeyedCounts.from_table with listed keys",
        )
