"""What the noise of running counts must do, whatever its law."""

from fractions import Fraction
from typing import Protocol

from dphist.arrays import IntArray
from dphist.noise.inversion import Source


class Counter(Protocol):
    """The noise of running counts: a law of paths, of which every label has one of its own.

    A path is known only at the times when it was asked for, in ascending order, by `width`
    numbers a label: all that its later course depends on. Noise is in units of 2**-`unit_bits`
    records, a whole number of them. The functions change none of the arrays they are given.

    Attributes
    ----------
    width : numbers kept a label.
    unit_bits : at least 0.
    variance : the largest variance of a path's Gaussian part at any time, records**2.
    rounding : by how much rounding moves a path from its Gaussian part at most, records.
    skips : whether a path has the same law at a time whatever times it was asked for before.
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
        """Draw so many new paths at a time, (labels, width) int64."""

    def step(self, rows: IntArray, before: int, now: int, source: Source | None) -> IntArray:
        """Carry paths on, (labels, width) int64, from one time to a later one."""

    def total(self, rows: IntArray) -> IntArray:
        """Return the noise of the running counts at the time of the rows, (labels,) int64."""
