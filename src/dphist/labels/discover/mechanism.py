"""DiscoverLabels: as many labels as the budget finds, without counts."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from scipy.special import ndtri

from dphist.arrays import IntArray
from dphist.errors import Argument, ParameterError
from dphist.labels.discover.law import LARGEST_SET, UNIT, first_weight, look_sigma
from dphist.labels.discover.measuring import DiscoverMeasuring
from dphist.labels.mechanism import (
    DELTA,
    EPSILON,
    LEVEL,
    MAX_LABELS,
    LabelsMechanism,
    check_delta,
)
from dphist.labels.threshold.cost import epsilon_of_noise
from dphist.labels.top_labels import check_stated
from dphist.mechanism import parameter
from dphist.noise.gaussian import LARGEST_SIGMA
from dphist.noise.law import Drawing, NoiseLaw
from dphist.parameters import Exact, check_level, privacy_parameter, probability, whole_number
from dphist.privacy.as_text import down, plain
from dphist.release.label_table import LabelTable
from dphist.release.mechanisms import savable
from dphist.sentence import Sentence

LOOKS = 32
_MOST_LOOKS = 64


@savable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class DiscoverLabels(DiscoverMeasuring, LabelsMechanism):
    """Labels that many users have, without counts.

    A user shares a weight of 1 (in l2 norm) among the user's labels. Every label's total gets
    Gaussian noise, in each of several looks. Noisy totals, which are not released, decide where
    users put their weight in the next look: on labels near the threshold, rather than on labels
    that are far above it or out of reach. A label is released if its looks add up to more
    than the threshold. Released labels are sorted by value.

    Guarantee
    ---------
    - Neighbors differ by one user, who has at most `max_labels` labels. For a plain table of counts
      you assert that.
    - `delta`-approximate (epsilon**2 / 2)-zCDP, whatever the number of looks.
    - (E, d(E) + delta)-DP for every E >= 0, where d(E) is the exact delta of Gaussian noise at
      mu = epsilon; see `epsilon_at`.
    - Covered: the labels, their number and order.
    - Not covered: the time it takes.
    - Proof: `docs/understand/proofs/discover_labels.md`.

    Parameters
    ----------
    epsilon : number above 0; required.
        1 / epsilon is the standard deviation of the noise on a label's mean total, in users who
        have that label alone. What a release costs in all is `guarantee`; `dphist.calibrate` finds
        epsilon from a total.
    delta : number above 0 and below 1.
    max_labels : whole number, at most 2**20. How many labels one user has at most.
    looks : whole number from 1 to 64. How often the totals are looked at. More find more labels,
        at the same cost, and take as much longer.

    Notes
    -----
    Data are a `LabelCounts` made with `keep_sets=True`, which says who has which label. Of
    a plain table of counts, which does not, each user is taken to have `max_labels`, and fewer
    labels are found. For one label a user, `ThresholdHistogram` with optimal noise finds more, and
    for two, one with geometric noise.

    Examples
    --------
    >>> from dphist.labels.discover.mechanism import DiscoverLabels
    >>> DiscoverLabels(epsilon="0.2", delta="1e-6", max_labels=100).guarantee
    ApproxZCDP(rho=0.02, delta=1e-6, unit='user')
    """

    paper = "gopi2020"
    reference = (
        "S. Gopi, P. Gulhane, J. Kulkarni, J. H. Shen, M. Shokouhi, S. Yekhanin. Differentially "
        "Private Set Union. ICML 2020. arXiv:2002.09745 (weighted Gaussian). The looks are ours."
    )
    noise = "gaussian"
    max_count = 1

    epsilon: Fraction = parameter(**EPSILON)
    delta: Fraction = parameter(**DELTA)
    max_labels: int = parameter(**MAX_LABELS)
    looks: int = parameter(
        Sentence("How often noisy totals decide where {users} put their weight.")
    )

    def __init__(
        self, *, epsilon: Exact, delta: Exact, max_labels: int, looks: int = LOOKS
    ) -> None:
        self._hold(
            epsilon=privacy_parameter(epsilon, "epsilon"),
            delta=check_delta(delta),
            max_labels=whole_number(max_labels, "max_labels", 1, LARGEST_SET),
            looks=whole_number(looks, "looks", 1, _MOST_LOOKS),
        )
        if look_sigma(self.epsilon, self.looks) > LARGEST_SIGMA:
            raise ParameterError(
                "epsilon", "is too small to sample", "raise " + Argument("epsilon")
            )
        check_stated(self.epsilon**2 / 2)

    def epsilon_at(self, delta: Exact, releases: int = 1) -> Fraction | None:
        """Return the smallest epsilon known for `releases` releases at a total delta.

        None if that delta is too small for any. It is the exact one of the noise, which is below
        what zCDP shows (`docs/understand/proofs/discover_labels.md`, Lemma 3).
        """
        total, times = probability(delta, "delta"), whole_number(releases, "releases", 1, 2**40)
        exact = epsilon_of_noise(self.epsilon**2, self.delta, total, times)
        return LabelsMechanism.epsilon_at(self, total, times) if exact is None else exact

    @property
    def threshold(self) -> Fraction:
        """A mean noisy total above it is released, in users who have one label each."""
        return Fraction(self._threshold, UNIT * self.looks)

    def likely_count(self, chance: float) -> int:
        """Return a number of users from which a label is released with this probability or more.

        Of users with `max_labels` labels each, if weight is never moved: that is so for a plain
        table of counts. In other data fewer users are usually enough, and none of a count is a
        promise.
        """
        check_level(chance, "chance")
        needed = float(self.threshold) + float(self.noise_scale) * float(ndtri(chance))
        return max(math.ceil(needed * UNIT / first_weight(self.max_labels)), 1)

    def half_width(self, level: float = LEVEL) -> None:
        """Return None: no counts are released."""

    def restore(self, value: Any, noisy: Mapping[str, IntArray]) -> LabelTable:
        """Return a table that was read from a file; ValueError if it has counts."""
        table = LabelsMechanism.restore(self, value, noisy)
        if table.counts is not None or None in table.labels:
            raise ValueError("no counts are released")
        return table

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise on a label's mean total."""
        return NoiseLaw(
            "Gaussian", self.noise_scale, Drawing.ROUNDED, "rounded to multiples of 2^-20"
        )

    @property
    def description(self) -> str:
        """How a release is made."""
        return Sentence(
            "Each {user} shares one weight among the {user}'s {labels}. The total of each {label} "
            "gets Gaussian noise, in {looks} looks that leave a standard deviation of {noise} on "
            "their mean; each look moves weight to {labels} near the threshold. {Labels} above it "
            "are listed, without counts.",
            looks=self.looks,
            noise=plain(down(self.noise_scale)),
        )
