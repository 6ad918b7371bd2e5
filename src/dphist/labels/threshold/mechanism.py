"""Counts with noise, and of those the ones above a threshold (Rogers 2023, Algorithm 1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from dphist.arrays import IntArray
from dphist.data.label_counts import LabelCounts
from dphist.errors import BoundsError, ParameterError
from dphist.labels.mechanism import (
    DELTA,
    EPSILON,
    LEVEL,
    MAX_COUNT,
    MAX_LABELS,
    LabelsMechanism,
    checked_bound,
    checked_delta,
    checked_epsilon,
    in_released_order,
)
from dphist.labels.one_release import convex_from, epsilon_of_ends
from dphist.labels.threshold.cut_users import NAME, CutUsers, checked, cut_users
from dphist.labels.threshold.known_labels import listed, looked_up
from dphist.labels.threshold.law import (
    gaussian_delta,
    gaussian_threshold,
    geometric_delta,
    geometric_threshold,
)
from dphist.labels.threshold.noise import AboveThreshold, GaussianNoise, GeometricNoise
from dphist.mechanism import parameter
from dphist.noise import Source
from dphist.noise.gaussian import LARGEST_SIGMA
from dphist.noise.gaussian_epsilon import gaussian_epsilon
from dphist.noise.geometric import SMALLEST_EPSILON
from dphist.noise.search import first_true
from dphist.parameters import Exact, checked_level, probability, whole_number
from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, PureDP, dp_events
from dphist.release.label_table import LabelTable
from dphist.release.mechanisms import savable

Noise: TypeAlias = Literal["laplace", "gaussian"]


@savable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class ThresholdHistogram(LabelsMechanism):
    """Counts with noise; of labels nobody listed, those whose noisy count is above a threshold.

    Parameters
    ----------
    epsilon : number above 0; required.
        The parameter of a *single* label, as in the paper: what a release costs in all is
        `guarantee`. `dphist.calibrate` finds it from a total.
    delta : number above 0 and below 1
        Required unless `labels` are listed; then there is none.
    max_labels : int
        How many labels one user changes at most.
    max_count : int
        By how much one user changes the count of a label at most.
    noise : "laplace" or "gaussian"
        Two-sided geometric noise, the integer relative of Laplace noise, or real Gaussian noise.
    labels : sequence, optional
        Known labels: public, not taken from the data. Text, whole numbers, truth values or dates,
        of one kind; dates are held as ISO text. All of them are released, those that do not occur
        too, and labels that are not listed are ignored.
    count_cut_users : bool
        Whether to release also how many users were within the bounds and how many had more: two
        numbers, in `noisy["users"]`, with noise for one user. It costs as much as one more label
        a user. The data must be a `LabelCounts` made with `count_users=True` and the same bounds.

    Guarantee
    ---------
    `delta`-approximate rho-zCDP, where rho is m epsilon tanh(epsilon/2) (Laplace) or
    m epsilon**2 / 2 (Gaussian), and m is `max_labels`, or one more with `count_cut_users`; Laplace
    also `epsilon_guarantee`, (m epsilon, delta)-DP; Gaussian also (E, d(E) + delta)-DP for every
    E >= 0, where d(E) is the exact delta of Gaussian noise for mu**2 = m epsilon**2 (Balle and Wang
    2018, Theorem 8), and R releases together with R mu**2 and R delta, see `epsilon_at`. One
    release by itself is even (E, max(d(E), delta))-DP while d(E) is small, as a label of a user is
    new or shared, but not both (Wilkins et al. 2022; `docs/proofs/threshold.md`, Lemma 8). With
    listed labels delta is 0 in all of these, and `max_labels` at most their number. Neighbours
    differ in one user, who adds at most `max_count` to each of at most `max_labels` labels. Covered
    are labels, counts, number and order of the rows, and the numbers of users; not covered is the
    time it takes, and, if a bare frame is given instead of a `LabelCounts`, a promise that does not
    hold.

    Notes
    -----
    Released counts are integers, not bounded: those above a threshold are positive, those of
    listed labels may be negative, so that their sums stay unbiased. Rows come by released count,
    the largest first, then by label. A released count of a label nobody listed is too large on
    average when the true one is near the threshold.
    """

    reference = (
        "R. Rogers. A Unifying Privacy Analysis Framework for Unknown Domain Algorithms in "
        "Differential Privacy. 2023. arXiv:2309.09170. Algorithm 1 and Theorem 7."
    )

    epsilon: Fraction = parameter(**EPSILON)
    delta: Fraction | None = parameter(**DELTA)
    max_labels: int = parameter(**MAX_LABELS)
    max_count: int = parameter(**MAX_COUNT)
    noise: Noise = parameter("The law of the noise.")
    labels: tuple[Any, ...] | None = parameter(
        "Public list of labels; all are released, others are ignored.",
        not_given="No list of labels: they come from the data.",
        public=True,
    )
    count_cut_users: bool = parameter(
        "Whether users within the bounds, and users who had more, are counted too."
    )

    def __init__(
        self,
        *,
        epsilon: Exact,
        delta: Exact | None = None,
        max_labels: int,
        max_count: int = 1,
        noise: Noise = "laplace",
        labels: Sequence[Any] | None = None,
        count_cut_users: bool = False,
    ) -> None:
        if noise not in ("laplace", "gaussian"):
            raise ParameterError("noise must be 'laplace' or 'gaussian'")
        if labels is not None and delta not in (None, 0):
            raise ParameterError("delta must be left out where labels are listed: there is none")
        if not isinstance(count_cut_users, bool):
            raise ParameterError("count_cut_users must be True or False")
        self._hold(
            epsilon=checked_epsilon(epsilon),
            delta=checked_delta(delta) if labels is None else None,
            max_labels=checked_bound(max_labels, "max_labels"),
            max_count=checked_bound(max_count, "max_count"),
            noise=noise,
            labels=None if labels is None else listed(labels),
            count_cut_users=count_cut_users,
        )
        self._check_strength()

    def _check_strength(self) -> None:
        if (
            not self.epsilon / self.max_count >= SMALLEST_EPSILON
            or self.noise_scale > LARGEST_SIGMA
        ):
            raise ParameterError("epsilon divided by max_count is too small to sample")
        try:
            provable = self.guarantee, self.epsilon_guarantee
        except ParameterError:
            provable = None
        if provable is None:
            raise ParameterError(
                "epsilon and max_labels are too large for a guarantee to be stated"
            )

    @property
    def changed_labels(self) -> int:
        """How many released labels one user changes at most."""
        return self.max_labels if self.labels is None else min(self.max_labels, len(self.labels))

    @property
    def _changed(self) -> int:
        """How many released numbers one user changes at most: of labels, and one of users."""
        return self.changed_labels + self.count_cut_users

    @property
    def threshold(self) -> int | Fraction | None:
        """Noisy counts above it are released, in records; None where labels are listed."""
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

    @property
    def guarantee(self) -> ZCDP | ApproxZCDP:
        """What a release costs in all, as (approximate) zCDP."""
        each = self.epsilon**2 / 2  # Rogers 2023, Theorem 7
        if self.noise == "laplace":
            each = PureDP(self.epsilon).to_zcdp().rho
        rho = self._changed * each
        if self.delta is None:
            return ZCDP(rho, self._unit)
        return ApproxZCDP(rho, self.delta, self._unit)

    @property
    def epsilon_guarantee(self) -> PureDP | ApproxDP | None:
        """What Laplace noise also promises directly, in epsilon; None for Gaussian noise."""
        if self.noise == "gaussian":
            return None
        total = self._changed * self.epsilon
        if self.delta is None:
            return PureDP(total, self._unit)
        return ApproxDP(total, self.delta, self._unit)

    def epsilon_at(self, delta: Exact, releases: int = 1) -> Fraction | None:
        """Return the least epsilon known of so many releases at a total delta.

        None where that delta is too small for any. For Gaussian noise it is the exact one, which is
        below what zCDP shows (`docs/proofs/threshold.md`, Lemma 6), and of one release the one for
        which threshold and noise do not add their deltas (Lemma 8).
        """
        total, times = probability(delta, "delta"), whole_number(releases, "releases", 1, 2**40)
        if self.noise == "gaussian":
            try:
                larger = self._of_larger(total) if times == 1 else None
                if larger is not None and larger > convex_from(self._changed * self.epsilon**2):
                    return larger  # below the sum's, which leaves less to the noise
                known = [self._of_sum(total, times), larger]
            except ParameterError:  # beyond what is computed exactly; zCDP is not
                known = []
            claims = [epsilon for epsilon in known if epsilon is not None]
            if claims:
                return min(claims)
        return LabelsMechanism.epsilon_at(self, total, times)

    def _of_sum(self, total: Fraction, times: int) -> Fraction | None:
        """Return the epsilon of releases that pay for the threshold and for the noise: Lemma 6."""
        left = total - times * (self.delta or 0)
        if not left > 0:
            return None
        return gaussian_epsilon(times * self._changed * self.epsilon**2, left)

    def _of_larger(self, total: Fraction) -> Fraction | None:
        """Return the epsilon of one release, which pays for the larger of the two: Lemma 8."""
        own = self.delta or Fraction(0)
        if total < own:
            return None
        each = self.epsilon**2
        always = self.count_cut_users * each  # what a user changes beside labels, new or shared
        return epsilon_of_ends([(self._changed * each, total), (always, (total - own) / (1 - own))])

    def _dp_event(self) -> Any:
        if self.noise == "gaussian":
            noise = dp_events.gaussian(self._changed * self.epsilon**2)
        else:
            # The numbers of users change by 1 and have noise for that, which costs the same.
            rate = self.epsilon / self.max_count
            noise = dp_events.geometric(rate, self.max_count, self.changed_labels)
            if self.count_cut_users:
                noise = dp_events.together([noise, dp_events.geometric(self.epsilon)])
        return dp_events.composed(noise, self.delta or Fraction(0))

    @classmethod
    def needs_delta(cls, labels: Sequence[Any] | None = None, **_parameters: Any) -> bool:
        """Whether there is a delta: not where labels are listed."""
        return labels is None

    def _drawn(self, counts: LabelCounts, source: Source | None) -> LabelTable:
        noise = self.noise_law()
        if self.labels is None:
            released = counts.filter_batches(AboveThreshold(noise, self.threshold or 0, source))
        else:
            column, values = looked_up(counts, self.labels)
            noisy, _ = noise.add(np.array(values, np.int64), None, source)
            released = pa.table({"label": column, "count": pa.array(noisy)})
        return in_released_order(released)

    def _drawn_beside(self, counts: LabelCounts, source: Source | None) -> Mapping[str, IntArray]:
        if not self.count_cut_users:
            return {}
        noisy, _ = self._noise_of_users().add(np.array(counts.users, np.int64), None, source)
        return {NAME: noisy}

    def noise_law(self) -> GeometricNoise | GaussianNoise:
        """Return the law of the noise on each count of a label."""
        return self._noise_for(self.max_count)

    def _noise_of_users(self) -> GeometricNoise | GaussianNoise:
        """The law of the noise on the numbers of users, of which one user changes one, by 1."""
        return self._noise_for(1)

    def _noise_for(self, change: int) -> GeometricNoise | GaussianNoise:
        if self.noise == "gaussian":
            return GaussianNoise(change / self.epsilon)
        return GeometricNoise(self.epsilon / change)

    def cut_users(self, noisy: Mapping[str, IntArray]) -> CutUsers | None:
        """Return how many users had more than the bounds, from `noisy` of a release.

        None without `count_cut_users`. Post-processing, which costs nothing.

        Raises
        ------
        ParameterError
            If `noisy` is not what a release of this mechanism holds.
        """
        if not self.count_cut_users:
            return None
        return cut_users(noisy, self._noise_of_users())

    def restored(self, value: Any, noisy: Mapping[str, IntArray]) -> LabelTable:
        """Return a table that was read from a file; refuse noisy numbers that cannot be."""
        if self.count_cut_users:
            checked(noisy)
        return LabelsMechanism.restored(self, value, noisy)

    def _accept(self, table: object) -> LabelCounts:
        counts = LabelsMechanism._accept(self, table)
        if not self.count_cut_users:
            return counts
        if counts.users is None:
            raise ParameterError(
                "count_cut_users needs data in which users were counted: make them with "
                "LabelCounts.from_table(..., user=..., count_users=True)"
            )
        if (counts.max_labels, counts.max_count) != (self.max_labels, self.max_count):
            raise BoundsError(
                f"count_cut_users needs data with the mechanism's own bounds, max_labels="
                f"{self.max_labels} and max_count={self.max_count}: users who had more are those "
                "with more than that"
            )
        return counts

    def _protected_labels(self) -> int | None:
        return None if self.labels and len(self.labels) <= self.max_labels else self.max_labels

    def half_width(self, level: float = LEVEL) -> int:
        """Return the smallest q at which the noise of a count is within q with this probability."""
        return self.noise_law().half_width(level)

    def release_chance(self, count: int) -> float:
        """Return the probability with which a label of this count, in records, is released."""
        threshold = self.threshold
        if threshold is None:
            return 1.0
        return self.noise_law().chance_above(float(threshold - count))

    def likely_count(self, chance: float) -> int:
        """Return the least count, in records, released with this probability or more."""
        checked_level(chance, "chance")
        return max(first_true(lambda count: self.release_chance(count) >= chance), 1)

    @property
    def description(self) -> str:
        """How a release is made."""
        kind = "Gaussian" if self.noise == "gaussian" else "two-sided geometric"
        users = (
            " The numbers of users within the bounds, and of those who had more, get noise too."
            if self.count_cut_users
            else ""
        )
        if self.labels is not None:
            return (
                f"Each listed label's count with {kind} noise, labels that do not occur included."
                f"{users}"
            )
        return (
            f"Threshold (Rogers 2023, Algorithm 1). Each label's count gets {kind} noise of its "
            f"own; a label is released if the sum is above the threshold.{users}"
        )
