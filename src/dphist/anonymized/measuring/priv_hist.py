"""Measuring of `PrivHist`: a noisy total, then columns and rows, or blocks (Suresh 2019)."""

from fractions import Fraction

import numpy as np

from dphist.anonymized.mechanism import GeometricMechanism
from dphist.anonymized.priv_hist import regions
from dphist.anonymized.size import check_size
from dphist.arrays import IntArray
from dphist.data import tiling
from dphist.data.profile import Profile
from dphist.noise import Source, two_sided_geometric

Shares = tuple[Fraction, Fraction, Fraction]

# Above this epsilon a cell the published algorithm never smooths.
_HIGH_PRIVACY = 1
# The default weights, and the epsilon a cell up to which smoothing has the lower error: see
# `docs/understand/proofs/priv_hist.md` and the table in `docs/understand/lab-notes`.
_SMOOTHED = (Fraction(1), Fraction(2), Fraction(37))
_NOT_SMOOTHED = (Fraction(1), Fraction(39), Fraction(0))
_SMOOTHING_HELPS = Fraction(1, 10)
_PER_COLUMN = 8  # blocks, or less, for each column up to T


class PrivHistMeasuring(GeometricMechanism):
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
