"""Counting a curve's cells in consecutive blocks, each chosen from the noisy counts before it.

Nothing here sees data: the loop that does, in `mechanism.py`, asks `Scan` where the next
blocks end and tells it their noisy counts. Whatever this file does, blocks are consecutive and
functions of earlier noisy counts, and that is all the proof of privacy needs
(`docs/proofs/adaptive_scan.md`, Lemma 1). Floating point is fine for the same reason.

A curve is the heights of the diagram's columns, or the lengths of what is left of its rows;
position is the number of the column or row.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dphist.anonymized.adaptive_scan.roughness import Roughness
from dphist.anonymized.adaptive_scan.trend import Trend, clumps, trend
from dphist.anonymized.adaptive_scan.widths import best_width

# No scan goes farther: no count and no number of labels is larger.
FARTHEST = 2**62
# Widths are chosen anew after this part of the position: till then blocks are equally wide. It
# saves time, and the slope hardly changes.
_RUN = 0.03
# Columns end where a row is as good as a column: one column holds fewer ends of rows than this.
_CORNER_SLOPE = 0.8
# But not while the curve is so many times as high as the position is far: slopes seen through
# noise may be wrong, and as many rows would be left to count.
_CORNER_HEIGHT = 2


@dataclass(slots=True)
class Scan:
    """Noisy counts of consecutive blocks from position 0 on.

    Attributes
    ----------
    epsilon : parameter of the noise on each count.
    roughness : what kind of curve it is.
    ends : where blocks end, after a leading 0.
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
        """Whether another column is better than the rows that would remain."""
        if len(self.counts) < 3:
            return True
        here = self.trend()
        many_rows = here.height > _CORNER_HEIGHT * self.position
        return many_rows or (here.slope > _CORNER_SLOPE and here.height >= 1)

    def next_ends(self) -> list[int]:
        """Return where the next blocks end, one or a run of equally wide ones."""
        width = self.next_width()
        run = 1 + int(_RUN * self.position / width)
        return [self.position + width * (k + 1) for k in range(run)]

    def next_width(self) -> int:
        """Return the width with the least expected error per position."""
        if len(self.counts) < 4:
            return 1
        here = self.trend()
        clumpy = clumps(self.ends, self.counts, self.epsilon, self.roughness)
        rough = self.roughness(here.slope) * clumpy
        last = self.position - self.ends[-2]
        return best_width(self.epsilon, self.position, last, here, rough)
