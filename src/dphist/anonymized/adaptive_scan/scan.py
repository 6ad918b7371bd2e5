"""Consecutive blocks of a curve, each chosen from the noisy counts before it.

Nothing here sees data. The loop in `mechanism.py` asks `Scan` where the next blocks end and passes
their noisy counts to it. The proof of privacy needs only that blocks are consecutive and functions
of earlier noisy counts (`docs/understand/proofs/adaptive_scan.md`, Lemma 1), so floating point is
safe.

A curve is the heights of the diagram's columns, or the remaining lengths of its rows; a position
is the number of the column or row.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from dphist.anonymized.adaptive_scan.trend import (
    Roughness,
    Trend,
    best_width,
    clumps,
    noise_variance,
    trend,
)

# The end of every scan: no count and no number of labels is larger.
FARTHEST = 2**62
# Blocks have equal widths over this share of the position, then a new width is chosen. This saves
# time, and the slope hardly changes.
_RUN = 0.03
# Columns end where rows are as good: where the slope per column is below this.
_CORNER_SLOPE = 0.8
# But not while the height exceeds this multiple of the position: noisy slopes may be wrong, and a
# row would remain for each unit of height.
_CORNER_HEIGHT = 2


@dataclass(slots=True)
class Scan:
    """Noisy counts of consecutive blocks, starting at position 0.

    Attributes
    ----------
    epsilon : parameter of the noise on each count.
    roughness : the kind of curve.
    ends : ends of blocks, preceded by a 0.
    counts : the noisy counts.
    """

    epsilon: float
    roughness: Roughness
    ends: list[int] = field(default_factory=lambda: [0])
    counts: list[int] = field(default_factory=list)
    _totals: list[int] = field(default_factory=lambda: [0])

    @property
    def position(self) -> int:
        """Where the next block begins."""
        return self.ends[-1]

    def take(self, ends: Sequence[int], counts: Sequence[int]) -> None:
        """Record the noisy counts of the blocks that end at `ends`."""
        self.ends.extend(ends)
        self.counts.extend(counts)
        for count in counts:
            self._totals.append(self._totals[-1] + count)

    def trend(self) -> Trend:
        """Estimate height and slope from the last blocks; at least two are needed."""
        return trend(self.ends, self._totals, self.epsilon)

    def is_before_corner(self) -> bool:
        """Whether counting another column is better than counting the remaining rows."""
        if len(self.counts) < 3:
            return True
        if _favors_columns(self.position, self.trend()):
            return True
        noise = math.sqrt(noise_variance(self.epsilon)) / (self.position - self.ends[-2])
        if noise <= _CORNER_HEIGHT * self.position:
            return False
        # A single block with noise far below zero looks like the end of all columns, and rows from
        # there on cost several times the error. So the block before must agree.
        if len(self.counts) < 4:
            return True
        before = trend(self.ends[:-1], self._totals[:-1], self.epsilon)
        return _favors_columns(self.ends[-2], before)

    def next_ends(self) -> list[int]:
        """Return the ends of the next blocks: one block, or several of equal width."""
        width = self.next_width()
        run = 1 + int(_RUN * self.position / width)
        return [self.position + width * (k + 1) for k in range(run)]

    def next_width(self) -> int:
        """Return the width with the minimum expected error per position."""
        if len(self.counts) < 4:
            return 1
        here = self.trend()
        clumpy = clumps(self.ends, self.counts, self.epsilon, self.roughness)
        rough = self.roughness(here.slope) * clumpy
        last = self.position - self.ends[-2]
        return best_width(self.epsilon, self.position, last, here, rough)


def _favors_columns(position: int, here: Trend) -> bool:
    """Whether columns are better than rows where a curve goes on like this."""
    many_rows = here.height > _CORNER_HEIGHT * position
    return many_rows or (here.slope > _CORNER_SLOPE and here.height >= 1)
