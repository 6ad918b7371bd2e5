"""TopLabels: the most common labels, ranked and without counts (Rogers 2023, Algorithm 3)."""

import math
from dataclasses import dataclass
from fractions import Fraction

from dphist.errors import Argument, ParameterError
from dphist.labels.measuring import TopLabelsMeasuring
from dphist.labels.mechanism import (
    CANDIDATES,
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
from dphist.mechanism import parameter
from dphist.noise.law import Drawing, NoiseLaw
from dphist.noise.lazy import LARGEST_SCALE
from dphist.parameters import Exact, check_level, optional_whole, privacy_parameter, whole_number
from dphist.privacy.as_text import down, plain
from dphist.release.mechanisms import savable
from dphist.sentence import Sentence

_LARGEST_RHO = 10**9


@savable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class TopLabels(TopLabelsMeasuring, LabelsMechanism):
    """The `k` most common labels in noisy order, without counts.

    Every one of the `candidates` largest counts gets Gumbel noise, and so does a threshold above
    the next count. Labels above the noisy threshold are returned, at most k, the largest first.
    A null label in the last row says that fewer than k were found.

    Guarantee
    ---------
    - Neighbors differ by one user, who adds at most `max_count` to each of any number of labels.
      `max_labels`, if given, bounds that number: it lowers the threshold if it is below
      `candidates`, not the cost. The table must keep these bounds (`LabelCounts` states them).
    - delta-approximate (k epsilon**2 / 8)-zCDP.
    - Not covered: a user who adds to some labels and takes away from others (it would cost four
      times as much).

    Parameters
    ----------
    k : whole number, at least 1. How many labels are returned at most.
    candidates : whole number, at least k. How many of the largest counts are looked at.
    epsilon : number above 0. Of one choice among the labels: see the guarantee for the total.
    delta : number above 0 and below 1.
    max_labels : whole number or None. How many labels one user adds to at most.
    max_count : whole number. How much one user adds to a label at most.

    Examples
    --------
    >>> from dphist.labels.top_labels import TopLabels
    >>> TopLabels(k=10, epsilon="0.2", delta="1e-6").guarantee
    ApproxZCDP(rho=0.05, delta=1e-6, unit='user')
    """

    paper = "rogers2023"
    reference = (
        "R. Rogers. A Unifying Privacy Analysis Framework for Unknown Domain Algorithms in "
        "Differential Privacy. 2023. arXiv:2309.09170. Algorithm 3 and Theorem 9."
    )
    noise = "gumbel"

    k: int = parameter(**K)
    candidates: int = parameter(**CANDIDATES)
    epsilon: Fraction = parameter(**EPSILON)
    delta: Fraction = parameter(**DELTA)
    max_labels: int | None = parameter(**MAX_LABELS)
    max_count: int = parameter(**MAX_COUNT)

    def __init__(
        self,
        k: int = 10,
        candidates: int = 100,
        *,
        epsilon: Exact,
        delta: Exact,
        max_labels: int | None = None,
        max_count: int = 1,
    ) -> None:
        self._hold(
            k=whole_number(k, "k", 1, LARGEST_BOUND),
            candidates=whole_number(candidates, "candidates", 1, LARGEST_BOUND),
            epsilon=privacy_parameter(epsilon, "epsilon"),
            delta=check_delta(delta),
            max_labels=optional_whole(max_labels, "max_labels", 1, LARGEST_BOUND),
            max_count=check_bound(max_count, "max_count"),
        )
        if self.candidates < self.k:
            raise ParameterError("candidates", "must be at least " + Argument("k"))
        check_scale(self.noise_scale)
        check_stated(self.k * self.epsilon**2 / 8)

    def likely_count(self, chance: float) -> int:
        """Return how far above the next count a label is released with this probability."""
        check_level(chance, "chance")
        # The difference of two Gumbel variables is logistic.
        over = float(self.noise_scale) * math.log(chance / (1 - chance))
        return math.ceil(float(self.threshold) + over)

    def half_width(self, level: float = LEVEL) -> None:
        """Return None: no counts are released."""

    @property
    def most_unshown(self) -> float:
        """Infinite: the threshold is above another count, so it says nothing of a label beside."""
        return math.inf

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise."""
        return NoiseLaw("Gumbel", self.noise_scale, Drawing.COMPARED)

    @property
    def description(self) -> str:
        """How a release is made."""
        return Sentence(
            "The {candidates} largest counts, and a threshold above the next, each got noise "
            "(Gumbel, scale {scale}); of the {labels} above the threshold the {k} largest are "
            "listed, in the order of their noisy counts, without counts.",
            candidates=self.candidates,
            scale=plain(down(self.noise_scale)),
            k=self.k,
        )


def check_stated(rho: Fraction) -> None:
    """Refuse a cost that `ApproxZCDP` cannot hold."""
    if rho > _LARGEST_RHO:
        raise ParameterError(
            "epsilon", "is too large for a guarantee to be stated", "lower " + Argument("epsilon")
        )


def check_scale(scale: Fraction) -> None:
    """Refuse noise that would drown every count."""
    if scale > LARGEST_SCALE:
        raise ParameterError(
            "epsilon",
            "divided by " + Argument("max_count") + " is too small to sample",
            "raise " + Argument("epsilon"),
        )
