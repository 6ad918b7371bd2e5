"""IntervalEstimate: a number or time inferred from a release, with its interval."""

from dataclasses import dataclass
from typing import Any

import numpy as np


def name_columns(name: str) -> tuple[str, str, str]:
    """Return the columns of an estimate and of both ends of its interval in released tables.

    >>> name_columns("spent_sum")
    ('spent_sum', 'spent_sum_low', 'spent_sum_high')
    """
    return name, f"{name}_low", f"{name}_high"


@dataclass(frozen=True, slots=True, repr=False)
class IntervalEstimate:
    """An estimate, and the interval that holds the true value. Not secret.

    Attributes
    ----------
    value : number, numpy.datetime64 or datetime; NaN, NaT or None if nothing is known.
    low, high : both ends of the interval, of the same type.
    level : probability that the interval holds the true value, over the noise, for this estimate
        by itself.
    note : what a reader must know besides; empty if there is nothing.
    """

    value: Any
    low: Any
    high: Any
    level: float = 0.95
    note: str = ""

    @property
    def is_known(self) -> bool:
        """Whether there is an estimate."""
        return self.value is not None and bool(self.value == self.value)

    def __iter__(self) -> Any:
        """Iterate over the value and both ends: ``value, low, high = h.median()``."""
        return iter((self.value, self.low, self.high))

    def __repr__(self) -> str:
        value = _text(self.value) if self.is_known else "unknown"
        ends = f"{100 * self.level:g} % interval {_text(self.low)} to {_text(self.high)}"
        return f"IntervalEstimate({value}, {ends}{self.note and '; '}{self.note})"


def _text(value: Any) -> str:
    if isinstance(value, int | np.integer):
        return f"{value}"
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    return str(value)
