"""Sampling a partition with probability proportional to exp(-rate * distance), over floats.

A diagram is split at its Durfee square, the largest square in it, of side s: the rows
1..s right of and in the square, and the columns 1..s below and in it, are two
non-increasing sequences with entries >= s, and given s they are independent. So a
partition takes 2 s draws, however many labels it has.

For each half, `forward[i](q)` is the weight of all ways to choose entries 1..i with the
i-th equal to q. Entries are drawn from the s-th to the first, each from those not below
the one before (backward sampling). Weights differ by factors that no float64 can hold, so
their logarithms are kept, summed from the largest q on. Each half takes time and memory in
the number of cells of its windows.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dphist.anonymized.partition_windows import (
    RowWindows,
    Windows,
    beyond_corner,
    missing_in_square,
)
from dphist.noise.inversion import Source
from dphist.profile import Profile

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Half:
    """One half of the diagrams: non-increasing sequences, entry by entry.

    Attributes
    ----------
    most : (k,) int64; the largest value of each entry.
    sums : k arrays; `sums[i][j]` is the logarithm of the weight of all choices of entries
        1..i+1 with the last at least `most[i] - j`, less `scales[i]`.
    scales : (k,) float64; so that every array ends with 0.
    """

    most: IntArray
    sums: list[FloatArray]
    scales: FloatArray

    @classmethod
    def over(cls, windows: RowWindows, least: IntArray, rate: float) -> "Half":
        """Sum up the weights of all sequences with entries from `least` to `windows.most`."""
        sums: list[FloatArray] = []
        scales = np.zeros(len(least))
        scale = 0.0
        for i, (true, low, most) in enumerate(zip(windows.true, least, windows.most, strict=True)):
            log_weights = -rate * np.abs(np.arange(most, low - 1, -1) - true)
            if i > 0:
                # The entry before is at least as large; below its window, all of it is.
                earlier = sums[-1][windows.most[i - 1] - most :]
                shared = min(len(earlier), len(log_weights))
                log_weights[:shared] += earlier[:shared]
            running: FloatArray = np.logaddexp.accumulate(log_weights)
            scale += float(running[-1])
            running -= running[-1]
            sums.append(running)
            scales[i] = scale
        return cls(windows.most, sums, scales)

    def log_weight(self, entries: int) -> float:
        """Logarithm of the weight of all choices of `entries` entries, all at least that."""
        if entries == 0:
            return 0.0
        i = entries - 1
        return float(self.sums[i][self._index(i, entries)] + self.scales[i])

    def draw(self, entries: int, log_uniforms: FloatArray) -> IntArray:
        """Draw `entries` entries, all at least that, from logarithms of uniform numbers."""
        drawn = np.zeros(entries, np.int64)
        least = entries
        for i in reversed(range(entries)):
            sums = self.sums[i]
            end = self._index(i, least)
            j = int(np.searchsorted(sums[: end + 1], sums[end] + log_uniforms[i]))
            least = drawn[i] = self.most[i] - min(j, end)
        return drawn

    def _index(self, i: int, least: int) -> int:
        """Where the sum of entry i + 1 over values from `least` on stands."""
        return min(int(self.most[i]) - least, len(self.sums[i]) - 1)


@dataclass(frozen=True, slots=True)
class Paths:
    """All partitions in the windows around one diagram, ready to draw from."""

    smallest: int
    rows: Half
    columns: Half
    side_weights: FloatArray  # logarithms, for sides from `smallest` on

    @classmethod
    def within(cls, windows: Windows, profile: Profile, rate: float) -> "Paths":
        """Sum up the weights of all partitions in the windows."""
        smallest, largest = windows.smallest, windows.largest
        # An entry is used only with sides from its own place on.
        places = np.maximum(np.arange(1, largest + 1), smallest)

        def half(entries: RowWindows) -> Half:
            return Half.over(entries, np.maximum(entries.least, places), rate)

        rows, columns = half(windows.rows), half(windows.columns)
        sides = np.arange(smallest, largest + 1)
        both = np.array([rows.log_weight(s) + columns.log_weight(s) for s in sides.tolist()])
        # Both halves count the square's missing cells; neither counts those beyond it.
        conjugate = profile.conjugate()
        twice = missing_in_square(profile, conjugate, sides) - beyond_corner(
            profile, conjugate, sides
        )
        return cls(smallest, rows, columns, both + rate * twice)

    def log_weight(self) -> float:
        """Logarithm of the sum of exp(-rate * distance) over the partitions in the windows."""
        return float(np.logaddexp.reduce(self.side_weights))

    def draw(self, source: Source) -> tuple[IntArray, IntArray]:
        """Draw a partition: its first s rows, and its first s columns below them."""
        running = np.logaddexp.accumulate(self.side_weights)
        chosen = np.searchsorted(running, running[-1] + log_uniforms(source, 1)[0])
        side = self.smallest + min(int(chosen), len(running) - 1)
        uniforms = log_uniforms(source, 2 * side)
        rows = self.rows.draw(side, uniforms[:side])
        columns = self.columns.draw(side, uniforms[side:])
        return rows, columns - side


def log_uniforms(source: Source, size: int) -> FloatArray:
    """Return logarithms of uniform numbers in (0, 1), from 64 bits each."""
    words = np.frombuffer(source(8 * size), np.uint64)
    logarithms: FloatArray = np.log((words + 0.5) * 2.0**-64)
    return logarithms
