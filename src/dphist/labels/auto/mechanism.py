"""AutoThreshold: finds privately how many labels of each user to count, then counts."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dphist.arrays import IntArray
from dphist.data.clamp import Clamp, read_share, read_sums
from dphist.errors import Argument, ParameterError
from dphist.labels.answers import NoiseAnswers
from dphist.labels.auto.choice import (
    Look,
    TriedCap,
    choose_cap,
    expect_errors,
    threshold_at,
)
from dphist.labels.auto.law import LARGEST_CAP, TOPS, list_cells
from dphist.labels.auto.measuring import CAP, SUMS, AutoMeasuring
from dphist.labels.mechanism import (
    DELTA,
    EPSILON,
    LEVEL,
    MAX_LABELS,
    SHARE,
    SUMMED,
    LabelsMechanism,
    check_delta,
)
from dphist.labels.sums import SumAnswers
from dphist.labels.threshold.checks import check_sampled
from dphist.labels.threshold.cost import epsilon_of_noise
from dphist.labels.threshold.measuring import NAME
from dphist.labels.threshold.mechanism import ThresholdHistogram
from dphist.labels.top_labels import check_stated
from dphist.mechanism import Intervals, parameter
from dphist.noise.gaussian import LARGEST_SIGMA
from dphist.noise.law import ROUNDED, Drawing, NoiseLaw
from dphist.parameters import Exact, privacy_parameter, probability, whole_number
from dphist.release.fitted_users import Share
from dphist.release.label_table import LabelTable
from dphist.release.mechanisms import savable
from dphist.release.release import Release
from dphist.release.users_by_size import UsersBySize
from dphist.sentence import Sentence

LOOK = Fraction(1, 32)


@savable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class AutoThreshold(AutoMeasuring, LabelsMechanism):
    """Noisy counts above a threshold, with a cap on the labels of a user that is found privately.

    A share of the budget first releases how many users have how many labels, and the sums of the
    10, 100 and 400 largest counts. These noisy numbers say how much each cap of a public list would
    cut, and how common labels are. The cap with the smallest expected error is taken, with bias and
    noise together. Each user is cut to that many labels at random, and the rest of the budget
    releases the counts as `ThresholdHistogram` does. `tried` says which caps were tried, and what
    was expected of each.

    Guarantee
    ---------
    - Neighbors differ by one user with any number of labels, of which up to `max_labels` count.
    - `delta`-approximate (epsilon**2 / 2)-zCDP.
    - (E, d(E) + delta)-DP for every E >= 0, where d(E) is the exact delta of Gaussian noise at
      mu = epsilon; see `epsilon_at`.
    - Covered: the cap, all noisy numbers, labels, counts, and their order.
    - Not covered: the time it takes.
    - Proof: `docs/understand/proofs/auto_threshold.md`.

    Parameters
    ----------
    epsilon : number above 0; required.
        1 / epsilon is the standard deviation of the noise of a count if a user has one label and
        nothing is spent on the look. What a release costs in all is `guarantee`;
        `dphist.calibrate` finds epsilon from a total.
    delta : number above 0 and below 1.
    max_labels : whole number, at most 2**20. The largest cap; choose it large, as 1000: it costs
        nothing but memory. Users with more labels are cut to it beforehand.
    look : number above 0 and below 1. The share of the budget, in zCDP, that is spent before the
        cap is chosen.
    sums, sums_share : as for `ThresholdHistogram`: columns of numbers that are summed for each
        label shown, and the share of the rest of the budget that pays for them. Sums have noise for
        the cap that is found.

    Notes
    -----
    Data are a `LabelCounts` with the same `max_labels`, made with `keep_sets=True`, which says who
    has which label. `max_count` is 1: a count is a number of users.

    Examples
    --------
    >>> from dphist.labels.auto.mechanism import AutoThreshold
    >>> AutoThreshold(epsilon="0.2", delta="1e-6", max_labels=1000).guarantee
    ApproxZCDP(rho=0.02, delta=1e-6, unit='user')
    """

    paper = "rogers2023"
    reference = (
        "R. Rogers. A Unifying Privacy Analysis Framework for Unknown Domain Algorithms in "
        "Differential Privacy. 2023. arXiv:2309.09170. Algorithm 1; the choice of the cap is ours."
    )
    noise = "gaussian"
    max_count = 1

    epsilon: Fraction = parameter(**EPSILON)
    delta: Fraction = parameter(**DELTA)
    max_labels: int = parameter(**MAX_LABELS)
    look: Fraction = parameter("Share of the budget that is spent before the cap is chosen.")
    sums: tuple[tuple[str, Clamp], ...] | None = parameter(**SUMMED)
    sums_share: Fraction = parameter(**SHARE)

    def __init__(
        self,
        *,
        epsilon: Exact,
        delta: Exact,
        max_labels: int,
        look: Exact = LOOK,
        sums: Mapping[str, Clamp] | None = None,
        sums_share: Exact = "1/2",
    ) -> None:
        self._hold(
            epsilon=privacy_parameter(epsilon, "epsilon"),
            delta=check_delta(delta),
            max_labels=whole_number(max_labels, "max_labels", 1, LARGEST_CAP),
            look=probability(look, "look"),
            sums=read_sums(sums) or None,
            sums_share=read_share(sums_share),
        )
        if not 0 < self.look < 1:
            raise ParameterError("look", "must be above 0 and below 1")
        scales = [self.division.sum_scale(change) for change in self._changes_of_sums]
        if max(*scales, self.division.count_scale(self.max_labels)) > LARGEST_SIGMA:
            raise ParameterError(
                "epsilon", "is too small to sample", "raise " + Argument("epsilon")
            )
        check_sampled(self._sums_at(self.max_labels))
        check_stated(self.epsilon**2 / 2)

    def epsilon_at(self, delta: Exact, releases: int = 1) -> Fraction | None:
        """Return the smallest epsilon known for `releases` releases at a total delta.

        None if that delta is too small for any. It is the exact one of the noise, which is below
        what zCDP shows (`docs/understand/proofs/auto_threshold.md`, Lemma 4).
        """
        total, times = probability(delta, "delta"), whole_number(releases, "releases", 1, 2**40)
        exact = epsilon_of_noise(self.epsilon**2, self.delta, total, times)
        return LabelsMechanism.epsilon_at(self, total, times) if exact is None else exact

    def choose(self, users: IntArray, sums: IntArray) -> int:
        """Return the cap for noisy numbers; a function of these and of parameters alone.

        Parameters
        ----------
        users : (j,) int64, noisy numbers of users by number of labels, see `cells`.
        sums : (3,) int64, noisy sums of the 10, 100 and 400 largest counts.
        """
        return choose_cap(self._expect(users, sums)).max_labels

    @property
    def cells(self) -> tuple[int, ...]:
        """Where the cells of a number of labels start; the last has all larger numbers."""
        return list_cells(self.max_labels)

    def tried(self, release: Release) -> list[TriedCap]:
        """Return the caps that were tried, and what was expected of each; post-processing."""
        noisy = self._numbers(release)
        return self._expect(noisy[NAME], noisy[SUMS])

    def share_cut(self, release: Release) -> Share:
        """Return the share of pairs of a user and a label that a release cut, an estimate.

        Counts are too low by so much on average over pairs, not each of them. Its lower end is at
        most the one that is proved for any users (`UsersBySize.share_cut`). Where noise alone may
        have made the numbers of users, nothing is known: the ends are 0 and 1. Post-processing.
        """
        cap = self.chosen(release).max_labels
        likely = next(each.share_cut for each in self.tried(release) if each.max_labels == cap)
        users = self.users(release)
        if users.may_be_noise:
            return Share(likely.value, 0.0, 1.0)
        return replace(likely, low=min(likely.low, users.share_cut().low) if likely.low else 0.0)

    def users(self, release: Release) -> UsersBySize:
        """Return how many users have how many labels, up to `max_labels`, with noise."""
        law = replace(self.law, scale=self.division.users_scale)
        cap = min(self.chosen(release).max_labels, self.cells[-1] - 1)
        return UsersBySize(self.cells, tuple(self._numbers(release)[NAME].tolist()), law, cap)

    def chosen(self, release: Release) -> ThresholdHistogram:
        """Return the threshold histogram of the cap that a release took.

        It has the noise and the threshold of the counts; its guarantee is that of this part alone.
        """
        return self.at(int(self._numbers(release)[CAP][0]))

    def at(self, cap: int) -> ThresholdHistogram:
        """Return the threshold histogram of a cap: the noise and the threshold of the counts.

        Parameters
        ----------
        cap : labels of a user that count, up to `max_labels`.
        """
        cap = whole_number(cap, "cap", 1, self.max_labels)
        scale = self.division.count_scale(cap)
        return ThresholdHistogram(
            epsilon=1 / scale,
            delta=self.delta,
            max_labels=cap,
            noise="gaussian",
            sums=None if self.sums is None else dict(self.sums),
            sums_share=self.sums_share,
        )

    def _expect(self, users: IntArray, sums: IntArray) -> list[TriedCap]:
        scales_of_sums = [self.division.sum_scale(change) for change in self._changes_of_sums]
        look = Look(
            (*self.cells, self.max_labels + 1),
            users.astype(float),
            sums / np.array(TOPS),
            float(self.division.users_scale),
            np.array(scales_of_sums, float) / TOPS,
        )
        scales = [float(self.division.count_scale(cap)) for cap in self.caps]
        delta = float(self.delta)
        thresholds = [
            threshold_at(scale, delta, cap) for scale, cap in zip(scales, self.caps, strict=True)
        ]
        return expect_errors(look, self.caps, scales, thresholds)

    def _numbers(self, release: Release) -> Mapping[str, IntArray]:
        self._check_asked(release, LEVEL)
        return release.noisy

    def intervals(self, release: Release, level: float = LEVEL) -> Intervals | None:
        """Return bounds on the count of each released label after the cut to the chosen cap."""
        self._check_asked(release, level)
        counts, width = release.value.counts, self.chosen(release).half_width(level)
        return Intervals(np.maximum(counts - width, 1), np.maximum(counts + width, 1), level)

    @property
    def threshold(self) -> Fraction:
        """The threshold at the largest cap, in records; that of a release is `chosen`'s."""
        return self._threshold_at(self.max_labels)

    def half_width(self, level: float = LEVEL) -> float:
        """Return that of the largest cap; that of a release is `chosen`'s."""
        return self.at(self.max_labels).half_width(level)

    def likely_count(self, chance: float) -> float:
        """Return that of the largest cap; that of a release is `chosen`'s."""
        return self.at(self.max_labels).likely_count(chance)

    @property
    def sum_answers(self) -> Mapping[str, SumAnswers]:
        """What is said of sums at the largest cap; of those of a release, `chosen` says it."""
        return self.at(self.max_labels).sum_answers if self.sums else {}

    def restore(self, value: object, noisy: Mapping[str, IntArray]) -> LabelTable:
        """Return a table that was read from a file; refuse noisy numbers that cannot be."""
        shapes = {NAME: (len(self.cells),), SUMS: (len(TOPS),), CAP: (1,)}
        if {name: held.shape for name, held in noisy.items()} != shapes:
            raise ParameterError("noisy", "must hold users, sums and the cap, as the release does")
        if int(noisy[CAP][0]) not in self.caps:
            raise ParameterError("noisy", "must hold a cap of the list")
        return LabelsMechanism.restore(self, value, noisy)

    def _answers(self, noisy: Mapping[str, IntArray]) -> NoiseAnswers:
        """Return what answers questions: the threshold histogram of the cap that was found."""
        return NoiseAnswers(self.at(int(noisy[CAP][0])))

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise on a count at a cap of 1."""
        form = f"{ROUNDED}; on counts, times the square root of the number that is found"
        return NoiseLaw("Gaussian", self.noise_scale, Drawing.ROUNDED, form)

    @property
    def description(self) -> str:
        """How a release is made."""
        return Sentence(
            "A look at how many {labels} {users} have, and at the sums of the largest counts, with "
            "Gaussian noise, decides how many {labels} of each {user} count. Then each {label}'s "
            "count gets Gaussian noise; a {label} is released if the sum is above the threshold "
            "(Rogers 2023, Algorithm 1)."
        )
