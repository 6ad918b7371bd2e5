"""Measuring of `AutoThreshold`: a look, a cut of each user to the cap, and noisy counts."""

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pyarrow as pa

from dphist.arrays import IntArray
from dphist.counting.bounding.held_pairs import count_users
from dphist.counting.bounding.stores import Sets
from dphist.data.clamp import Clamp
from dphist.data.label_counts import LabelCounts
from dphist.errors import Argument, BoundsError, DataError, ParameterError
from dphist.labels.auto.law import TOPS, Division, change_of_sum, list_caps, list_cells
from dphist.labels.measuring import LabelsMeasuring, sort_released
from dphist.labels.threshold.law import gaussian_threshold
from dphist.labels.threshold.measuring import NAME, Summing
from dphist.labels.threshold.noise import AboveThreshold, GaussianNoise, noisy_sum
from dphist.labels.threshold.sums import Sums, check_sums
from dphist.noise import Source, rounded_gaussian
from dphist.privacy import ApproxZCDP
from dphist.release.label_table import LabelTable

SUMS, CAP = "largest_counts", "max_labels"
"""The keys of `Release.noisy` beside that of users: sums of the largest counts, and the cap."""

LARGEST_COUNT = 1 << 36
"""Larger counts of users with one label are clamped to this; no difference grows by that."""


class AutoMeasuring(LabelsMeasuring):
    """What sees the data: `docs/understand/proofs/auto_threshold.md`."""

    __slots__ = ()

    delta: Fraction
    max_labels: int
    look: Fraction
    sums: tuple[tuple[str, Clamp], ...] | None
    sums_share: Fraction

    @property
    def guarantee(self) -> ApproxZCDP:
        """What a release costs in all: `docs/understand/proofs/auto_threshold.md`."""
        return ApproxZCDP(self.epsilon**2 / 2, self.delta, self._unit)

    @property
    def noise_scale(self) -> Fraction:
        """Standard deviation of the noise of a count at a cap of 1; it grows with its root."""
        return self.division.count_scale(1)

    @property
    def division(self) -> Division:
        """How the budget is divided."""
        return Division(self.epsilon, self.look, self.sums_share if self.sums else Fraction(0))

    @property
    def caps(self) -> tuple[int, ...]:
        """The caps among which one is chosen: public."""
        return list_caps(self.max_labels)

    @property
    def _changes_of_sums(self) -> list[int]:
        """By how much one user changes each sum of largest counts at most."""
        return [change_of_sum(top, self.max_labels) for top in TOPS]

    def _sums_at(self, cap: int) -> Sums | None:
        """Return the sums beside the counts at a cap; None if there are none."""
        if not self.sums:
            return None
        epsilon = 1 / self.division.count_scale(cap)
        return Sums(self.sums, self.sums_share, True, epsilon, cap, counts_users=True)

    @abstractmethod
    def choose(self, users: IntArray, sums: IntArray) -> int:
        """Return the cap for noisy numbers; a function of these and of parameters alone."""

    def _threshold_at(self, cap: int) -> Fraction:
        """Return the threshold at a cap, records."""
        return gaussian_threshold(self.division.count_scale(cap), self.delta, cap, 1)

    def _measure(
        self, counts: LabelCounts, source: Source | None
    ) -> tuple[LabelTable, Mapping[str, IntArray]]:
        sets = counts.sets
        assert sets is not None  # noqa: S101 - see `_accept`
        try:
            users, sums = self._look_at(sets, source)
            cap = self.choose(users, sums)
            noise = GaussianNoise(self.division.count_scale(cap))
            above = AboveThreshold(noise, self._threshold_at(cap), source)
            summed = self._sums_at(cap)
            if summed is None:
                released = sort_released(pa.Table.from_batches([above(count_cut(sets, cap))]))
            else:
                keep = Summing(above, tuple(summed.noises))
                found = keep(count_cut(sets, cap, summed=True))
                released = sort_released(pa.Table.from_batches([found]), summed.names)
            return released, {NAME: users, SUMS: sums, CAP: np.array([cap])}
        except MemoryError:  # NumPy's message says how many pairs there are
            pass
        raise DataError(
            "not enough memory to look at who has which label: lower "
            + Argument("max_labels")
            + "; nothing was released"
        )

    def _look_at(self, sets: Sets, source: Source | None) -> tuple[IntArray, IntArray]:
        """Return noisy numbers of users by number of labels, and noisy sums of largest counts."""
        users = count_users_of_sets(sets, list_cells(self.max_labels))
        noisy = noisy_sum(users, rounded_gaussian(self.division.users_scale, len(users), source))
        sums = [
            noisy_sum(exact, rounded_gaussian(self.division.sum_scale(change), 1, source))
            for exact, change in zip(
                sum_largest(sets).reshape(-1, 1), self._changes_of_sums, strict=True
            )
        ]
        return noisy, np.concatenate(sums)

    def _draw(self, counts: LabelCounts, source: Source | None) -> LabelTable:
        return self._measure(counts, source)[0]

    def _accept(self, table: object) -> LabelCounts:
        counts = LabelsMeasuring._accept(self, table)
        if counts.sets is None:
            raise ParameterError(
                "data",
                "must say who has which label",
                "make them with LabelCounts.from_table(..., user=..., keep_sets=True)",
            )
        if counts.max_labels != self.max_labels:
            own = Argument("max_labels", self.max_labels)
            raise BoundsError(
                "the mechanism counts users by up to "
                + own
                + ", so it needs data with the same bound: users who were cut to fewer are not seen"
            )
        check_sums(counts, self.sums, 1)
        return counts


def count_users_of_sets(sets: Sets, cells: tuple[int, ...]) -> IntArray:
    """Return how many users have a number of labels in each cell.

    Parameters
    ----------
    cells : (j,) where cells start, from 1 on; the last has all larger numbers.
    """
    held = np.diff(sets.starts)
    users = count_users(held[held > 0], np.array(cells))
    users[0] += np.minimum(sets.singles, LARGEST_COUNT).sum()
    return users


def sum_largest(sets: Sets) -> IntArray:
    """Return the sums of the `TOPS` largest counts, before any cut to a cap."""
    ordered = np.sort(_count(sets, sets.members))[::-1]
    return np.array([ordered[:top].sum() for top in TOPS], np.int64)


def count_cut(sets: Sets, cap: int, *, summed: bool = False) -> pa.RecordBatch:
    """Cut each user to `cap` labels, chosen uniformly at random, and count the labels that occur.

    The choice depends only on the user's own labels and on the key of the counts: a user keeps the
    labels that `cap` would have kept from the start.

    Returns
    -------
    columns label and count (int64, at least 1); if `summed`, also the sums over the same pairs
    """
    kept = sets.places <= cap
    counts = _count(sets, sets.members[kept])
    columns = {"label": sets.labels, "count": pa.array(counts, pa.int64())}
    batch = pa.record_batch(columns | (sets.sum_totals(kept) if summed else {}))
    return batch.filter(pa.array(counts > 0))


def _count(sets: Sets, members: IntArray) -> IntArray:
    """Return the count of each label, users of this label alone included."""
    alone = np.minimum(sets.singles, LARGEST_COUNT)
    found: IntArray = np.bincount(members, minlength=len(sets.labels)).astype(np.int64) + alone
    return found
