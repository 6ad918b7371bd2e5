"""Measuring of `ThresholdHistogram`: noise on each count, and which are above the threshold."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from dphist.arrays import IntArray
from dphist.data.clamp import Clamp
from dphist.data.label_counts import LabelCounts
from dphist.data.listed_counts import look_up
from dphist.data.other_than import OTHER
from dphist.data.weight import count_steps
from dphist.errors import Argument, BoundsError, ParameterError
from dphist.labels.measuring import LabelsMeasuring, sort_released
from dphist.labels.threshold.bounded_noise import OptimalNoise, TruncatedNoise
from dphist.labels.threshold.correlation import (
    CorrelatedNoise,
    Correlation,
    best_correlation,
)
from dphist.labels.threshold.cost import ThresholdCost
from dphist.labels.threshold.law import (
    delta_of_one,
    gaussian_threshold,
    geometric_threshold,
    truncated_limit,
)
from dphist.labels.threshold.noise import AboveThreshold, GaussianNoise, GeometricNoise
from dphist.labels.threshold.sums import SumNoise, Sums, check_sums, check_totals
from dphist.noise.inversion import Source
from dphist.parameters import Exact, probability, whole_number
from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, PureDP
from dphist.privacy.losses import GaussianLoss, GeometricLoss, Loss, Losses
from dphist.privacy.rounding import UP, decimal, round_up
from dphist.release.label_table import LabelTable

LabelNoise: TypeAlias = GeometricNoise | GaussianNoise | TruncatedNoise | OptimalNoise

BOUNDED = ("truncated", "optimal")
"""Noises that end: they have a delta where labels are listed, too."""


@dataclass(frozen=True, slots=True)
class Summing:
    """Of a batch, the labels above the threshold, with noise of their own on each of their sums."""

    above: AboveThreshold
    noises: tuple[SumNoise, ...]

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows that are released."""
        kept = self.above(batch)
        for place, noise in enumerate(self.noises, start=kept.num_columns - len(self.noises)):
            noisy = noise.add(np.asarray(kept.column(place), np.int64), self.above.source)
            kept = kept.set_column(place, kept.schema.field(place), pa.array(noisy))
        return kept


NAME = "users"
"""The key of `Release.noisy` that holds the numbers of users by labels."""

BY_TOTALS = "users_by_totals"
"""The key of `Release.noisy` that holds the numbers of users by totals, column after column."""


