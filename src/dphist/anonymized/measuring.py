"""The measuring halves of mechanisms: they see a profile, divide the budget, and draw noise."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple, final

import numpy as np

from dphist.anonymized.adaptive_scan.decoding import rows_expected
from dphist.anonymized.adaptive_scan.scan import FARTHEST, Scan
from dphist.anonymized.adaptive_scan.trend import of_columns, of_rows
from dphist.anonymized.cells import CellMeasuring
from dphist.anonymized.priv_hist import regions
from dphist.arrays import IntArray
from dphist.data import tiling
from dphist.data.guard import refuse_guarded
from dphist.data.profile import Profile
from dphist.errors import Argument, BoundsError, ParameterError, SizeError
from dphist.mechanism import provenance_of_unit
from dphist.noise import Source, two_sided_geometric
from dphist.noise.magnitude import geometric_upper_bound
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.release import Release
from dphist.release.tabular import refuse_released


class Drawn(NamedTuple):
    """What a mechanism drew and inferred: the parts of its release.

    Attributes
    ----------
    value : the released histogram.
    total : a private estimate of the number of records, or None if nothing estimates it apart.
    noisy : the noisy counts that `value` was inferred from, where they are kept.
    """

    value: AnonymizedHistogram
    total: int | None = None
    noisy: Mapping[str, IntArray] | None = None


class AnonymizedMeasuring(CellMeasuring):
    """What every measuring half shares: which data are accepted, and the release."""

    __slots__ = ()

    @final
    def release(self, profile: Profile, source: Source | None = None) -> Release:
        """Release the profile: the only place that sees data and draws noise.

        Parameters
        ----------
        profile : the data.
        source : callable, optional
            `source(n)` returns n random bytes. For tests only: the release says so.

        Returns
        -------
        Release
            Of an AnonymizedHistogram, with `total` and `noisy` where the mechanism makes and keeps
            them.

        Raises
        ------
        BoundsError
            If the profile was made with a larger `sensitivity` than this mechanism protects.
        """
        self._accept(profile)
        drawn = self._draw(profile, source)
        return self._make_release(
            drawn.value,
            profile,
            source,
            total=drawn.total,
            noisy=drawn.noisy,
            provenance=provenance_of_unit(profile),
        )

    @abstractmethod
    def _draw(self, profile: Profile, source: Source | None) -> Drawn:
        """Draw noise for an accepted profile, and infer what is released."""

    def _accept(self, profile: Profile) -> None:
        """Refuse data whose stated bound this mechanism does not protect; both are public."""
        if check_profile(profile).sensitivity > self.sensitivity:
            raise BoundsError(
                f"the profile was made with sensitivity {profile.sensitivity}, more than the "
                f"mechanism's {self.sensitivity}; give the mechanism "
                + Argument("sensitivity", profile.sensitivity)
            )


def check_profile(profile: Profile) -> Profile:
    """Refuse anything but a profile."""
    refuse_guarded(profile)
    refuse_released(profile, "profile")
    if not isinstance(profile, Profile):
        raise ParameterError("profile", "must be a dphist.Profile; see Profile.from_table")
    return profile


MOST_COUNTS = 2**25
"""Maximum number of rows, and of columns: arrays of this length take some gigabytes."""


def check_size(noisy: int) -> None:
    """Refuse a number of counts that is a function of public and noisy numbers alone.

    That a release is refused is then part of what the guarantee covers, like the private estimate
    itself. What it has cost is spent.

    Raises
    ------
    SizeError
        If it is larger than `MOST_COUNTS`.
    """
    if noisy > MOST_COUNTS:
        raise SizeError(
            "by a private estimate there are too many records for this mechanism: use "
            "AdaptiveScan, which takes any number; this release has cost its epsilon all the same"
        )


class SortedCountsMeasuring(AnonymizedMeasuring):
    """What sees the data: `docs/understand/proofs/sorted_counts.md`."""

    __slots__ = ()

    labels: int

    @property
    def _rates(self) -> tuple[Fraction, ...]:
        return (self.cell_epsilon,)

    def measure(self, profile: Profile, source: Source | None = None) -> IntArray:
        """Return the noisy sorted counts, (labels,) int64, before inference.

        They satisfy the guarantee themselves; releasing them and `release` pays twice.
        """
        self._accept(profile)
        true = tiling.first_rows(profile, self.labels)
        return true + two_sided_geometric(self.cell_epsilon, self.labels, source)


class CumulativeCountsMeasuring(AnonymizedMeasuring):
    """What sees the data: `docs/understand/proofs/cumulative_counts.md`."""

    __slots__ = ()

    largest: int

    @property
    def _rates(self) -> tuple[Fraction, ...]:
        return (self.cell_epsilon,)

    def measure(self, profile: Profile, source: Source | None = None) -> IntArray:
        """Return the noisy cumulative prevalences, (largest,) int64, before inference.

        They satisfy the guarantee themselves; releasing them and `release` pays twice.
        """
        self._accept(profile)
        true = tiling.columns_below(profile, 0, self.largest)
        return true + two_sided_geometric(self.cell_epsilon, self.largest, source)


# Share of epsilon spent on the total when none is public. A larger one costs error
# everywhere, a smaller one widens the regions for small data at small epsilon; 1/40 lies
# where the benchmark hardly tells shares apart (`docs/understand/benchmarks.md`).
TOTAL_SHARE = Fraction(1, 40)
# Probability that the estimated total, with its margin, is below the true one.
MISSED = 1e-3


class RankSplitMeasuring(AnonymizedMeasuring):
    """What sees the data: `docs/understand/proofs/rank_split.md`."""

    __slots__ = ()

    total: int | None

    @property
    def _total_epsilon(self) -> Fraction:
        """Epsilon spent on the total."""
        return self.epsilon * TOTAL_SHARE if self.total is None else Fraction(0)

    @property
    def cell_epsilon(self) -> Fraction:
        """Parameter of the geometric noise on each row and column."""
        return (self.epsilon - self._total_epsilon) / self.sensitivity

    @property
    def _rates(self) -> tuple[Fraction, ...]:
        total = () if self.total is not None else (self._total_epsilon / self.sensitivity,)
        return (*total, self.cell_epsilon)

    def _measure(self, profile: Profile, source: Source | None) -> tuple[int, dict[str, IntArray]]:
        """Return the public or noisy total, and noisy rows and columns."""
        noisy_total = self._measure_total(profile, source)
        size = self._size(noisy_total)
        check_size(size)
        rows = tiling.first_rows(profile, size)
        columns = tiling.columns_below(profile, size, size)
        noise = two_sided_geometric(self.cell_epsilon, 2 * size, source)
        noisy = {"rows": rows + noise[:size], "columns": columns + noise[size:]}
        return noisy_total, noisy

    def _measure_total(self, profile: Profile, source: Source | None) -> int:
        if self.total is not None:
            return self.total
        noise = two_sided_geometric(self._total_epsilon / self.sensitivity, 1, source)
        return profile.total + int(noise[0])

    def _size(self, noisy_total: int) -> int:
        """Return k, of rows and of columns: a function of public and noisy numbers alone."""
        margin = 0
        if self.total is None:
            margin = geometric_upper_bound(self._total_epsilon / self.sensitivity, MISSED)
        bound = max(noisy_total, 0) + margin
        return math.isqrt(bound - 1) + 1 if bound > 0 else 0


Shares = tuple[Fraction, Fraction, Fraction]

# Above this epsilon a cell the published algorithm never smooths.
_HIGH_PRIVACY = 1
# The default weights, and the epsilon a cell up to which smoothing has the lower error: see
# `docs/understand/proofs/priv_hist.md` and the table in `docs/understand/benchmarks.md`.
_SMOOTHED = (Fraction(1), Fraction(2), Fraction(37))
_NOT_SMOOTHED = (Fraction(1), Fraction(39), Fraction(0))
_SMOOTHING_HELPS = Fraction(1, 10)
_PER_COLUMN = 8  # blocks, or less, for each column up to T


class PrivHistMeasuring(AnonymizedMeasuring):
    """What sees the data: `docs/understand/proofs/priv_hist.md`."""

    __slots__ = ()

    shares: Shares | None

    @property
    def _weights(self) -> Shares:
        if self.shares is not None:
            return self.shares
        helps = self.epsilon / self.sensitivity <= _SMOOTHING_HELPS
        return _SMOOTHED if helps else _NOT_SMOOTHED

    def _part(self, i: int) -> Fraction:
        return self.epsilon * self._weights[i] / sum(self._weights) / self.sensitivity

    @property
    def total_epsilon(self) -> Fraction:
        """Parameter of the geometric noise on the total: the paper's epsilon 1."""
        return self._part(0)

    @property
    def split_epsilon(self) -> Fraction:
        """Parameter of the noise on columns up to T and rows beyond: the paper's epsilon 2."""
        return self._part(1)

    @property
    def block_epsilon(self) -> Fraction | None:
        """Parameter of the noise on smoothed blocks, epsilon 3; None if nothing is smoothed."""
        smoothed = self.epsilon / self.sensitivity <= _HIGH_PRIVACY and self._weights[2] > 0
        return self._part(2) if smoothed else None

    @property
    def cell_epsilon(self) -> Fraction:
        """Parameter of the geometric noise on the numbers the histogram is inferred from."""
        return self.block_epsilon or self.split_epsilon

    @property
    def _rates(self) -> tuple[Fraction, ...]:
        parts = self.total_epsilon, self.split_epsilon, self.block_epsilon
        return tuple(each for each in parts if each)

    def _measure(self, profile: Profile, source: Source | None) -> dict[str, IntArray]:
        """Return the noisy total, 0 or more, and noisy counts."""
        noise = two_sided_geometric(self.total_epsilon, 1, source)
        total = max(profile.total + int(noise[0]), 0)
        noisy = {"total": np.array([total], np.int64)}
        if total > 0 and self.block_epsilon is None:
            noisy |= self._measure_split(profile, total, source)
        elif total > 0 and self.block_epsilon is not None:
            noisy |= self._measure_blocks(profile, total, self.block_epsilon, source)
        return noisy

    def _measure_split(
        self, profile: Profile, total: int, source: Source | None
    ) -> dict[str, IntArray]:
        """Return noisy columns up to T and noisy rows beyond it (steps 2 to 4).

        The cells of columns up to T, those of column T + 1, and those further right in
        the first rows are three disjoint regions once the noisy number of labels above T is
        known (`docs/understand/proofs/priv_hist.md`, Lemma 2). That number, and not the true one,
        says how many rows there are and how many fake counts are on either side of T.
        """
        epsilon = self.split_epsilon
        start, fakes = self._start(total), self._fakes(total)
        check_size(start)
        above = profile.cumulative_prevalences([start + 1]) + two_sided_geometric(
            epsilon, 1, source
        )
        check_size(int(above[0]) + fakes)
        moved = int(above[0]) - fakes
        columns = np.maximum(tiling.columns_below(profile, 0, start) - moved, 0)
        rows = tiling.rows_beyond(profile, max(int(above[0]) + fakes, 0), start + 1)
        noise = two_sided_geometric(epsilon, start + len(rows), source)
        return {"above": above, "columns": columns + noise[:start], "rows": rows + noise[start:]}

    def _measure_blocks(
        self, profile: Profile, total: int, epsilon: Fraction, source: Source | None
    ) -> dict[str, IntArray]:
        """Return noisy numbers of cells in blocks of columns, and where they end (step 6)."""
        check_size(_PER_COLUMN * self._start(total))
        noisy_counts = np.zeros(0, np.int64)
        # Where no noisy count can become a boundary, none is measured.
        if regions.first_own_boundary(total, float(epsilon)) <= regions.last_boundary(total):
            noisy_counts = self._measure_split(profile, total, source)["rows"]
        ends = regions.boundaries(total, self._start(total), float(epsilon), noisy_counts)
        cells = profile.block_sums(np.append(0, ends))
        return {"ends": ends, "cells": cells + two_sided_geometric(epsilon, len(ends), source)}

    def _start(self, total: int) -> int:
        return regions.threshold(total, float(self.epsilon / self.sensitivity))

    def _fakes(self, total: int) -> int:
        return regions.fake_counts(total, float(self.split_epsilon))


