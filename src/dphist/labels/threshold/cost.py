"""What a release of a threshold histogram costs, by its parameters alone."""

from fractions import Fraction
from typing import Any

from dphist.errors import ParameterError
from dphist.labels.measuring import LabelsMeasuring
from dphist.labels.one_release import convex_from, epsilon_of_ends
from dphist.labels.threshold.correlation import Correlation, best_correlation
from dphist.noise.gaussian_epsilon import gaussian_epsilon
from dphist.parameters import Exact, probability, whole_number
from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, PureDP, dp_events
from dphist.privacy.rounding import UP, decimal, round_up


class ThresholdCost(LabelsMeasuring):
    """The claims of a `ThresholdHistogram`."""

    __slots__ = ()

    max_labels: int
    labels: tuple[Any, ...] | None
    count_cut_users: bool
    correlated: bool
    sums_of: int

    @property
    def changed_labels(self) -> int:
        """How many released labels one user changes at most."""
        return self.max_labels if self.labels is None else min(self.max_labels, len(self.labels))

    @property
    def correlation(self) -> Correlation | None:
        """What the listed labels have in common of their noise; None if nothing."""
        if not self.correlated or self.labels is None:
            return None
        return best_correlation(len(self.labels), self.changed_labels, self.sums_of, shared=True)

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
        """How many released numbers one user changes at most: of labels, and one of users."""
        return self.weight + self.count_cut_users

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
        """Return the smallest epsilon known for `releases` releases at a total delta.

        None if that delta is too small for any. For Gaussian noise it is the exact one, which is
        below what zCDP shows (`docs/understand/proofs/threshold.md`, Lemma 6), and of one release
        the one for which threshold and noise do not add their deltas (Lemma 8).
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
        return LabelsMeasuring.epsilon_at(self, total, times)

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
