"""Samplers that read a script in place of random bits."""

import numpy as np

from dphist.noise.geometric import GeometricLaw
from dphist.noise.strips import Strips


def rectangles(strips: Strips) -> dict[int, tuple[int, int]]:
    """For each cell, how many words it has and how many are sure; heights are checked."""
    stacks = {}
    covered = strips.heights < 1 << 29
    assert covered[: strips.sure].all()
    for number in np.unique(strips.cells[covered]).tolist():
        own = np.flatnonzero(covered & (strips.cells == number))
        assert strips.heights[own].tolist() == list(range(len(own)))
        stacks[number] = (len(own), int(np.count_nonzero(own < strips.sure)))
    return stacks


class Script:
    """A source that hands out what a test has written down, and nothing else."""

    def __init__(self, *parts: bytes) -> None:
        self.parts = list(parts)

    def __call__(self, size: int) -> bytes:
        part = self.parts.pop(0)
        assert len(part) == size
        return part


def word_of(law: GeometricLaw, cell: int, height: int) -> bytes:
    """The word of a rectangle, as the sampler reads it."""
    strips = law.strips
    (word,) = np.flatnonzero((strips.cells == cell) & (strips.heights == height))
    return int(word).to_bytes(2, "little")


def place_of(law: GeometricLaw, place: int) -> list[bytes]:
    """The word of a place in a cell, as the sampler reads it; none if a cell is one integer."""
    size = np.dtype(law.place_type).itemsize
    return [(place << 8 * size - law.shift).to_bytes(size, "little")] if law.shift else []


def read_height(height: int, bits: int) -> list[bytes]:
    """The bits of a height in its rectangle: 32 at first, then 64 at a time."""
    first, rest = divmod(height, 1 << (bits - 32))
    later = rest.to_bytes((bits - 32) // 8, "big")
    return [first.to_bytes(4, "little"), *(later[i : i + 8] for i in range(0, len(later), 8))]
