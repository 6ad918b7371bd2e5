"""A lookup table of thresholds that decides almost every uniform number."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dphist.arrays import BoolArray, IntArray
from dphist.noise.enclosures import Enclosure
from dphist.noise.inversion import Source, Tail, count_thresholds_above

_MOST_GUIDE_BITS = 16  # a larger guide would not stay in the processor's cache
_CELLS = 64  # cells of the guide per threshold, so that few words need a search


@dataclass(frozen=True, slots=True)
class ThresholdTable:
    """Compute N = #{i : U < t_i} from the first `bits` bits of U.

    Let f = floor(2**bits t). For a word below f all of U's interval is below t, and for a word
    above f all of it is above t. The word f leaves U < t undecided, and so does the word 0, where
    the table ends (`docs/proofs/noise.md`, Lemma 1).
    """

    bits: int
    floors: npt.NDArray[np.uint32]  # ascending, after a leading 0
    tail: Tail
    guide_bits: int
    guide: npt.NDArray[np.int32]  # N for words by their first `guide_bits` bits
    mixed: BoolArray  # prefixes shared with a floor, for which `guide` is invalid

    @staticmethod
    def build(enclose: Callable[[int], list[Enclosure]], tail: Tail, bits: int) -> "ThresholdTable":
        """Make the table from `enclose(work)`: enclosures of t in units of 2**-work."""
        floors = _floors(enclose, bits)
        guide_bits = min(_MOST_GUIDE_BITS, (_CELLS * len(floors)).bit_length())
        shift = bits - guide_bits
        starts = np.arange(1 << guide_bits, dtype=np.uint32) << shift
        guide = (len(floors) - np.searchsorted(floors, starts, side="right")).astype(np.int32)
        mixed = np.zeros(1 << guide_bits, bool)
        mixed[floors >> shift] = True
        return ThresholdTable(bits, floors, tail, guide_bits, guide, mixed)

    def invert(self, words: npt.NDArray[np.uint32], source: Source) -> IntArray:
        """Return N for each word, (k,) int64, drawing more bits of U where undecided."""
        cells = words >> (self.bits - self.guide_bits)
        counts: IntArray = self.guide[cells].astype(np.int64)
        rest = np.nonzero(self.mixed[cells])[0]
        counts[rest] = self._search(words[rest], source)
        return counts

    def _search(self, words: npt.NDArray[np.uint32], source: Source) -> IntArray:
        position = np.searchsorted(self.floors, words, side="right")
        counts: IntArray = (len(self.floors) - position).astype(np.int64, copy=False)
        for i in np.nonzero(self.floors[position - 1] == words)[0]:
            counts[i] = count_thresholds_above(self.tail, int(words[i]), self.bits, source)
        return counts


def _floors(enclose: Callable[[int], list[Enclosure]], bits: int) -> npt.NDArray[np.uint32]:
    """Return 0 and the floors of 2**bits t, ascending; raises precision until all are known."""
    work = bits + 96
    while True:
        shift = work - bits
        pairs = [(low >> shift, high >> shift) for low, high in enclose(work)]
        if all(low == high for low, high in pairs):
            return np.array([0, *(low for low, _ in reversed(pairs))], np.uint32)
        work *= 2
