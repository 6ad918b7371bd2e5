"""Counts with noise, and of those the ones above a threshold (Rogers 2023, Algorithm 1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

from dphist.arrays import IntArray
from dphist.data.cells import check_most
from dphist.data.clamp import Clamp, read_share, read_sums
from dphist.data.weight import to_records
from dphist.labels.mechanism import (
    DELTA,
    EPSILON,
    LEVEL,
    MAX_COUNT,
    MAX_LABELS,
    SHARE,
    SUMMED,
    LabelsMechanism,
    check_bound,
)
from dphist.labels.sums import SumAnswers
from dphist.labels.threshold.bounded_noise import OptimalNoise
from dphist.labels.threshold.checks import (
    Noise,
    check_noise,
    check_strength,
    counts_totals,
    read_delta,
    read_weight_step,
)
from dphist.labels.threshold.choice import compare_noises, list_forms, list_noises
from dphist.labels.threshold.errors import (
    compute_chance,
    compute_reach,
    compute_reached_delta,
    find_largest_error,
    find_law,
    find_likely_count,
    list_sum_answers,
    to_whole_steps,
)
from dphist.labels.threshold.known_labels import is_other, number_listed, read_known_labels
from dphist.labels.threshold.measuring import BOUNDED
from dphist.labels.threshold.sharing import Correlated, is_correlated
from dphist.labels.threshold.users import ThresholdUsers
from dphist.labels.threshold.words import describe_threshold
from dphist.mechanism import parameter
from dphist.noise.law import NoiseLaw
from dphist.parameters import (
    Exact,
    check_level,
    privacy_parameter,
    whole_number,
)
from dphist.release.label_table import LabelTable
from dphist.release.mechanisms import savable
from dphist.sentence import Sentence


@savable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class ThresholdHistogram(ThresholdUsers, LabelsMechanism):
    """Counts with noise; of labels nobody listed, those with a noisy count above a threshold.

    Parameters
    ----------
    epsilon : number above 0; required.
        The parameter of a *single* label, as in the paper: what a release costs in all is
        `guarantee`. `dphist.calibrate` finds it from a total.
    delta : number above 0 and below 1
        Required unless `labels` are listed; then there is none, but for noise that ends.
    max_labels : int
        How many labels one user changes at most.
    max_count : int
        By how much one user changes the count of a label at most.
    noise : "laplace", "truncated", "optimal" or "gaussian"
        "laplace": two-sided geometric noise, the integer relative of Laplace noise. "truncated":
        the same, never beyond `largest_error`; labels are released from lower counts on. "optimal":
        ends, too, and releases each label with the largest chance possible at its share of this
        cost; only for a `max_count` of 1; its mean is within half a record of 0. "gaussian": real
        Gaussian noise.
        `dphist.calibrate(..., noise="best")` chooses.
    labels : sequence, optional
        Known labels: public, not taken from the data. Text, whole numbers, truth values or dates,
        of one kind; dates are held as ISO text. All of them are released, those that do not occur
        too, and labels that are not listed are ignored, or counted as `other`.
    other : bool
        Whether one more label, "other", is released beside `labels`, which are text: all labels
        that are not listed count under it. It costs what any listed label does. The data must be a
        `LabelCounts` made with these labels as `other_than`, as users are bounded afterwards.
    users_by_labels : int, optional
        Release also how many users have how many labels, before any is dropped: a number for each
        cell of numbers of labels, in `noisy["users"]`, with noise for one user. It says how much
        bounding took from the counts, see `users`. Users with this many labels or more are counted
        together; above `max_labels`, such as 1000. It costs as much as one more label a user. The
        data must be a `LabelCounts` made with the same bounds and `users_by_labels`.
    correlated : bool or "auto"
        Whether all listed labels have a part of their Gaussian noise in common, which lowers the
        noise of each count at the same cost where a user may change many of them. "auto": where
        the number of labels and `max_labels` make the variance notably lower. The noise of most
        sums of counts gets larger: see `error_of_sum`. Refuses counts that dphist has not made,
        unless their maker asserts `only_adds`. The attribute is True or False.
    sums_of : int
        Number of labels in the sums that are to have the smallest error (default: 1, single
        counts). Only correlated noise follows it.
    sums : mapping of str to Clamp, optional
        Release also sums of columns of numbers for each label shown: those of the data, which are
        made with the same `sums`. Labels are found by their counts alone. If `max_count` is 1, sums
        are taken about the middle of the clamp, which lowers their noise, and means are known: see
        `LabelTable.mean`.
    sums_share : number above 0 and below 1
        Part of what a label costs that pays for its sums, all alike (default: 1/2): of rho for
        Gaussian noise, of epsilon for other noise. The rest pays for its count.
    users_by_totals : bool
        Release also, for each of `sums`, how many users have which total, in
        `noisy["users_by_totals"]`, with noise for one user: each user is counted once, by the total
        that is farthest outside of the clamp, of one of their labels that count, shown or not. It
        says what clamping took from the sums, see `users_of_totals`. For each column it costs as
        much as one more label a user. The data must be made with `users_by_totals` as well.
    step : number, optional
        The unit of counts that are sums of weights: `step` of data that were counted with a
        `dphist.Weight`, such as 0.01. Noise and threshold are in whole steps, for a user who adds
        up to `max_count` records to a label; all that is released is in records. Not with optimal
        noise, `users_by_labels`, `correlated` or `sums`.

    Guarantee
    ---------
    Neighbors differ in one user, who adds at most `max_count` to each of at most `max_labels`
    labels. k is `max_labels`, or the number of listed labels if that is less. m is k; with `sums`,
    k `sums_share` / (1 - `sums_share`) more; with `users_by_labels` one more; and with
    `users_by_totals` one more for each of `sums`. The noise of sums never ends.

    - `guarantee`: `delta`-approximate rho-zCDP. rho is m epsilon**2 / 2 for Gaussian noise, rounded
      up; for all other at most m epsilon tanh(epsilon/2) without `sums`, and m epsilon
      tanh(m epsilon/2) with them. delta is 0 where labels are listed and noise does not end.
    - `epsilon_guarantee`, of all but Gaussian noise: (m epsilon, delta)-DP. Where noise ends:
      `docs/understand/proofs/bounded_noise.md`.
    - Gaussian noise: (E, d(E) + delta)-DP for every E >= 0, where d(E) is the exact delta of
      Gaussian noise for mu**2 = m epsilon**2 (Balle and Wang 2018, Theorem 8), and R releases
      together with R mu**2 and R delta, see `epsilon_at`. One release by itself, without numbers
      of users, is even (E, max(d(E), delta))-DP while d(E) is small, as a label of a user is new or
      shared, but not both (Wilkins et al. 2022; `docs/understand/proofs/threshold.md`, Lemma 8,
      which has the delta with numbers of users, too).
    - `correlated` noise: m begins with the smaller `weight` in place of k, as the squared distance
      is that of the worst user who *adds* to counts; data in which a user may also lower a count
      are not covered, and are refused (`docs/understand/proofs/correlated_noise.md`).

    Covered are labels, counts, number and order of the rows, and the numbers of users; not covered
    is the time it takes, and, if a bare frame is given instead of a `LabelCounts`, a promise that
    does not hold.

    Notes
    -----
    Released counts are integers, or with `step` its multiples, not bounded: those above a threshold
    are positive, those of listed labels may be negative, so that their sums stay unbiased (but with
    optimal noise, whose mean is not 0). Rows come by released count,
    the largest first, then by label. A released count of a label nobody listed is too large on
    average when the true one is near the threshold.
    """

    paper = "rogers2023"
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
        Sentence("Public list of {labels}; all are released, others are ignored."),
        not_given=Sentence("No list of {labels}: they come from the data."),
        public=True,
    )
    other: bool = parameter(
        Sentence("Whether all {labels} that are not listed are released as one more, other."),
        needs=[("labels", "without a list there are no others")],
    )
    users_by_labels: int | None = parameter(
        Sentence(
            "{Users} are counted by their number of {labels}; those with as many or more together."
        ),
        not_given=Sentence("It is not released how many {labels} {users} have."),
    )
    correlated: bool = parameter(
        Sentence("Whether all listed {labels} have a part of the noise in common."),
        needs=[("labels", "only listed labels can share noise")],
    )
    sums_of: int = parameter(
        Sentence("{Labels} in the sums that are to have a small error."),
        needs=[("correlated", "independent noise does not depend on it")],
    )
    sums: tuple[tuple[str, Clamp], ...] | None = parameter(**SUMMED)
    sums_share: Fraction = parameter(**SHARE)
    users_by_totals: bool = parameter(
        Sentence("Whether {users} are counted by the total that is farthest outside of the clamp."),
        needs=[("sums", "without sums no total is clamped")],
    )
    step: Fraction | None = parameter(
        "The unit of counts, which are sums of weights of rows.",
        Sentence("{Records} are counted whole, without weights."),
        symbol="STEP",
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
        other: bool = False,
        users_by_labels: int | None = None,
        correlated: Correlated = False,
        sums_of: int = 1,
        sums: Mapping[str, Clamp] | None = None,
        sums_share: Exact = "1/2",
        users_by_totals: bool = False,
        step: Exact | None = None,
    ) -> None:
        check_noise(noise, max_count, delta, listed=labels is not None)
        known = None if labels is None else read_known_labels(labels)
        number = None if known is None else len(known) + is_other(other, known)
        beside = {"users_by_labels": users_by_labels, "correlated": correlated, "sums": sums}
        self._hold(
            epsilon=privacy_parameter(epsilon, "epsilon"),
            delta=read_delta(delta, noise, listed=known is not None),
            max_labels=check_bound(max_labels, "max_labels"),
            max_count=check_bound(max_count, "max_count"),
            noise=noise,
            labels=known,
            other=is_other(other, known),
            users_by_labels=None
            if users_by_labels is None
            else check_most(users_by_labels, check_bound(max_labels, "max_labels")),
            sums_of=whole_number(sums_of, "sums_of", 1, 1 if number is None else number),
            sums=read_sums(sums) or None,
            sums_share=read_share(sums_share),
            users_by_totals=counts_totals(users_by_totals, sums),
            step=None if step is None else read_weight_step(step, max_count, noise, **beside),
        )
        public = (noise, number, self.changed_labels, self.sums_of, self.noise_scale)
        self._hold(correlated=is_correlated(correlated, *public))
        check_strength(self)

    @classmethod
    def calibration_forms(cls, delta: Exact, **parameters: Any) -> list[dict[str, Any]]:
        """Return the parameters among which `dphist.calibrate` takes those of the least error.

        Which noise is the best one depends on the total, so a mechanism made by hand cannot decide
        it.
        """
        return list_forms(delta, parameters)

    @property
    def calibration_order(self) -> tuple[float, float]:
        """What the best form has the least of: the count released with 95 %, then `spread`."""
        return (0 if self.threshold is None else self.likely_count(LEVEL)), self.spread

    @property
    def share_order(self) -> tuple[Any, Any]:
        """What the best share of delta has the least of: the threshold, or the largest error.

        Of optimal noise the count released with 95 %, and of equal ones the larger delta is better.
        """
        noise = self.noise_law()
        if isinstance(noise, OptimalNoise):
            return noise.count_shown(LEVEL), -noise.delta
        return (self.largest_error if self.threshold is None else self.threshold), 0

    def compare_noises(self) -> dict[str, "ThresholdHistogram"]:
        """Return what each noise gives at the same target, by the noise's name, the best first.

        It says why ``dphist.calibrate(..., noise="best")`` took one of them: `calibration_order` of
        each is what is compared. For listed labels "best" is the first that does not end.

        Raises
        ------
        ParameterError
            If the mechanism was not calibrated to a target.

        Examples
        --------
        >>> from dphist import calibrate
        >>> made = calibrate(
        ...     ThresholdHistogram, epsilon="0.1", delta="1e-6", max_labels=1, noise="best"
        ... )
        >>> for noise, other in made.compare_noises().items():
        ...     print(noise, other.expected_error().appears_from)
        optimal 132
        truncated 133
        laplace 156
        gaussian 234
        """
        return compare_noises(self, get_args(Noise))

    @classmethod
    def noises_compared(cls, **parameters: Any) -> Sequence[str]:
        """Return the noises of which `dphist.for_error` takes that of the least epsilon."""
        return list_noises(parameters)

    @classmethod
    def needs_delta(
        cls, labels: Sequence[Any] | None = None, noise: str = "laplace", **_parameters: Any
    ) -> bool:
        """Whether there is a delta: not where labels are listed, unless noise ends."""
        return labels is None or noise in BOUNDED

    def half_width(self, level: float = LEVEL) -> float:
        """Return the smallest q at which the noise of a count is within q with this probability."""
        return to_records(self.noise_law().half_width(level), self.step)

    @property
    def largest_error(self) -> float | None:
        """Noise never changes a count by more than this, in records; None if noise has no end.

        What was dropped where users were bounded comes on top.
        """
        return find_largest_error(self)

    @property
    def spread(self) -> float:
        """Root mean square of the noise of a sum of `sums_of` counts, in records."""
        return self.noise_law().rms_of_sum(self.sums_of) * float(self.step or 1)

    def error_of_sum(self, labels: Sequence[Any]) -> float:
        """Return the standard error of the sum of the released counts of listed labels, in records.

        It is that of the noise, before counts are rounded to whole records. Where noise is
        correlated it grows with the number of labels, and for few labels with its root.

        Parameters
        ----------
        labels : some of the listed labels, each once.

        Raises
        ------
        ParameterError
            If no labels are listed, or a label is not listed or repeated.
        """
        number = number_listed(labels, self.released_labels)
        return self.noise_law().rms_of_sum(number) * float(self.step or 1)

    def reach_of_sum(self, labels: int, level: float = LEVEL) -> float:
        """Return how far the noise of a sum of that many fixed counts reaches, in records.

        It is within that with probability `level` or more (docs: proofs, answers, Lemma 4).
        """
        check_level(level)
        labels = whole_number(labels, "labels", 1)
        return compute_reach(self, labels, level) * float(self.step or 1)

    @property
    def reached_delta(self) -> Fraction:
        """The delta that the threshold really has, rounded up to 12 digits; at most `delta`.

        Where noise ends, the delta of its ends.
        """
        return compute_reached_delta(self)

    def release_chance(self, count: Exact) -> float:
        """Return the probability with which a label of this count, in records, is released.

        Where rows have weights, of this many records, rounded down to whole steps.
        """
        return compute_chance(self, to_whole_steps(count, self.step))

    def likely_count(self, chance: float) -> float:
        """Return the least count, in records, released with this probability or more."""
        return find_likely_count(self, chance)

    @property
    def sum_answers(self) -> Mapping[str, SumAnswers]:
        """What is said of the sums of each column that was summed."""
        return list_sum_answers(self)

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise on each count of a label."""
        return find_law(self)

    @property
    def description(self) -> str:
        """How a release is made."""
        return describe_threshold(self)

    def restore(self, value: Any, noisy: Mapping[str, IntArray]) -> LabelTable:
        """Return a table that was read from a file; refuse noisy numbers that cannot be."""
        self.users(noisy)
        self.users_of_totals(noisy)
        return LabelsMechanism.restore(self, value, noisy)
