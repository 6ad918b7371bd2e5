"""Exact noise with finitely many values, whose probabilities are whole multiples of 2**-bits."""

import bisect
import functools
import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dphist.arrays import IntArray
from dphist.noise.inversion import Source, sample_shape

_WORD = 64


@dataclass(frozen=True, slots=True)
class FiniteLaw:
    """The law Pr[X = first + i] = weights[i] / 2**bits.

    Attributes
    ----------
    first : the smallest value.
    weights : of all values from `first` on, above 0; their sum is 2**bits.
    bits : a multiple of 8, 64 or more.
    """

    first: int
    weights: tuple[int, ...]
    bits: int

    def __post_init__(self) -> None:
        if self.bits < _WORD or self.bits % 8 or sum(self.weights) != 1 << self.bits:
            raise ValueError("weights must add up to 2**bits, with 64, 72, ... bits")

    @property
    def last(self) -> int:
        """The largest value."""
        return self.first + len(self.weights) - 1


def finite_noise(
    law: FiniteLaw, size: int | tuple[int, ...], source: Source | None = None
) -> IntArray:
    """Draw independent noise of a law with finitely many values, exactly.

    Returns
    -------
    (size,) int64

    Notes
    -----
    The first 64 bits of a uniform real number decide nearly always which value it is; where they
    are those of a border between two values, the other bits are drawn
    (`docs/understand/proofs/bounded_noise.md`, Lemma 4).
    """
    return sample_shape(size, functools.partial(_sample, law), source)


def _sample(law: FiniteLaw, size: int, source: Source) -> IntArray:
    borders, words = _borders(law)
    drawn = np.frombuffer(source(8 * size), "<u8")
    places = np.searchsorted(words, drawn)
    rest = law.bits - _WORD
    # Above all words there is none to be equal to: 0 is not above any.
    for i in np.flatnonzero(np.append(words, np.uint64(0))[places] == drawn).tolist():
        whole = int(drawn[i]) << rest | int.from_bytes(source(rest // 8), "big")
        places[i] = bisect.bisect_right(borders, whole)
    found: IntArray = places.astype(np.int64) + law.first
    return found


@functools.lru_cache(maxsize=8)
def _borders(law: FiniteLaw) -> tuple[list[int], npt.NDArray[np.uint64]]:
    """Return where each value but the first begins, in units of 2**-bits, and the first 64 bits."""
    borders = list(itertools.accumulate(law.weights))[:-1]
    return borders, np.array([border >> law.bits - _WORD for border in borders], np.uint64)
