"""BinNumbers: the axis of a histogram whose data have no edges."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from dphist.arrays import AnyArray, FloatArray
from dphist.data.axis.axis import Axis


class BinNumbers(Axis):
    """Bins from one whole number to the next, from 0 on, which are made where they are asked for.

    >>> axis = BinNumbers(3)
    >>> axis.bins, axis[1], axis.edges
    (3, (1.0, 2.0), array([0, 1, 2, 3]))
    """

    __slots__ = ("_bins",)

    _bins: int

    def __init__(self, bins: int) -> None:
        object.__setattr__(self, "_bins", bins)
        object.__setattr__(self, "name", None)
        object.__setattr__(self, "zone", None)

    @property
    def bins(self) -> int:
        """The number of bins."""
        return self._bins

    @property
    def edges(self) -> AnyArray:
        """The whole numbers, (bins + 1,) int64."""
        return np.arange(self.bins + 1)

    def __getitem__(self, place: int) -> tuple[float, float]:
        number = range(self.bins)[place]
        return float(number), float(number + 1)

    def __iter__(self) -> Iterator[tuple[float, float]]:
        return pairwise(map(float, range(self.bins + 1)))

    def at(self, places: FloatArray) -> AnyArray:
        """Return fractional bin positions as they are."""
        return places

    def positions(self, values: Any, parameter: str = "value") -> Any:
        """Return whole numbers from 0 to `bins` as they are; see `Axis.positions`."""
        found = np.asarray(values)
        if found.dtype.kind in "iu" and ((found >= 0) & (found <= self.bins)).all():
            return found.astype(np.int64) if found.ndim else int(found)
        return Axis.positions(self, values, parameter)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BinNumbers) and self.bins == other.bins

    def __hash__(self) -> int:
        return hash((BinNumbers, self.bins))

    def __reduce__(self) -> tuple[type["BinNumbers"], tuple[int]]:  # type: ignore[override]
        return BinNumbers, (self.bins,)

    def __repr__(self) -> str:
        return f"BinNumbers({self.bins})"
