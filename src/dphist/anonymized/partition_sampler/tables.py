"""Float tables that propose the entries of one half of a diagram.

For each entry of a non-increasing sequence, a table holds sums S(q) over its values from the
largest down to q. A proposal is drawn exactly according to these sums, whatever they are: among the
values from v on, q has probability (S(q) - S(q + 1)) / S(v), decided by as many random bits as
needed. The only condition is that each difference S(q) - S(q + 1) is at least its share, which is
exp(-rate |q - true|) times the sum at q of the previous entry. To ensure it, the sums are enlarged
by more than any rounding error (`docs/understand/proofs/partition_sampler.md`, Lemmas 6 and 7).
"""

import bisect
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dphist.anonymized.partition_sampler.powers import Powers, float_above
from dphist.anonymized.partition_sampler.windows import Entries
from dphist.arrays import FloatArray
from dphist.noise.inversion import Source

# (x, e) stands for x * 2**e.
ScaledFloat = tuple[float, int]

_TOP = 900  # the sums of a piece are between 2**-900 and 2**900, times the piece's power of two
_FLOOR = 2.0**-_TOP
_SLACK = 64  # maximum number of bits by which a piece's last sum may be below 2**_TOP
_LOWEST = -1000  # minimum exponent of a factor, so that factors are normal numbers
# Relative enlargement of each sum: 64 rounding errors of 2**-52.
_RISE = 2.0**-46

_WORD = 64
_MORE_BYTES = 8
# From this word on, the interval of U has a relative width below 2**-50, and rounding adds about as
# much.
_LEAST_SURE = 1 << 50
_BELOW, _ABOVE = 1 - 2.0**-46, 1 + 2.0**-46


