"""How much a curve varies by chance, from how fast it falls: what widths and decoding assume."""

from typing import Protocol, TypeVar

from dphist.arrays import FloatArray

Number = TypeVar("Number", float, FloatArray)


class Roughness(Protocol):
    """Variance of a curve's fall over one position, for its mean; `of_columns` or `of_rows`."""

    def __call__(self, slope: Number, /) -> Number:
        """Return the variance, for one slope or an array of them."""


def of_columns(slope: Number, /) -> Number:
    """Labels end at random, so the variance of a fall over one column is their mean number."""
    return slope


def of_rows(slope: Number, /) -> Number:
    """Gaps between counts vary as much as they are long."""
    return slope * slope
