"""Exact inversion sampling from a uniform real number, refined only where needed.

A magnitude is sampled as N = #{i >= 0 : U < t_i} for a uniform real U and decreasing thresholds
t_0 > t_1 > ... -> 0, so that Pr[N > i] = t_i. The first bits of U give an interval. N is known
unless a threshold lies in this interval; only then are more bits of the same U drawn.
`docs/understand/proofs/noise.md`, Lemma 2.
"""

import functools
import math
import os
from collections.abc import Callable
from typing import TypeAlias

from dphist.arrays import IntArray
from dphist.errors import ParameterError
from dphist.noise.enclosures import Enclosure
from dphist.parameters import whole_number

# A source of randomness returns the requested number of independent uniform bytes. It keeps no
# state in this process, so forks and threads cannot repeat or share noise.
Source: TypeAlias = Callable[[int], bytes]
# tail(i, bits) encloses 2**bits * t_i, more tightly with more bits.
Tail: TypeAlias = Callable[[int, int], Enclosure]


MORE_BYTES = 8
_MOST = 2**40  # samples: far more than fit in memory, far fewer than NumPy's limit


def check_source(source: Source | None) -> Source:
    """Return the operating system's randomness, or a caller's source that is checked at each call.

    NumPy repeats a single word for all samples, and a whole number is read from any number of
    bytes: too few would be noise that samples share, or that has fewer bits than its law needs.

    Raises
    ------
    ParameterError
        At a call, if the caller's source does not return exactly the bytes that it is asked for.
    """
    if source is None:
        return os.urandom

    def draw(size: int) -> bytes:
        drawn = source(size)
        if not isinstance(drawn, bytes) or len(drawn) != size:
            raise ParameterError("source", "must return bytes, exactly as many as it is asked for")
        return drawn

    return draw


def sample_shape(
    size: int | tuple[int, ...], sample: Callable[[int, Source], IntArray], source: Source | None
) -> IntArray:
    """Return an array of shape `size`, filled by `sample(length, source)`."""
    sides = size if isinstance(size, tuple) else (size,)
    shape = [whole_number(side, "size", 0, _MOST) for side in sides]
    return sample(math.prod(shape), check_source(source)).reshape(shape)


def count_thresholds_above(tail: Tail, word: int, bits: int, source: Source, guess: int = 0) -> int:
    """Return #{i : U < t_i} for a U that starts with the `bits` bits of `word`, drawing more bits.

    Parameters
    ----------
    tail : encloses the thresholds, which decrease to zero.
    word : the bits of U drawn so far, 0 <= word < 2**bits.
    source : provides further bytes of U, eight at a time, until every comparison of U with a
        threshold is decided.
    guess : at least 0; index at which the search starts. It affects only the running time.
    """
    while True:
        word = word << 8 * MORE_BYTES | int.from_bytes(source(MORE_BYTES), "big")
        bits += 8 * MORE_BYTES
        guess, known = _first_not_above(tail, word, bits, guess)
        if known:
            return guess


def _first_not_above(tail: Tail, word: int, bits: int, guess: int) -> tuple[int, bool]:
    """Return the smallest i for which U < t_i is not certain, and whether U >= t_i is certain."""

    @functools.cache  # the search revisits its end points
    def enclose(index: int) -> Enclosure:
        return tail(index, bits)

    def is_above(index: int) -> bool:
        """Whether t_index is above the whole interval of U."""
        return index < 0 or word + 1 <= enclose(index)[0]

    low, high, step = guess - 1, guess, 1
    while not is_above(low):
        low, high, step = low - step, low, 2 * step
    while is_above(high):
        low, high, step = high, high + step, 2 * step
    low = max(low, -1)
    while high - low > 1:
        middle = (low + high) // 2
        if is_above(middle):
            low = middle
        else:
            high = middle
    return high, word >= enclose(high)[1]
