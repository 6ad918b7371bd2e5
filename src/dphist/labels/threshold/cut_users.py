"""How many users had more than the bounds: what noisy numbers of them say.

Intervals of label counts are for counts after bounding. Two more noisy numbers, of the users within
the bounds and of those who had more, say how far that is from the data.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dphist.arrays import IntArray
from dphist.errors import ParameterError
from dphist.labels.threshold.measuring import NAME

_LEVEL = 0.975  # of each number, so that both are within their errors with 95 %


@dataclass(frozen=True, slots=True)
class CutUsers:
    """Users within the bounds and users who were cut, with noise.

    Attributes
    ----------
    within, cut : noisy numbers of users; either may be negative.
    error : both true numbers are within so much of them, with a probability of 95 % or more.
    """

    within: int
    cut: int
    error: int

    @property
    def share(self) -> float:
        """The share of users who were cut, between 0 and 1; 0 where the numbers show no user."""
        return _share(self.cut, self.within)

    @property
    def low(self) -> float:
        """Where the interval of the share begins, of 95 % or more."""
        return _share(self.cut - self.error, self.within + self.error)

    @property
    def high(self) -> float:
        """Where the interval of the share ends; 1 where no user need be within the bounds."""
        cut, within = max(self.cut + self.error, 0), self.within - self.error
        return 1.0 if within <= 0 and cut > 0 else _share(cut, within)


def cut_users(noisy: Mapping[str, IntArray], noise: Any) -> CutUsers:
    """Return what a release says of users who were cut; `noise` is the law of both numbers."""
    within, cut = checked(noisy).tolist()
    return CutUsers(within, cut, noise.half_width(_LEVEL))


def checked(noisy: Mapping[str, IntArray]) -> IntArray:
    """Return the two numbers, refusing what no release of them holds."""
    found = noisy.get(NAME)
    if found is None or found.shape != (2,):
        raise ParameterError("noisy", f"must hold two numbers of {NAME}, as the release has them")
    return found


def _share(part: int, rest: int) -> float:
    part, rest = max(part, 0), max(rest, 0)
    return part / (part + rest) if part else 0.0
