"""TopThreshold: common labels and their counts, from the largest counts alone (Algorithm 2)."""

import math
from dataclasses import dataclass
from fractions import Fraction

from scipy.special import ndtri

from dphist.errors import ParameterError
from dphist.labels.measuring import TopThresholdMeasuring
from dphist.labels.mechanism import (
    DELTA,
    EPSILON,
    LARGEST_BOUND,
    LEVEL,
    MAX_COUNT,
    MAX_LABELS,
    K,
    LabelsMechanism,
    check_bound,
    check_delta,
)
from dphist.labels.threshold.cost import epsilon_of_ends
from dphist.labels.top_labels import check_scale, check_stated
from dphist.mechanism import parameter
from dphist.noise.gaussian_epsilon import gaussian_epsilon
from dphist.noise.law import ROUNDED, Drawing, NoiseLaw
from dphist.noise.magnitude import gaussian_half_width
from dphist.parameters import Exact, check_level, privacy_parameter, probability, whole_number
from dphist.privacy import MOST_RELEASES
from dphist.privacy.as_text import down, plain
from dphist.release.mechanisms import savable


@savable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class TopThreshold(TopThresholdMeasuring, LabelsMechanism):
    """Common labels with noisy counts, where only the `k` + 1 largest counts are asked for.

    Every one of the k largest counts gets Gaussian noise, and so does a threshold above the next
    count. Labels above the noisy threshold are released with their noisy counts, rounded, the
    largest first.

    Guarantee
    ---------
    - Neighbors differ by one user, who adds at most `max_count` to each of at most `max_labels`
      labels. The table must keep these bounds (`LabelCounts` states them).
    - delta-approximate (max_labels epsilon**2 / 2)-zCDP.
    - (E, d(E) + delta)-DP for every E >= 0, where d(E) is the exact delta of Gaussian noise for
      mu**2 = max_labels epsilon**2; less for a single release by itself, see `epsilon_at`.
    - Not covered: a user who adds to some labels and takes away from others.

    Parameters
    ----------
    k : whole number, at least 1. How many of the largest counts are looked at.
    epsilon : number above 0. Of one label: see the guarantee for the total.
    delta : number above 0 and below 1.
    max_labels : whole number. How many labels one user adds to at most.
    max_count : whole number. How much one user adds to a label at most.

    Examples
    --------
    >>> from dphist.labels.top_threshold import TopThreshold
    >>> TopThreshold(k=100, epsilon="0.2", delta="1e-6", max_labels=10).guarantee
    ApproxZCDP(rho=0.2, delta=1e-6, unit='user')
    """

    paper = "rogers2023"
    reference = (
        "R. Rogers. A Unifying Privacy Analysis Framework for Unknown Domain Algorithms in "
        "Differential Privacy. 2023. arXiv:2309.09170. Algorithm 2 and Theorem 8."
    )
    noise = "gaussian"

    k: int = parameter(**K)
    epsilon: Fraction = parameter(**EPSILON)
    delta: Fraction = parameter(**DELTA)
    max_labels: int = parameter(**MAX_LABELS)
    max_count: int = parameter(**MAX_COUNT)

    def __init__(
        self, k: int = 100, *, epsilon: Exact, delta: Exact, max_labels: int, max_count: int = 1
    ) -> None:
        self._hold(
            k=whole_number(k, "k", 1, LARGEST_BOUND),
            epsilon=privacy_parameter(epsilon, "epsilon"),
            delta=check_delta(delta),
            max_labels=check_bound(max_labels, "max_labels"),
            max_count=check_bound(max_count, "max_count"),
        )
        check_scale(self.noise_scale)
        check_stated(self.max_labels * self.epsilon**2 / 2)

    def epsilon_at(self, delta: Exact, releases: int = 1) -> Fraction | None:
        """Return the smallest epsilon known for `releases` releases at a total delta.

        None if that delta is too small for any. It is that of exact Gaussian noise, and of one
        release the one for which nearly the larger of the deltas of threshold and noise is paid, in
        place of their sum (`docs/understand/proofs/top_labels.md`, Lemma 8).
        """
        total = probability(delta, "delta")
        times = whole_number(releases, "releases", 1, MOST_RELEASES)
        each, squared = self.epsilon**2, self.max_labels * self.epsilon**2
        left = total - times * self.delta
        if left > 0:
            try:
                known = [gaussian_epsilon(times * squared, left)]
                if times == 1:
                    one_new = total - self.delta / self.max_labels
                    known += [epsilon_of_ends([(squared, one_new), (each, left)]) or known[0]]
                return min(known)
            except ParameterError:  # beyond what is computed exactly; zCDP is not
                pass
        return LabelsMechanism.epsilon_at(self, total, times)

    def likely_count(self, chance: float) -> int:
        """Return how far above the next count a label is released with this probability."""
        # The difference of two normal variables is normal.
        normal = float(ndtri(check_level(chance, "chance")))
        over = math.sqrt(2) * float(self.noise_scale) * normal
        return math.ceil(float(self.threshold) + over)

    def half_width(self, level: float = LEVEL) -> int:
        """Return the smallest q at which the noise of a count is within q with this probability."""
        return gaussian_half_width(self.noise_scale, level)

    @property
    def most_unshown(self) -> float:
        """Infinite: the threshold is above another count, so it says nothing of a label beside."""
        return math.inf

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise."""
        return NoiseLaw("Gaussian", self.noise_scale, Drawing.COMPARED, ROUNDED)

    @property
    def description(self) -> str:
        """How a release is made."""
        return (
            f"The {self.k} largest counts, and a threshold above the next, each got noise (normal, "
            f"standard deviation {plain(down(self.noise_scale))}); the counts above the threshold "
            "are listed, rounded."
        )
