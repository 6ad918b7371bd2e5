"""Counting a curve's cells in consecutive blocks, each chosen from the noisy counts before it.

Nothing here sees data: the loop that does, in `adaptive_scan.py`, asks `Scan` where the next
block ends and tells it the noisy count. Whatever this file does, blocks are consecutive and
functions of noisy counts, and that is all the proof of privacy needs
(`docs/proofs/adaptive_scan.md`, Lemma 1). Floating point is fine for the same reason.

A curve is the heights of the diagram's columns, or the lengths of what is left of its rows;
position is the number of the column or row.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

# No scan goes farther: no count and no number of labels is larger.
FARTHEST = 2**62
# E of the largest-to-mean deviation: sqrt(pi / 32), the mean of |Brownian bridge| over its length,
# in units of the standard deviation of its end. What steps of the curve cost inside a block.
_BRIDGE = math.sqrt(math.pi / 32)
# A curve c / x bends: a block of width t at x errs by about a tenth of slope t^2 / x.
_BEND = 0.1
# A block is at most so much of its position long, and at most so much longer than the last one:
# the curve ahead is not known to go on as it did.
_AHEAD, _AHEAD_MOST, _GROWTH = 0.05, 0.2, 2
# The slope is measured over as many blocks as it takes to tell it from noise by so many standard
# deviations, but not farther back than this part of the position.
_SIGNIFICANT, _LOOK_BACK = 5.0, 0.36


@dataclass(frozen=True, slots=True)
class Trend:
    """The curve where a scan has arrived: its height there, and how fast it falls."""

    height: float
    slope: float


@dataclass(slots=True)
class Scan:
    """Noisy counts of consecutive blocks from position 0 on.

    Attributes
    ----------
    epsilon : parameter of the noise on each count.
    wiggle : how far a curve that falls by `slope` a column strays from its line within a
        block of width t, in standard deviations; see `of_columns`, `of_rows`.
    ends : where blocks end, after a leading 0.
    counts : the noisy counts.
    """

    epsilon: float
    wiggle: Callable[[float, int], float]
    ends: list[int] = field(default_factory=lambda: [0])
    counts: list[int] = field(default_factory=list)
    _totals: list[int] = field(default_factory=lambda: [0])

    @property
    def position(self) -> int:
        """Where the next block begins."""
        return self.ends[-1]

    def take(self, end: int, count: int) -> None:
        """Record the noisy count of the block that ends at `end`."""
        self.ends.append(end)
        self.counts.append(count)
        self._totals.append(self._totals[-1] + count)

    def trend(self) -> Trend:
        """Estimate height and slope from the last blocks; at least two are needed."""
        ends, totals, blocks = self.ends, self._totals, len(self.counts)
        variance = 1 / (2 * math.sinh(min(self.epsilon, 700.0) / 2) ** 2)
        half = 1
        while True:
            near, far = ends[-1] - ends[-1 - half], ends[-1 - half] - ends[-1 - 2 * half]
            level = (totals[-1] - totals[-1 - half]) / near
            drop = (totals[-1 - half] - totals[-1 - 2 * half]) / far - level
            deviation = math.sqrt(variance * half * (1 / far**2 + 1 / near**2))
            told = drop > _SIGNIFICANT * deviation
            if told or 4 * half > blocks or near + far > _LOOK_BACK * ends[-1]:
                break
            half *= 2
        slope = max(drop, 0.0) / ((near + far) / 2)
        return Trend(max(level - slope * near / 2, level / 2), slope)

    def is_above_position(self) -> bool:
        """Whether the curve is higher than the position: left of the diagram's largest square."""
        return self.trend().height > self.position

    def next_width(self) -> int:
        """Return the width with the least expected error per column.

        A block costs the mean size of its noise, shared by its columns; and within it the curve
        is only known to fall from one end to the other.
        """
        if len(self.counts) < 4:
            return 1
        position, slope = self.position, self.trend().slope
        last = position - self.ends[-2]
        noise = 1 / math.sinh(min(self.epsilon, 700.0))
        ahead = min(max(_AHEAD * (2 / self.epsilon - 1), 0.0), _AHEAD_MOST)
        widest = min(int(1 + ahead * position), _GROWTH * last)
        best, best_cost = 1, noise
        width = 1
        # Widths one by one, and then in steps of a part of them.
        while (width := width + 1 + width // 64) <= widest:
            inside = _BRIDGE * self.wiggle(slope, width) + _BEND * slope * width**2 / position
            cost = noise / width + (1 - 1 / width) * inside
            if cost > 1.1 * best_cost:
                break
            if cost < best_cost:
                best, best_cost = width, cost
        return best


def of_columns(slope: float, width: int) -> float:
    """Columns fall by the labels that end there: independent, so by a sum of 0s and 1s."""
    return math.sqrt(slope * width)


def of_rows(slope: float, width: int) -> float:
    """Rows fall by gaps between counts, whose deviation is about their mean."""
    return slope * math.sqrt(width)
