"""Rejection sampling where 16 random bits decide almost every sample.

A point below a curve is drawn from strips. Each of the 65,536 words of 16 bits stands for a
rectangle as wide as its cell and 1 high, and the rectangles of a cell lie on top of each other and
cover what is below the curve there. A rectangle that lies wholly below the curve is sure: its word
is accepted as it is. Any other word needs a height within its rectangle, which is compared with
the curve. `docs/understand/proofs/noise.md`, Lemma 1.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from dphist.arrays import BoolArray, FloatArray, IntArray
from dphist.noise.inversion import Source

WORDS = 1 << 16
_NOWHERE = 1 << 30  # the height of words without a rectangle: above every curve
_BLOCK = 1 << 15  # proposals made at once, so that they stay in the processor's cache
_PIECE = 1 << 18  # samples whose undecided proposals are decided at once


class Cell(NamedTuple):
    """A cell with its rectangles: the lowest `sure` of `words` lie wholly below the curve."""

    number: int
    sure: int
    words: int


class Undecided(NamedTuple):
    """Proposals that need more bits: places in a block, words, and what the law numbers them."""

    places: npt.NDArray[np.intp]
    words: npt.NDArray[np.uint16]
    numbers: IntArray


@dataclass(frozen=True, slots=True)
class Strips:
    """The rectangle of each word.

    Attributes
    ----------
    sure : words below this one are accepted as they are.
    cells : (65536,) int16, the cell of each word.
    heights : (65536,) int32, the lower end of the rectangle of each word.
    """

    sure: int
    cells: npt.NDArray[np.int16]
    heights: npt.NDArray[np.int32]

    @staticmethod
    def build(cells: Iterable[Cell]) -> "Strips":
        """Give words to the cells; what is left over is rejected."""
        numbers, sure, words = np.array(list(cells), np.int32).T
        used = int(words.sum())
        if used > WORDS:
            raise ValueError("the rectangles are more than the words")
        starts = np.repeat(np.cumsum(words) - words, words)
        heights = np.full(WORDS, _NOWHERE, np.int32)
        heights[:used] = np.arange(used, dtype=np.int32) - starts
        owners = np.zeros(WORDS, np.int16)
        owners[:used] = np.repeat(numbers, words)
        limits = np.zeros(WORDS, np.int32)
        limits[:used] = np.repeat(sure, words)
        sure_first = [np.flatnonzero(heights < limits), np.flatnonzero(heights >= limits)]
        order = np.concatenate(sure_first)
        return Strips(len(sure_first[0]), owners[order], heights[order])


def largest_scale(ends: FloatArray, likely: int) -> int:
    """Return nearly the largest scale of a curve whose rectangles are at most as many as the words.

    Parameters
    ----------
    ends : (cells,) float64, the largest height of a curve of scale 1 in each cell.
    likely : at least the largest scale.
    """
    above = ends * (1 + 2.0**-40)  # more than the errors of floating point
    scale = likely
    while np.ceil(scale * above).sum() > WORDS:
        scale -= 1
    return scale


class Law(Protocol):
    """A law whose samples are proposed by words, and accepted by their heights."""

    @property
    def rejected(self) -> float:
        """The share of proposals that are rejected."""
        ...

    def first(self, block: IntArray, source: Source) -> Undecided:
        """Fill a block with independent proposals; return those that need more bits."""
        ...

    def decide(self, undecided: Undecided, source: Source) -> tuple[IntArray, BoolArray]:
        """Return the values of undecided proposals, and which of them are accepted."""
        ...


def fill(law: Law, out: IntArray, size: int, source: Source) -> None:
    """Fill out[:size] with independent samples; what follows in `out` is used for proposals."""
    found = [
        _renumber(law.first(out[start : start + _BLOCK], source), start)
        for start in range(0, len(out), _BLOCK)
    ]
    undecided = Undecided(*(np.concatenate(arrays) for arrays in zip(*found, strict=True)))
    if len(undecided.places) == 0:
        return
    out[undecided.places], kept = law.decide(undecided, source)
    rejected = undecided.places[~kept]
    missing = int(np.searchsorted(rejected, size))
    others = np.delete(np.arange(size, len(out)), rejected[missing:] - size)[:missing]
    out[rejected[: len(others)]] = out[others]
    rest = rejected[len(others) : missing]
    if len(rest):
        out[rest] = samples(law, len(rest), source)


def _renumber(undecided: Undecided, start: int) -> Undecided:
    return undecided._replace(places=undecided.places + start)


def spare(law: Law, size: int) -> int:
    """Return how many proposals are made besides `size`: usually, more than are rejected."""
    expected = size * law.rejected
    return int(expected + 4 * math.sqrt(expected))


def samples(law: Law, size: int, source: Source) -> IntArray:
    """Return (size,) independent samples."""
    result = np.empty(size + spare(law, min(size, _PIECE)), np.int64)
    for start in range(0, size, _PIECE):
        length = min(_PIECE, size - start)
        # The spare proposals of a piece stand where the next piece begins.
        fill(law, result[start : start + length + spare(law, length)], length, source)
    return result[:size]
