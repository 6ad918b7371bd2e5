"""What a `ThresholdHistogram` says of its releases, from public numbers alone."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dphist.labels.answers import gaussian_reach, geometric_reach
from dphist.labels.mechanism import LEVEL, LabelsMechanism
from dphist.labels.sums import SumAnswers
from dphist.labels.threshold.bounded_noise import OptimalNoise, TruncatedNoise
from dphist.labels.threshold.correlation import CorrelatedNoise
from dphist.labels.threshold.known_labels import number_listed
from dphist.labels.threshold.law import gaussian_delta, geometric_delta, truncated_delta
from dphist.labels.threshold.measuring import ThresholdMeasuring
from dphist.labels.threshold.sharing import shared_in_words
from dphist.noise.law import Drawing, NoiseLaw
from dphist.noise.search import first_true
from dphist.parameters import checked_level, whole_number
from dphist.sentence import Sentence


class ThresholdStating(ThresholdMeasuring, LabelsMechanism):
    """Errors, chances and the law of the noise, in numbers and in words."""

    __slots__ = ()

    def half_width(self, level: float = LEVEL) -> int:
        """Return the smallest q at which the noise of a count is within q with this probability."""
        return self.noise_law().half_width(level)

    @property
    def largest_error(self) -> int | None:
        """Noise never changes a count by more than this, in records; None if noise has no end.

        What was dropped where users were bounded comes on top.
        """
        noise = self.noise_law()
        return noise.largest if isinstance(noise, TruncatedNoise | OptimalNoise) else None

    @property
    def spread(self) -> float:
        """Root mean square of the noise of a sum of `sums_of` counts, in records."""
        return self.noise_law().rms_of_sum(self.sums_of)

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
        return self.noise_law().rms_of_sum(number_listed(labels, self.released_labels))

    def reach_of_sum(self, labels: int, level: float = LEVEL) -> float:
        """Return how far the noise of a sum of that many fixed counts reaches, in records.

        It is within that with probability `level` or more (docs: proofs, answers, Lemma 4).
        """
        checked_level(level)
        labels = whole_number(labels, "labels", 1)
        noise = self.noise_law()
        if isinstance(noise, OptimalNoise):
            return noise.reach_of_sum(labels, level)
        if self.noise == "gaussian":
            return gaussian_reach(noise.rms_of_sum(labels), labels, level)
        return geometric_reach(self.noise_scale, labels, level)  # truncated noise has lower moments

    @property
    def reached_delta(self) -> Fraction:
        """The delta that the threshold really has, rounded up to 12 digits; at most `delta`.

        Where noise ends, the delta of its ends.
        """
        threshold, noise = self.threshold, self.noise_law()
        if self.delta is None:
            return Fraction(0)
        if isinstance(noise, TruncatedNoise):
            ends = noise.rate, noise.largest, self.delta, self.changed_labels, self.max_count
            return truncated_delta(*ends)
        if threshold is None or self.noise == "optimal":  # which uses all of it
            return self.delta
        bounds = (self.delta, self.max_labels, self.max_count)
        if isinstance(threshold, Fraction):
            return gaussian_delta(self.noise_scale, threshold, *bounds)
        return geometric_delta(1 / self.noise_scale, threshold, *bounds)

    def release_chance(self, count: int) -> float:
        """Return the probability with which a label of this count, in records, is released."""
        threshold, own = self.threshold, whole_number(count, "count", 0)
        if threshold is None:
            return 1.0
        return self.noise_law().chance_above(float(threshold - own))

    def likely_count(self, chance: float) -> int:
        """Return the least count, in records, released with this probability or more."""
        checked_level(chance, "chance")
        return max(first_true(lambda count: self.release_chance(count) >= chance), 1)

    @property
    def sum_answers(self) -> Mapping[str, SumAnswers]:
        """What is said of the sums of each column that was summed."""
        summed = self._sums
        if summed is None:
            return {}
        law, rounded = self.noise_law(), self.noise == "gaussian"
        return {
            name: SumAnswers(summed.noise_of(clamp), law, rounded) for name, clamp in summed.columns
        }

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise on each count of a label."""
        noise = self.noise_law()
        if not isinstance(noise, CorrelatedNoise):
            return noise.law
        form = "in part the same for all labels"
        return NoiseLaw("Gaussian", self.noise_scale, Drawing.SHARED, form)

    @property
    def description(self) -> str:
        """How a release is made."""
        sampler = self.noise_law()
        shared = f", {shared_in_words(sampler)}" if isinstance(sampler, CorrelatedNoise) else ""
        text = (
            "Each listed {label}'s count with {noise} noise{shared}, {labels} that do not occur "
            "included."
        )
        if self.other:
            text += " So is the count of all {labels} that are not listed, as other."
        if self.labels is None:
            text = (
                "Threshold (Rogers 2023, Algorithm 1). Each {label}'s count gets {noise} noise of "
                "its own; a {label} is released if the sum is above the threshold."
            )
        if self.noise == "optimal":
            text += (
                " The noise is made of the steps of the optimal chance of releasing a {label} "
                "(Desfontaines et al. 2022)."
            )
        if self.largest_error is not None:
            text += " The noise ends: it never changes a count by more than {largest:,} {records}."
        if self.users_by_labels is not None:
            text += " The numbers of {users} who have one {label}, two, and so on get noise too."
        if self.sums is not None:
            text += " Each column's total of a {label} that is released gets noise of its own."
        given: dict[str, Any] = {"noise": self.law.distribution, "largest": self.largest_error or 0}
        return Sentence(text, shared=shared, **given)
