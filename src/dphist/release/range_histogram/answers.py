"""Answers to ranges, as a mechanism gives them."""

from typing import Protocol

from dphist.arrays import FloatArray, IntArray, NumberArray
from dphist.release.range_histogram.picture import ERRORS, band


class Answers(Protocol):
    """A mechanism's answers to ranges; ends are checked, one (q,) array for each axis."""

    def count(self, lo: list[IntArray], hi: list[IntArray]) -> NumberArray:
        """Return (q,) estimates of the records in each box."""

    def error(self, lo: list[IntArray], hi: list[IntArray]) -> FloatArray:
        """Return (q,) standard errors of these, in records."""

    def interval(self, lo: list[IntArray], hi: list[IntArray]) -> tuple[NumberArray, NumberArray]:
        """Return both ends of (q,) 95 % intervals (default: 1.96 errors to either side)."""
        return band(self.count(lo, hi), ERRORS * self.error(lo, hi))

    def bin_errors(self) -> FloatArray:
        """Return the standard error of each bin, in the shape of the bins."""
