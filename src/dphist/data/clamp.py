"""Clamp: public bounds, in whole steps, on what is summed of one user and label."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dphist.errors import Argument, ParameterError, phrase
from dphist.parameters import (
    Exact,
    decimal_text,
    exact_number,
    positive_number,
    probability,
    short_number,
)

MAX_STEPS = 2**40
"""Largest bound, in steps: sums of noise then stay far inside int64."""

OUTSIDE = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(3), Fraction(9))
"""How far cells of users reach to both sides of a clamp, in widths of the clamp."""

MAX_SUMS = 64
"""Largest number of columns that are summed."""


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Clamp:
    """Public bounds on a sum over the rows of one user and label, and its unit.

    Parameters
    ----------
    low, high : numbers, `low` below `high`
        A sum below `low` counts as `low`, one above `high` as `high`. Both must come from public
        knowledge: bounds that were read from the data would betray those at the bounds.
    step : number above 0
        The unit of the sums, public as well. Both bounds are whole multiples of it. Each value of
        the data is rounded to the nearest multiple first.

    Raises
    ------
    ParameterError
        If a number is not finite, `low` is not below `high`, or the step does not divide a bound.

    Examples
    --------
    >>> Clamp(0, 500, "0.01")
    Clamp(low=0, high=500, step=0.01)
    """

    low: Fraction
    high: Fraction
    step: Fraction

    def __init__(self, low: Exact, high: Exact, step: Exact) -> None:
        held = {
            "low": exact_number(low, "low"),
            "high": exact_number(high, "high"),
            "step": positive_number(step, "step", 10**12),
        }
        for name, number in held.items():
            object.__setattr__(self, name, number)
        if self.step.denominator > 10**12:
            raise ParameterError("step", "must have at most 12 decimal places")
        if not self.low < self.high:
            raise ParameterError(("low", "high"), "must be in ascending order, and differ")
        for name in ("low", "high"):
            steps = held[name] / self.step
            if steps.denominator != 1:
                raise ParameterError(
                    "step", "must divide " + Argument(name) + ", which is a whole number of steps"
                )
            if abs(steps) > MAX_STEPS:
                raise ParameterError(name, "must be at most 2**40 steps from 0", "widen the step")

    def __repr__(self) -> str:
        return f"Clamp({self.in_code})"

    @property
    def in_code(self) -> str:
        """The bounds and the step, as Python code names them."""
        low, high, step = (repr(text) if "/" in text else text for text in self.to_content())
        return f"low={low}, high={high}, step={step}"

    def to_text(self) -> str:
        """Return the text that `from_text` reads."""
        return ":".join(self.to_content())

    @classmethod
    def from_text(cls, text: str) -> "Clamp":
        """Return the clamp that a text such as ``0:500:0.01`` writes.

        Raises
        ------
        ParameterError
            If it has not three parts, or as the class.
        """
        parts = text.split(":")
        if len(parts) != 3:
            raise ParameterError("clamp", "must be LOW:HIGH:STEP, such as 0:500:0.01")
        return cls(*parts)

    def to_content(self) -> list[str]:
        """Return low, high and step as texts, exactly, for saving."""
        return [decimal_text(number) for number in (self.low, self.high, self.step)]

    @property
    def least(self) -> int:
        """`low` in steps."""
        return int(self.low / self.step)

    @property
    def most(self) -> int:
        """`high` in steps."""
        return int(self.high / self.step)

    def center(self, *, counts_users: bool) -> int:
        """Return the number of steps that is taken from what each user adds to a sum.

        It is the middle of the bounds, rounded down, where the count of a label is its number of
        users, so that it can be added again; else 0. It depends on public numbers alone.
        """
        return (self.least + self.most) // 2 if counts_users else 0

    def reach(self, *, counts_users: bool) -> int:
        """Return by how many steps one user changes the sum of a label at most, about `center`.

        >>> Clamp(0, 5, 1).center(counts_users=True), Clamp(0, 5, 1).reach(counts_users=True)
        (2, 3)
        """
        center = self.center(counts_users=counts_users)
        return max(self.most - center, center - self.least)

    @property
    def starts(self) -> tuple[int, ...]:
        """Where cells of totals start after the first, in steps, ascending.

        One cell has the totals within the clamp, and `OUTSIDE` of it cells get wider to both sides;
        the first and the last have no end. Of a narrow clamp some are left out.

        >>> Clamp(0, 100, 1).starts
        (-900, -300, -100, -50, -25, 0, 101, 126, 151, 201, 401, 1001)
        """
        width = self.most - self.least
        far = [math.floor(times * width) for times in OUTSIDE]
        below = {self.least - each for each in (0, *far)}
        return tuple(sorted(below | {self.most + 1 + each for each in (0, *far)}))


def read_sums(sums: Any) -> tuple[tuple[str, Clamp], ...]:
    """Return the columns that are summed, with their clamps, in the order given; checked.

    Parameters
    ----------
    sums : mapping of column to `Clamp`, or pairs of both, or of column and what `to_content` of the
        clamp returns; None for no sums.

    Raises
    ------
    ParameterError
    """
    if sums is None:
        return ()
    problem = ParameterError(
        "sums", "must name columns with their clamps", 'as {"spent": dh.Clamp(0, 500, "0.01")} does'
    )
    pairs = list(sums.items() if isinstance(sums, Mapping) else sums if _is_list(sums) else [None])
    if not pairs or not all(_is_list(pair) and len(pair) == 2 for pair in pairs):
        raise problem
    if len(pairs) > MAX_SUMS:
        raise ParameterError("sums", f"must be at most {MAX_SUMS} columns")
    found = []
    for name, clamp in pairs:
        if _is_list(clamp) and len(clamp) == 3:
            clamp = Clamp(*clamp)
        if not isinstance(name, str) or not name or not isinstance(clamp, Clamp):
            raise problem
        found.append((name, clamp))
    if len({name for name, _ in found}) < len(found):
        raise ParameterError("sums", phrase("must name each column once"))
    return tuple(found)


def read_sum(text: str) -> tuple[str, Clamp]:
    """Read a column and its clamp as they are typed, such as ``spent=0:500:0.01``.

    Raises
    ------
    ValueError
        If it is not written so.
    ParameterError
        As for `Clamp`.
    """
    column, equals, clamp = text.rpartition("=")
    if not (column and equals):
        raise ValueError("must be COLUMN=LOW:HIGH:STEP, such as spent=0:500:0.01")
    return column, Clamp.from_text(clamp)


def read_share(share: Exact) -> Fraction:
    """Return the part of a cost that sums pay for, checked.

    Raises
    ------
    ParameterError
    """
    found = short_number(probability(share, "sums_share"), "sums_share")
    if not found > 0:
        raise ParameterError("sums_share", "must be above 0 and below 1")
    return found


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
