"""Measuring of `ThresholdHistogram`: noise on each count, and which are above the threshold."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pyarrow as pa

from dphist.arrays import IntArray
from dphist.data.label_counts import LabelCounts
from dphist.data.listed_counts import look_up
from dphist.labels.mechanism import LabelsMechanism, in_released_order
from dphist.labels.threshold.correlated_noise import CorrelatedNoise
from dphist.labels.threshold.cost import ThresholdCost
from dphist.labels.threshold.cut_users import NAME, check_counted
from dphist.labels.threshold.law import (
    gaussian_delta,
    gaussian_threshold,
    geometric_delta,
    geometric_threshold,
)
from dphist.labels.threshold.noise import AboveThreshold, GaussianNoise, GeometricNoise
from dphist.labels.threshold.sharing import check_only_adds
from dphist.noise.inversion import Source
from dphist.release.label_table import LabelTable


class ThresholdMeasuring(ThresholdCost):
    """What sees the data: `docs/understand/proofs/threshold.md`."""

    __slots__ = ()

    @property
    def threshold(self) -> int | Fraction | None:
        """Noisy counts above it are released, in records; None for listed labels."""
        if self.delta is None:
            return None
        scale = self.noise_scale
        if self.noise == "gaussian":
            return gaussian_threshold(scale, self.delta, self.max_labels, self.max_count)
        return geometric_threshold(1 / scale, self.delta, self.max_labels, self.max_count)

    @property
    def reached_delta(self) -> Fraction:
        """The delta that the threshold really has, rounded up to 12 digits; at most `delta`."""
        threshold = self.threshold
        if threshold is None or self.delta is None:
            return Fraction(0)
        bounds = (self.delta, self.max_labels, self.max_count)
        if isinstance(threshold, Fraction):
            return gaussian_delta(self.noise_scale, threshold, *bounds)
        return geometric_delta(1 / self.noise_scale, threshold, *bounds)

    def _drawn(self, counts: LabelCounts, source: Source | None) -> LabelTable:
        own = self._noise_for(self.max_count)
        if self.labels is None:
            released = counts.filter_batches(AboveThreshold(own, self.threshold or 0, source))
        else:
            column, values = look_up(counts, self.labels)
            noisy, _ = self.noise_law().add(np.array(values, np.int64), None, source)
            released = pa.table({"label": column, "count": pa.array(noisy)})
        return in_released_order(released)

    def _drawn_beside(self, counts: LabelCounts, source: Source | None) -> Mapping[str, IntArray]:
        if not self.count_cut_users:
            return {}
        noisy, _ = self._noise_of_users().add(np.array(counts.users, np.int64), None, source)
        return {NAME: noisy}

    def noise_law(self) -> GeometricNoise | GaussianNoise | CorrelatedNoise:
        """Return the law of the noise on each count of a label."""
        if self.correlation is not None:
            return CorrelatedNoise(self.noise_scale, self.correlation)
        return self._noise_for(self.max_count)

    def _noise_of_users(self) -> GeometricNoise | GaussianNoise:
        """The law of the noise on the numbers of users, of which one user changes one, by 1."""
        return self._noise_for(1)

    def _noise_for(self, change: int) -> GeometricNoise | GaussianNoise:
        if self.noise == "gaussian":
            return GaussianNoise(change / self.epsilon)
        return GeometricNoise(self.epsilon / change)

    def _accept(self, table: object) -> LabelCounts:
        counts = LabelsMechanism._accept(self, table)
        if self.count_cut_users:
            check_counted(counts, self.max_labels, self.max_count)
        if self.correlated:
            check_only_adds(counts)
        return counts

    def _protected_labels(self) -> int | None:
        return None if self.labels and len(self.labels) <= self.max_labels else self.max_labels