class ThresholdMeasuring(LabelsMeasuring):
    """What sees the data: `docs/understand/proofs/threshold.md`."""

    __slots__ = ()

    max_labels: int
    labels: tuple[Any, ...] | None
    other: bool
    users_by_labels: int | None
    correlated: bool
    sums_of: int
    sums: tuple[tuple[str, Clamp], ...] | None
    sums_share: Fraction
    users_by_totals: bool

    @property
    def most_steps(self) -> int:
        """By how much one user changes the count of a label at most, in the unit of counts.

        Records, or where rows have weights whole steps of these, in which noise is drawn.
        """
        return count_steps(self.max_count, self.step)

    @property
    def number_listed(self) -> int | None:
        """How many labels are released whatever the data are, "other" included; None if none."""
        return None if self.labels is None else len(self.labels) + self.other

    @property
    def released_labels(self) -> tuple[Any, ...] | None:
        """The labels that are released whatever the data are; None if they come from the data."""
        if self.labels is None or not self.other:
            return self.labels
        return (*self.labels, OTHER)

    @property
    def listed_labels(self) -> tuple[Any, ...] | None:
        """The public labels, as they were given."""
        return self.labels

    @property
    def other_than(self) -> tuple[str, ...] | None:
        """The listed labels, if all others are released as one, "other"; None if they are not."""
        return self.labels if self.other else None

    @property
    def changed_labels(self) -> int:
        """How many released labels one user changes at most."""
        listed = self.number_listed
        return self.max_labels if listed is None else min(self.max_labels, listed)

    @property
    def correlation(self) -> Correlation | None:
        """What the listed labels have in common of their noise; None if nothing."""
        listed = self.number_listed
        if not self.correlated or listed is None:
            return None
        return best_correlation(listed, self.changed_labels, self.sums_of, shared=True)

    @property
    def weight(self) -> Fraction:
        """The squared distance by which a user moves all counts, in variances at `max_count` 1.

        `changed_labels` for independent noise; less for correlated noise, rounded up to 12 digits.
        """
        if self.correlation is None:
            return Fraction(self.changed_labels)
        return round_up(decimal(self.correlation.weight(self.changed_labels), UP))

    @property
    def _changed(self) -> Fraction:
        """How many released numbers one user changes at most: of labels, users and sums."""
        summed = self._sums
        return self.weight + self._of_users + (summed.changes if summed else 0)

    @property
    def _sums(self) -> Sums | None:
        """The sums of values beside the counts; None if there are none."""
        if not self.sums:
            return None
        gaussian, each = self.noise == "gaussian", self.max_count == 1
        public = self.sums_share, gaussian, self.epsilon, self.changed_labels
        return Sums(self.sums, *public, counts_users=each)

    @property
    def _of_users(self) -> int:
        """How many numbers of users one user changes, each by 1.

        One of those by labels, and one for each column that is summed of those by totals.
        """
        by_totals = len(self.sums or ()) if self.users_by_totals else 0
        return (self.users_by_labels is not None) + by_totals

    @property
    def _cost(self) -> ThresholdCost:
        public = self.noise, self.epsilon, self.delta
        changes = self._changed, self._of_users, self.most_steps
        return ThresholdCost(*public, *changes, self._unit, self._sums)

    @property
    def guarantee(self) -> ZCDP | ApproxZCDP:
        """What a release costs in all, as (approximate) zCDP."""
        return self._cost.guarantee

    @property
    def epsilon_guarantee(self) -> PureDP | ApproxDP | None:
        """What other than Gaussian noise also promises directly, in epsilon; None for Gaussian."""
        return self._cost.epsilon_guarantee

    def epsilon_at(self, delta: Exact, releases: int = 1) -> Fraction | None:
        """Return the smallest epsilon known for `releases` releases at a total delta.

        None if that delta is too small for any. For Gaussian noise it is the exact one, for which
        threshold and noise of one release do not add their deltas.
        """
        total, times = probability(delta, "delta"), whole_number(releases, "releases", 1, 2**40)
        exact = self._cost.exact_epsilon_at(total, times)
        return LabelsMeasuring.epsilon_at(self, total, times) if exact is None else exact

    def privacy_losses(self) -> Losses:
        """Return the losses of a release: of the noise, and a failure where there is a delta."""
        if self.noise == "gaussian":
            parts: list[Loss] = [GaussianLoss(self._changed * self.epsilon**2)]
        else:
            # The numbers of users change by 1 and have noise for that, which costs the same.
            most = self.most_steps
            parts = [GeometricLoss(self.epsilon / most, most, self.changed_labels)]
            if self._of_users:
                parts.append(GeometricLoss(self.epsilon, times=self._of_users))
            parts += self._sums.losses if self._sums else []
        return Losses(tuple(parts), self.delta or Fraction(0))

    @property
    def threshold(self) -> int | Fraction | None:
        """Noisy counts above it are released, in records; None for listed labels."""
        found = self.threshold_in_steps
        return found if found is None or self.step is None else found * self.step

    @property
    def threshold_in_steps(self) -> int | Fraction | None:
        """The threshold in the unit of counts: see `most_steps`."""
        if self.delta is None or self.labels is not None:
            return None
        most, noise = self.most_steps, self._noise_of_labels()
        scale = most / self.epsilon
        if isinstance(noise, TruncatedNoise | OptimalNoise):
            return noise.last  # a count of 0 is never above it
        if self.noise == "gaussian":
            return gaussian_threshold(scale, self.delta, self.max_labels, most)
        return geometric_threshold(1 / scale, self.delta, self.max_labels, most)

    def _draw(self, counts: LabelCounts, source: Source | None) -> LabelTable:
        own, summed = self._noise_of_labels(), self._sums
        listed = self.released_labels
        if listed is None:
            above = AboveThreshold(own, self.threshold_in_steps or 0, source)
            if summed is None:
                return sort_released(counts.filter_batches(above), step=self.step)
            found = counts.filter_sums(Summing(above, tuple(summed.noises)))
            return sort_released(found, summed.names)
        column, values = look_up(counts, listed)
        noisy, _ = self.noise_law().add(np.array(values, np.int64), None, source)
        released = {"label": column, "count": pa.array(noisy)}
        if summed is not None:
            for place, own_sums in enumerate(counts.sums_of(column)):
                sums = np.array(own_sums, np.int64)
                released[f"v{place}"] = pa.array(summed.noises[place].add(sums, source))
        return sort_released(pa.table(released), summed.names if summed else (), self.step)

    def _draw_beside(self, counts: LabelCounts, source: Source | None) -> Mapping[str, IntArray]:
        held: dict[str, tuple[int, ...] | None] = {}
        if self.users_by_labels is not None:
            held[NAME] = counts.users
        if self.users_by_totals:
            held[BY_TOTALS] = counts.numbers_by_totals
        noise = self._noise_of_users()
        return {
            name: noise.add(np.array(users, np.int64), None, source)[0]
            for name, users in held.items()
        }

    def noise_law(self) -> LabelNoise | CorrelatedNoise:
        """Return the law of the noise on each count of a label, in the unit of counts."""
        if self.correlation is not None:
            return CorrelatedNoise(self.noise_scale, self.correlation)
        return self._noise_of_labels()

    def _noise_of_labels(self) -> LabelNoise:
        """The law of independent noise on each count of a label."""
        if self.noise not in BOUNDED or self.delta is None:
            return self._noise_for(self.most_steps)
        rate = self.epsilon / self.most_steps
        if self.noise == "optimal":
            return OptimalNoise(rate, delta_of_one(self.delta, self.changed_labels))
        bounds = self.delta, self.changed_labels, self.most_steps
        return TruncatedNoise(rate, truncated_limit(rate, *bounds))

    def _noise_of_users(self) -> GeometricNoise | GaussianNoise:
        """The law of the noise on the numbers of users, of which one user changes one, by 1.

        Where the noise of labels ends, this does not: so it costs no delta.
        """
        return self._noise_for(1)

    def _noise_for(self, change: int) -> GeometricNoise | GaussianNoise:
        if self.noise == "gaussian":
            return GaussianNoise(change / self.epsilon)
        return GeometricNoise(self.epsilon / change)

    def _accept(self, table: object) -> LabelCounts:
        counts = LabelsMeasuring._accept(self, table)
        by_labels = self.users_by_labels is not None
        if by_labels and counts.users is None:
            raise ParameterError(
                "users_by_labels",
                "needs data in which users were counted by how many labels they have",
                "make them with LabelCounts.from_table(..., user=..., users_by_labels=...)",
            )
        own = self.max_labels, self.max_count, self.users_by_labels
        if by_labels and own != (
            counts.max_labels,
            counts.max_count,
            counts.users_by_labels,
        ):
            raise BoundsError(
                Argument("users_by_labels")
                + " needs data with the mechanism's own bounds, "
                + Argument("max_labels", self.max_labels)
                + ", "
                + Argument("max_count", self.max_count)
                + " and "
                + Argument("users_by_labels", self.users_by_labels)
            )
        check_sums(counts, self.sums, self.max_count)
        if self.users_by_totals:
            check_totals(counts)
        # One user who raises a count and lowers another one would be protected less.
        if self.correlated and not counts.only_adds:
            raise BoundsError(
                "correlated noise needs counts to which a user only adds: count the labels with "
                "LabelCounts.from_table, assert it with LabelCounts.from_counts(..., "
                "only_adds=True), or make the mechanism with " + Argument("correlated", False)
            )
        return counts

    def _protected_labels(self) -> int | None:
        listed = self.number_listed
        return None if listed is not None and listed <= self.max_labels else self.max_labels
