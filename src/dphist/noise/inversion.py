"""Inversion of a uniform real number, refined only where it must be.

A magnitude is sampled as N = #{i >= 0 : U < t_i} for a uniform real U and decreasing
thresholds t_0 > t_1 > ... -> 0, so that Pr[N > i] = t_i. Of U only some bits are drawn
at first; they name an interval, and N is known unless a threshold lies in it. Then, and
only then, more bits of the same U are drawn. `docs/proofs/noise.md`, Lemmas 1 and 2.
"""

import math
import os
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dphist.noise.enclosures import Enclosure
from dphist.parameters import whole_number

# A source of randomness returns as many independent uniform bytes as it is asked for. It
# holds no state of ours, so that a fork or a thread cannot repeat or share noise.
Source: TypeAlias = Callable[[int], bytes]
# tail(i, bits) encloses 2**bits * t_i; it must get tighter with more bits.
Tail: TypeAlias = Callable[[int, int], Enclosure]

IntArray: TypeAlias = npt.NDArray[np.int64]

_MORE_BYTES = 8
_MOST = 2**40  # samples; far more than fit anywhere, far fewer than NumPy can count
_CHUNK = 1 << 15  # samples worked on at once, so that they stay in the processor's cache


def sample_shape(
    size: int | tuple[int, ...], sample: Callable[[int, Source], IntArray], source: Source | None
) -> IntArray:
    """Return an array of shape `size` filled by `sample(length, source)`, piece by piece."""
    sides = size if isinstance(size, tuple) else (size,)
    shape = [whole_number(side, "size", 0, _MOST) for side in sides]
    result = np.empty(math.prod(shape), np.int64)
    draw = os.urandom if source is None else source
    for start in range(0, len(result), _CHUNK):
        part = result[start : start + _CHUNK]
        part[:] = sample(len(part), draw)
    return result.reshape(shape)


def count_thresholds_above(tail: Tail, word: int, bits: int, source: Source) -> int:
    """Return #{i : U < t_i} for the U whose first `bits` bits are `word`, drawing more.

    Parameters
    ----------
    tail : encloses the thresholds, which decrease to zero.
    word : the bits of U drawn so far, 0 <= word < 2**bits.
    source : further bytes of U are drawn from here, eight at a time, until U is on a
        known side of every threshold.
    """
    while True:
        word = word << 8 * _MORE_BYTES | int.from_bytes(source(_MORE_BYTES), "big")
        bits += 8 * _MORE_BYTES
        index = _first_not_above(tail, word, bits)
        if _is_below(tail, index, word, bits):
            return index


def _first_not_above(tail: Tail, word: int, bits: int) -> int:
    """Return the least i for which U < t_i is not certain."""
    least, step = 0, 1
    while _is_above(tail, least + step - 1, word, bits):
        least += step
        step *= 2
    most = least + step - 1
    while least < most:
        middle = (least + most) // 2
        if _is_above(tail, middle, word, bits):
            least = middle + 1
        else:
            most = middle
    return least


def _is_above(tail: Tail, index: int, word: int, bits: int) -> bool:
    """Whether t_index lies above the whole interval of U."""
    return word + 1 <= tail(index, bits)[0]


def _is_below(tail: Tail, index: int, word: int, bits: int) -> bool:
    """Whether t_index lies below the whole interval of U."""
    return word >= tail(index, bits)[1]
