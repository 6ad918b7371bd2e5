"""What a release of a threshold histogram costs, by public numbers alone."""

from dataclasses import dataclass
from fractions import Fraction

from dphist.errors import ParameterError
from dphist.labels.one_release import convex_from, epsilon_of_ends
from dphist.noise.gaussian_epsilon import gaussian_epsilon
from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, PrivacyUnit, PureDP


@dataclass(frozen=True, slots=True)
class ThresholdCost:
    """The claims of a `ThresholdHistogram`.

    Attributes
    ----------
    noise : "laplace" or "gaussian".
    epsilon : the parameter of a single label.
    delta : of the threshold; None where labels are listed.
    changed : how many released numbers one user changes at most, by 1 noise scale each.
    count_cut_users : whether one of these is a number of users, new or shared.
    unit : what is protected.
    """

    noise: str
    epsilon: Fraction
    delta: Fraction | None
    changed: Fraction
    count_cut_users: bool
    unit: PrivacyUnit

    @property
    def guarantee(self) -> ZCDP | ApproxZCDP:
        """What a release costs in all, as (approximate) zCDP."""
        each = self.epsilon**2 / 2  # Rogers 2023, Theorem 7
        if self.noise == "laplace":
            each = PureDP(self.epsilon).to_zcdp().rho
        rho = self.changed * each
        if self.delta is None:
            return ZCDP(rho, self.unit)
        return ApproxZCDP(rho, self.delta, self.unit)

    @property
    def epsilon_guarantee(self) -> PureDP | ApproxDP | None:
        """What Laplace noise also promises directly, in epsilon; None for Gaussian noise."""
        if self.noise == "gaussian":
            return None
        total = self.changed * self.epsilon
        if self.delta is None:
            return PureDP(total, self.unit)
        return ApproxDP(total, self.delta, self.unit)

    def exact_epsilon_at(self, total: Fraction, times: int) -> Fraction | None:
        """Return the exact epsilon of `times` releases at a total delta; None if there is none.

        For Gaussian noise it is below what zCDP shows (`docs/understand/proofs/threshold.md`,
        Lemma 6), and of one release the one for which threshold and noise do not add their deltas
        (Lemma 8).
        """
        if self.noise != "gaussian":
            return None
        try:
            larger = self._of_larger(total) if times == 1 else None
            if larger is not None and larger > convex_from(self.changed * self.epsilon**2):
                return larger  # below the sum's, which leaves less to the noise
            known = [self._of_sum(total, times), larger]
        except ParameterError:  # beyond what is computed exactly; zCDP is not
            return None
        return min((epsilon for epsilon in known if epsilon is not None), default=None)

    def _of_sum(self, total: Fraction, times: int) -> Fraction | None:
        """Return the epsilon of releases that pay for the threshold and for the noise: Lemma 6."""
        left = total - times * (self.delta or 0)
        if not left > 0:
            return None
        return gaussian_epsilon(times * self.changed * self.epsilon**2, left)

    def _of_larger(self, total: Fraction) -> Fraction | None:
        """Return the epsilon of one release, which pays for the larger of the two: Lemma 8."""
        own = self.delta or Fraction(0)
        if total < own:
            return None
        each = self.epsilon**2
        always = self.count_cut_users * each  # what a user changes beside labels, new or shared
        return epsilon_of_ends([(self.changed * each, total), (always, (total - own) / (1 - own))])