_DRAWS_AT_ONCE = 1024


class AdaptiveScanMeasuring(AnonymizedMeasuring):
    """What sees the data: `docs/understand/proofs/adaptive_scan.md`."""

    __slots__ = ()

    @property
    def _rates(self) -> tuple[Fraction, ...]:
        return (self.cell_epsilon,)

    def _measure(self, profile: Profile, source: Source | None) -> dict[str, IntArray]:
        """Return where blocks end, and their noisy numbers of cells."""
        return scan_profile(self, profile, draw_noise(self, source))

    def _scan_columns(self, cells_up_to: Callable[[Any], IntArray], noise: Iterator[int]) -> Scan:
        """Count blocks of columns until rows are the better way on."""
        scan = Scan(float(self.cell_epsilon), of_columns)
        while scan.is_before_corner():
            _count_next(scan, scan.next_ends(), cells_up_to, noise)
        return scan

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


def scan_profile(
    mechanism: AdaptiveScanMeasuring, profile: Profile, noise: Iterator[int]
) -> dict[str, IntArray]:
    """Return where blocks end, and their noisy numbers: with noise that no other scan gets."""
    columns = mechanism._scan_columns(profile.cells_up_to, noise)
    beyond = _take_right(profile, columns.position).conjugate()
    rows = mechanism._scan_rows(beyond.cells_up_to, noise, rows_expected(columns))
    return {
        "column_ends": np.array(columns.ends, np.int64),
        "columns": np.array(columns.counts, np.int64),
        "row_ends": np.array(rows.ends, np.int64),
        "rows": np.array(rows.counts, np.int64),
    }


def draw_noise(
    mechanism: AdaptiveScanMeasuring, source: Source | None, at_once: int | None = None
) -> Iterator[int]:
    """Yield independent noise, one for each block; up to `at_once` - 1 draws are not used."""
    size = _DRAWS_AT_ONCE if at_once is None else at_once
    while True:
        yield from two_sided_geometric(mechanism.cell_epsilon, size, source).tolist()


def _count_next(
    scan: Scan, ends: list[int], cells_up_to: Callable[[Any], IntArray], noise: Iterator[int]
) -> None:
    """Count the cells of the next blocks, each with noise of its own."""
    cells = np.diff(cells_up_to([scan.position, *ends])).tolist()
    scan.take(ends, [true + next(noise) for true in cells])


def _take_right(profile: Profile, column: int) -> Profile:
    """Return the part of the diagram right of a column, as a diagram."""
    longer = profile.counts > column
    return Profile(profile.counts[longer] - column, profile.prevalences[longer])
