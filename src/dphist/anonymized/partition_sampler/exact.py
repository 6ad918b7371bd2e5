"""Drawing a partition by inversion, in integers of arbitrary precision.

This is the simple form of the algorithm in `proposals`. From tables of sums of weights, the side is
drawn first, and then each entry given the one after it. Integers enclose the sums. If the
enclosures and the known bits of the uniform numbers leave a draw undecided, everything is repeated
with twice as many bits of the same uniform numbers. This form is used after many rejections, which
occur only for unusual sources of bits (`docs/understand/proofs/partition_sampler.md`, Lemma 8).
"""

import bisect
import itertools
from dataclasses import dataclass
from fractions import Fraction

from dphist.anonymized.partition_sampler.windows import Choices, Entries
from dphist.noise.enclosures import Enclosure, ceil_shift, exp_negative
from dphist.noise.inversion import Source

_FIRST_BITS = 128
_GUARD = 64


class Uniforms:
    """Independent uniform numbers, extended by further bits on demand."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._draw: list[tuple[int, int]] = []

    def word(self, k: int, bits: int) -> int:
        """Return the first `bits` bits of the k-th number."""
        while len(self._draw) <= k:
            self._draw.append((0, 0))
        word, held = self._draw[k]
        if held < bits:
            missing = -(-(bits - held) // 8)
            word = word << 8 * missing | int.from_bytes(self._source(missing), "big")
            held += 8 * missing
            self._draw[k] = word, held
        return word >> held - bits


@dataclass(frozen=True, slots=True)
class Sums:
    """Enclosures of running sums, in units of 2**-bits, and inversion of a uniform number.

    Attributes
    ----------
    low, high : integers that enclose the sums; both sequences are ascending.
    """

    low: list[int]
    high: list[int]

    @classmethod
    def of(cls, low: list[int], high: list[int]) -> "Sums":
        """Sum up enclosed weights."""
        return cls(list(itertools.accumulate(low)), list(itertools.accumulate(high)))

    def at(self, j: int) -> Enclosure:
        """Enclose the sum of the weights 0..j, or of all weights if there are fewer."""
        j = min(j, len(self.low) - 1)
        return self.low[j], self.high[j]

    def place(self, end: int, word: int, bits: int) -> int | None:
        """Return the j <= end with S(j - 1) <= U S(end) < S(j); None if undecided."""
        low, high = self.at(end)
        # U is below 1, so no bound is needed at the end itself.
        j = bisect.bisect_left(self.low, ceil_shift((word + 1) * high, bits), 0, end)
        if j > 0 and self.high[j - 1] << bits > word * low:
            return None
        return j


def draw_exactly(choices: Choices, rate: Fraction, source: Source) -> tuple[list[int], list[int]]:
    """Draw a partition with probability proportional to exp(-rate d), as rows and columns."""
    uniforms, bits = Uniforms(source), _FIRST_BITS
    while (drawn := _attempt(choices, rate, uniforms, bits)) is None:
        bits *= 2
    return drawn


def _attempt(
    choices: Choices, rate: Fraction, uniforms: Uniforms, bits: int
) -> tuple[list[int], list[int]] | None:
    """Draw with `bits` bits of each uniform number; return None if they do not decide."""
    farthest = max(choices.rows.farthest(), choices.columns.farthest(), *choices.costs)
    powers = _powers(rate, farthest, bits)
    rows, columns = (_tables(half, powers, bits) for half in (choices.rows, choices.columns))
    low, high = [], []
    for side, cost in enumerate(choices.costs, choices.smallest):
        one, other = (
            _weight(half, tables, side, bits)
            for half, tables in ((choices.rows, rows), (choices.columns, columns))
        )
        low.append(one[0] * other[0] * powers[cost][0] >> 2 * bits)
        high.append(ceil_shift(one[1] * other[1] * powers[cost][1], 2 * bits))
    place = Sums.of(low, high).place(len(low) - 1, uniforms.word(0, bits), bits)
    if place is None:
        return None
    side = choices.smallest + place
    drawn_rows = _entries(choices.rows, rows, side, uniforms, 1, bits)
    drawn_columns = _entries(choices.columns, columns, side, uniforms, 1 + side, bits)
    return None if drawn_rows is None or drawn_columns is None else (drawn_rows, drawn_columns)


def _powers(rate: Fraction, farthest: int, bits: int) -> list[Enclosure]:
    """Enclose 2**bits exp(-rate k) for k = 0..farthest."""
    work = bits + _GUARD
    low, high = 1 << work, 1 << work
    factor = exp_negative(rate, work)
    powers = []
    for _ in range(farthest + 1):
        powers.append((low >> _GUARD, ceil_shift(high, _GUARD)))
        low, high = low * factor[0] >> work, ceil_shift(high * factor[1], work)
    return powers


def _tables(entries: Entries, powers: list[Enclosure], bits: int) -> list[Sums]:
    """Enclose, for each entry, the sums of the weights of its values from the largest down."""
    tables: list[Sums] = []
    one = 1 << bits
    previous = 0
    for true, least, most in zip(entries.true, entries.least, entries.most, strict=True):
        low, high = [], []
        for q in range(most, least - 1, -1):
            before = tables[-1].at(previous - q) if tables else (one, one)
            power = powers[abs(q - true)]
            low.append(power[0] * before[0] >> bits)
            high.append(ceil_shift(power[1] * before[1], bits))
        tables.append(Sums.of(low, high))
        previous = most
    return tables


def _weight(entries: Entries, tables: list[Sums], side: int, bits: int) -> Enclosure:
    """Enclose the sum over all choices of `side` entries, each at least `side`."""
    if side == 0:
        return 1 << bits, 1 << bits
    return tables[side - 1].at(entries.most[side - 1] - side)


def _entries(
    entries: Entries, tables: list[Sums], side: int, uniforms: Uniforms, first: int, bits: int
) -> list[int] | None:
    """Draw `side` entries, the last one first; entry i uses the uniform number `first` + i.

    Return None if the bits do not decide.
    """
    drawn, least = [0] * side, side
    for i in reversed(range(side)):
        end = entries.most[i] - max(least, entries.least[i])
        place = tables[i].place(end, uniforms.word(first + i, bits), bits)
        if place is None:
            return None
        drawn[i] = least = entries.most[i] - place
    return drawn
