"""Random variation of a curve given its slope, as block widths and decoding assume it."""

from typing import Protocol, TypeVar

from dphist.arrays import FloatArray

Number = TypeVar("Number", float, FloatArray)


class Roughness(Protocol):
    """Variance of the fall over one position, given its mean; `of_columns` or `of_rows`."""

    def __call__(self, slope: Number, /) -> Number:
        """Return the variance, for one slope or an array of them."""


def of_columns(slope: Number, /) -> Number:
    """Labels end at random: the fall over one column is Poisson, with variance equal to mean."""
    return slope


def of_rows(slope: Number, /) -> Number:
    """The standard deviation of a gap between counts is its mean."""
    return slope * slope