@dataclass(frozen=True, slots=True)
class Table:
    """Sums over the values of one entry, from the largest down.

    Attributes
    ----------
    least, most : the smallest and the largest value.
    piece : values q with equal q // piece share an exponent.
    sums : (most - least + 1,) float64, for `most` first; the sum over all values >= q is
        sums[most - q] * 2**exponents[most // piece - q // piece].
    exponents : the exponent of each piece.
    """

    least: int
    most: int
    piece: int
    sums: FloatArray
    exponents: list[int]

    def sum_from(self, q: int) -> ScaledFloat:
        """Return the sum over all values from `q` on."""
        if q > self.most:
            return 0.0, 0
        q = max(q, self.least)
        return self.sums.item(self.most - q), self.exponents[self._find_piece(q)]

    def draw(self, least: int, word: int, source: Source) -> int:
        """Draw a value of at least `least` by a uniform number.

        `word` is the first 64 bits of this number. If they do not decide, `source` provides more.
        """
        least = max(least, self.least)
        sure = self._sure(least, word)
        return self._exactly(least, word, source) if sure is None else sure

    def _sure(self, least: int, word: int) -> int | None:
        """Return the value if floating point proves it, otherwise None."""
        if word < _LEAST_SURE:
            return None
        total, exponent = self.sum_from(least)
        target = (word + 0.5) * 2.0**-_WORD * total
        piece = self._find_piece(least)
        while piece > 0:
            before = math.ldexp(self._find_end(piece - 1), self.exponents[piece - 1] - exponent)
            if before <= target:
                break
            piece -= 1
        shift = exponent - self.exponents[piece]
        target = math.ldexp(target, shift)
        start = self.most - min(self.most, self._lowest(piece) + self.piece - 1)
        stop = self.most - max(self._lowest(piece), least) + 1
        j = start + int(np.searchsorted(self.sums[start:stop], target, "right"))
        if j == stop or self.sums.item(j) < target * _ABOVE:
            return None
        if j > start:
            below = self.sums.item(j - 1)
        elif piece > 0:
            below = math.ldexp(
                self._find_end(piece - 1), self.exponents[piece - 1] - self.exponents[piece]
            )
        else:
            below = 0.0
        return self.most - j if below <= target * _BELOW else None

    def _exactly(self, least: int, word: int, source: Source) -> int:
        """Return the q with S(q + 1) <= U S(least) < S(q), drawing bits of U until q is known."""
        bits = _WORD
        end = self.most - least
        total = self._exact(end)
        while True:
            low = Fraction(word, 1 << bits) * total
            high = Fraction(word + 1, 1 << bits) * total
            # U total lies in [low, high).
            first = bisect.bisect_right(range(end + 1), low, key=self._exact)
            last = bisect.bisect_left(range(end + 1), high, key=self._exact)
            if first == last:
                return self.most - first
            word = word << 8 * _MORE_BYTES | int.from_bytes(source(_MORE_BYTES), "big")
            bits += 8 * _MORE_BYTES

    def _exact(self, j: int) -> Fraction:
        return exactly(self.sum_from(self.most - j))

    def _find_piece(self, q: int) -> int:
        return self.most // self.piece - q // self.piece

    def _lowest(self, piece: int) -> int:
        return (self.most // self.piece - piece) * self.piece

    def _find_end(self, piece: int) -> float:
        """Return the last and largest sum of a piece, which must not be the last piece."""
        return self.sums.item(self.most - self._lowest(piece))


def exactly(number: ScaledFloat) -> Fraction:
    """Return the number that a float and an exponent stand for."""
    return Fraction(number[0]) * Fraction(2) ** number[1]


@dataclass(frozen=True, slots=True)
class Step:
    """The draw of the value q of one entry.

    Attributes
    ----------
    distance : the distance of q from the true value.
    here, above : the sums over the values from q on, and from q + 1 on.
    before : the sum over the previous entry's values from q on; 1 for the first entry.
    """

    distance: int
    here: ScaledFloat
    above: ScaledFloat
    before: ScaledFloat


@dataclass(frozen=True, slots=True)
class Half:
    """One half of the diagrams: non-increasing sequences, with a table for each entry."""

    true: list[int]
    tables: list[Table]

    @classmethod
    def over(cls, entries: Entries, powers: Powers, piece: int) -> "Half":
        """Sum up the weights of all sequences of entries within their bounds."""
        maker, tables = _Maker(powers, piece), list[Table]()
        for true, least, most in zip(entries.true, entries.least, entries.most, strict=True):
            tables.append(maker.table(true, least, most, tables[-1] if tables else None))
        return cls(entries.true, tables)

    def weight(self, entries: int) -> ScaledFloat:
        """Return the sum over all choices of `entries` entries, each at least `entries`."""
        return self.tables[entries - 1].sum_from(entries) if entries else (1.0, 0)

    def draw(self, words: list[int], source: Source) -> list[int]:
        """Draw one entry per word; each entry is at least the number of words."""
        least = len(words)
        drawn = [0] * least
        for i in reversed(range(len(words))):
            drawn[i] = least = self.tables[i].draw(least, words[i], source)
        return drawn

    def steps(self, drawn: list[int]) -> Iterator[Step]:
        """Yield the steps of a proposal, which determine its probability."""
        before = None
        for q, true, table in zip(drawn, self.true, self.tables, strict=False):
            earlier = (1.0, 0) if before is None else before.sum_from(q)
            yield Step(abs(q - true), table.sum_from(q), table.sum_from(q + 1), earlier)
            before = table


class _Maker:
    """Make tables one after the other, and reuse the working memory."""

    def __init__(self, powers: Powers, piece: int) -> None:
        self._powers, self._piece = powers, piece
        self._weights, self._raised = np.empty(piece), np.empty(piece)
        self._rises = 1 + np.arange(1, piece + 1) * _RISE

    def table(self, true: int, least: int, most: int, before: Table | None) -> Table:
        """Make the table of one entry from the table of the previous entry."""
        sums, exponents = np.empty(most - least + 1), list[int]()
        so_far: ScaledFloat = (0.0, 0)
        high = most
        while high >= least:
            low = max(high // self._piece * self._piece, least)
            out = sums[most - high : most - low + 1]
            exponent = self._fill(out, true, high, before, so_far)
            out[0] += math.ldexp(so_far[0], so_far[1] - exponent)
            out.cumsum(out=out)
            so_far = out.item(-1), exponent
            exponents.append(exponent - self._raise(out, most - high))
            high = low - 1
        return Table(least, most, self._piece, sums, exponents)

    def _fill(
        self, out: FloatArray, true: int, high: int, before: Table | None, so_far: ScaledFloat
    ) -> int:
        """Write the shares of the values high, high - 1, ... to `out`, and return their exponent.

        Relative to this exponent the sum `so_far` is at most 2**_TOP.
        """
        near, factor, exponent = self._nearest(true, high, high - len(out) + 1)
        weights = self._powers.spread(near, high, self._weights[: len(out)])
        if before is None:
            np.multiply(weights, 2.0 ** (_TOP - 1), out=out)
            exponent += 1 - _TOP
        else:
            # For q below all values of the previous entry, the sum at q covers all of them.
            shared = min(max(high - before.least + 1, 0), len(out))
            start = before.most - high
            np.multiply(weights[:shared], before.sums[start : start + shared], out=out[:shared])
            last, shift = before.sum_from(max(high - len(out) + 1, before.least))
            np.multiply(weights[shared:], last, out=out[shared:])
            exponent += shift
        if so_far[0] > 0:
            lowered = min(exponent - so_far[1] - math.frexp(so_far[0])[1] + _TOP, 0)
            exponent -= lowered
            factor = math.ldexp(factor, max(lowered, _LOWEST))
        if factor != 1:
            out *= factor
        np.maximum(out, _FLOOR, out=out)
        return exponent

    def _nearest(self, true: int, high: int, low: int) -> tuple[int, float, int]:
        """Return q, x, e with w(p - true) <= x 2**e w(p - q) for p from low to high.

        Here w(k) is exp(-rate |k|). Near the true value, q is the true value. Far from it, q is the
        nearest end of the range, because the table of powers has a limited reach.
        """
        near = min(max(true, low), high)
        gap = abs(near - true)
        if gap <= self._powers.reach // 2:
            return true, 1.0, 0
        return near, *float_above(self._powers.above(gap))

    def _raise(self, sums: FloatArray, place: int) -> int:
        """Enlarge sums so that they grow by more than each share; return the shift in bits."""
        rises = np.add(self._rises[: len(sums)], place * _RISE, out=self._raised[: len(sums)])
        shift = _TOP - math.frexp(sums.item(-1))[1]
        # Only when necessary, and by no more than a float can represent.
        shift = 0 if 0 <= shift <= _SLACK else min(shift, _TOP)
        if shift:
            rises *= 2.0**shift
        np.multiply(sums, rises, out=sums)
        return shift
