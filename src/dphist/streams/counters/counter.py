"""The protocol of noise for running counts."""

from fractions import Fraction
from typing import Protocol

from dphist.arrays import IntArray
from dphist.noise.inversion import Source


class Counter(Protocol):
    """The noise of running counts: a distribution of paths, one independent path for each label.

    A path is drawn only at the times requested, in ascending order. Its state is `width` numbers
    for each label, which determine the distribution of its future. Noise is a whole number of
    units of 2**-`unit_bits` records. The methods do not modify their arguments.

    Attributes
    ----------
    width : numbers stored for each label.
    unit_bits : at least 0.
    variance : the largest variance of a path's Gaussian part at any time, records**2.
    rounding : maximum distance of a path from its Gaussian part due to rounding, records.
    skips : whether the distribution at a time is independent of the times requested before.
    """

    @property
    def width(self) -> int: ...

    @property
    def unit_bits(self) -> int: ...

    @property
    def variance(self) -> Fraction: ...

    @property
    def rounding(self) -> Fraction: ...

    @property
    def skips(self) -> bool: ...

    def variance_at(self, time: int) -> Fraction:
        """Return the variance at a time, 1 to the horizon, records**2."""

    def start(self, labels: int, time: int, source: Source | None) -> IntArray:
        """Draw `labels` new paths at a time, (labels, width) int64."""

    def step(self, rows: IntArray, before: int, now: int, source: Source | None) -> IntArray:
        """Advance paths, (labels, width) int64, from one time to a later one."""

    def total(self, rows: IntArray) -> IntArray:
        """Return the noise of the running counts at the time of the rows, (labels,) int64."""
