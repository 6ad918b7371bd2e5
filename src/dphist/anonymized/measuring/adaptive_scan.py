"""Measuring of `AdaptiveScan`: blocks of columns, then blocks of rows, chosen from noisy counts."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dphist.anonymized.adaptive_scan.decoding import kept_heights
from dphist.anonymized.adaptive_scan.roughness import of_columns, of_rows
from dphist.anonymized.adaptive_scan.scan import FARTHEST, Scan
from dphist.anonymized.mechanism import GeometricMechanism
from dphist.arrays import IntArray
from dphist.data.profile import Profile
from dphist.noise import Source, two_sided_geometric

_DRAWS_AT_ONCE = 1024


class AdaptiveScanMeasuring(GeometricMechanism):
    """What sees the data: `docs/understand/proofs/adaptive_scan.md`."""

    __slots__ = ()

    def _measure(self, profile: Profile, source: Source | None) -> dict[str, IntArray]:
        """Return where blocks end, and their noisy numbers of cells."""
        noise = self._draws(source)
        columns = self._scan_columns(profile.cells_up_to, noise)
        beyond = _right_of(profile, columns.position).conjugate()
        rows = self._scan_rows(beyond.cells_up_to, noise, self._rows_expected(columns))
        return {
            "column_ends": np.array(columns.ends, np.int64),
            "columns": np.array(columns.counts, np.int64),
            "row_ends": np.array(rows.ends, np.int64),
            "rows": np.array(rows.counts, np.int64),
        }

    def _draws(self, source: Source | None) -> Iterator[int]:
        """Independent noise, one for each block."""
        while True:
            yield from two_sided_geometric(self.cell_epsilon, _DRAWS_AT_ONCE, source).tolist()

    def _scan_columns(self, cells_up_to: Callable[[Any], IntArray], noise: Iterator[int]) -> Scan:
        """Count blocks of columns until rows are the better way on."""
        scan = Scan(float(self.cell_epsilon), of_columns)
        while scan.is_before_corner():
            _count_next(scan, scan.next_ends(), cells_up_to, noise)
        return scan

    def _rows_expected(self, columns: Scan) -> int:
        """Return about how many rows reach beyond the last column, by noisy counts.

        Where a tail was cut, that is a guess from a column far left of it, and too many. But a
        trend is at least half of the height before it, so that the scan of columns would have
        gone on if there were more than four times as many as columns.
        """
        ends, counts = np.array(columns.ends), np.array(columns.counts)
        heights = kept_heights(ends, counts, columns.epsilon, of_columns)
        last = round(heights[-1]) if len(heights) else 0
        return max(1, min(last, 4 * columns.position))

    def _scan_rows(
        self, cells_up_to: Callable[[Any], IntArray], noise: Iterator[int], expected: int
    ) -> Scan:
        """Count blocks of rows up to `expected`, then blocks that double, to lose nothing."""
        scan = Scan(float(self.cell_epsilon), of_rows)
        while scan.position < expected:
            ends = [end for end in scan.next_ends() if end < expected] or [expected]
            _count_next(scan, ends, cells_up_to, noise)
        while scan.position < FARTHEST:
            width = max(2, 2 * (scan.position - scan.ends[-2]))
            _count_next(scan, [min(scan.position + width, FARTHEST)], cells_up_to, noise)
        return scan


def _count_next(
    scan: Scan, ends: list[int], cells_up_to: Callable[[Any], IntArray], noise: Iterator[int]
) -> None:
    """Count the cells of the next blocks, each with noise of its own."""
    cells = np.diff(cells_up_to([scan.position, *ends])).tolist()
    scan.take(ends, [true + next(noise) for true in cells])


def _right_of(profile: Profile, column: int) -> Profile:
    """Return the part of the diagram right of a column, as a diagram."""
    longer = profile.counts > column
    return Profile(profile.counts[longer] - column, profile.prevalences[longer])
