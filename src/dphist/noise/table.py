"""A table of thresholds that decides almost every uniform number by look-up."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dphist.noise.enclosures import Enclosure
from dphist.noise.inversion import IntArray, Source, Tail, count_thresholds_above

_GUIDE_BITS = 16
_GUIDE_FROM = 256  # thresholds from which the guide saves more than making it costs


@dataclass(frozen=True, slots=True)
class ThresholdTable:
    """Inverts U whose first `bits` bits are given: N = #{i : U < t_i}.

    With f = floor(2**bits t), a word below f puts all of U's interval below t, a word
    above f puts it above t, and the word f itself leaves it open; so does the word 0,
    below which the table ends (`docs/proofs/noise.md`, Lemma 1).
    """

    bits: int
    floors: npt.NDArray[np.uint32]  # ascending, after a leading 0
    tail: Tail
    guide: npt.NDArray[np.int32] | None  # N for words that begin with these 16 bits,
    mixed: npt.NDArray[np.bool_] | None  # unless a floor begins with them too

    @staticmethod
    def build(enclose: Callable[[int], list[Enclosure]], tail: Tail, bits: int) -> "ThresholdTable":
        """Make the table of thresholds that `enclose(work)` bounds in units of 2**-work."""
        floors = _floors(enclose, bits)
        if len(floors) < _GUIDE_FROM:
            return ThresholdTable(bits, floors, tail, None, None)
        shift = bits - _GUIDE_BITS
        starts = np.arange(1 << _GUIDE_BITS, dtype=np.uint32) << shift
        guide = (len(floors) - np.searchsorted(floors, starts, side="right")).astype(np.int32)
        mixed = np.zeros(1 << _GUIDE_BITS, bool)
        mixed[floors >> shift] = True
        return ThresholdTable(bits, floors, tail, guide, mixed)

    def invert(self, words: npt.NDArray[np.uint32], source: Source) -> IntArray:
        """Return N for each word, (k,) int64, drawing more bits of U where it is open."""
        if self.guide is None or self.mixed is None:
            return self._search(words, source)
        cells = words >> (self.bits - _GUIDE_BITS)
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
    """Return 0 and the floors of 2**bits t, ascending; more precision until all are known."""
    work = bits + 96
    while True:
        shift = work - bits
        pairs = [(low >> shift, high >> shift) for low, high in enclose(work)]
        if all(low == high for low, high in pairs):
            return np.array([0, *(low for low, _ in reversed(pairs))], np.uint32)
        work *= 2
