"""What every mechanism for labels that nobody listed beforehand shares, beside measuring."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from dphist.arrays import IntArray
from dphist.data.weight import to_records, to_unit
from dphist.labels.answers import NoiseAnswers
from dphist.labels.measuring import LARGEST_COUNT, LabelsMeasuring
from dphist.labels.sums import SumAnswers
from dphist.mechanism import ExpectedError, Intervals, Meaning, check_kind
from dphist.parameters import Exact, check_level, positive_delta, whole_number
from dphist.release.label_table import LabelTable
from dphist.release.release import Release
from dphist.sentence import Sentence

EPSILON = Meaning(
    meaning=Sentence(
        "Privacy parameter of a single {label}; the guarantee is of the whole release."
    )
)
DELTA = Meaning(
    meaning=Sentence(
        "Probability with which a {label} may betray {a_user}, in all {labels} together."
    ),
    not_given=Sentence("There is none: all {labels} are listed."),
)
MAX_LABELS = Meaning(
    meaning=Sentence("{Labels} that one {user} changes at most."),
    not_given=Sentence("One {user} may change any number of {labels}."),
)
MAX_COUNT = Meaning(meaning=Sentence("What one {user} adds to the count of a {label} at most."))
K = Meaning(meaning=Sentence("{Labels} that are listed at most."), symbol="K")
CANDIDATES = Meaning(meaning="How many of the largest counts are looked at.")
SUMMED = Meaning(
    meaning=Sentence("Columns that are summed for each {label}: low, high and step of a total."),
    not_given="No sums are released.",
    public=True,
    shown=lambda held: [f"{name}={clamp.to_text()}" for name, clamp in held.sums],
)
SHARE = Meaning(
    meaning=Sentence("Part of the cost of a {label} that pays for its sums."),
    needs=[("sums", "without sums all pays for counts")],
)

LEVEL = 0.95
"""Probability of the counts and intervals that are stated."""

LARGEST_BOUND = 2**40
"""Largest `max_labels` and `max_count`: thresholds and noise then stay far inside int64."""


class LabelsMechanism(LabelsMeasuring):
    """What every mechanism says of its releases, from noisy and public numbers alone.

    A mechanism derives from this and from its measuring half.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def threshold(self) -> int | Fraction | None:
        """Noisy counts above it are released, in records; None if labels are listed."""

    @abstractmethod
    def likely_count(self, chance: float) -> float:
        """Return the smallest count, in records, released with this probability or more.

        Of mechanisms that look at the largest counts only, that many above the next count.
        """

    @abstractmethod
    def half_width(self, level: float = LEVEL) -> float | None:
        """Return the smallest q at which the noise of a count is within q with this probability.

        None if no counts are released.
        """

    def expected_error(self) -> ExpectedError:
        """Return the count from which a label is released with 95 %, and the scale of the noise."""
        return ExpectedError(
            None if self.threshold is None else self.likely_count(LEVEL),
            self.half_width(LEVEL),
            self.noise_scale,
            LEVEL,
            self.largest_error,
        )

    @property
    def largest_error(self) -> float | None:
        """Noise never changes a count by more than this, in records; None if noise has no end.

        What was dropped where users were bounded comes on top.
        """
        return None

    def intervals(self, release: Release, level: float = LEVEL) -> Intervals | None:
        """Return bounds on the true count of each released label, in the order of its rows.

        They reach `half_width` to both sides, and not below 1 unless labels are listed: a label
        that nobody listed occurs. None if a release has no counts. Where noise ends, `level` may be
        1: then they reach `largest_error`, and always hold.
        """
        self._check_asked(release, level, most=None if self.largest_error is None else 1)
        counts, width = release.value.steps, NoiseAnswers(self).reach(level)
        if counts is None or width is None:
            return None
        least = -LARGEST_COUNT if self.threshold is None else 1
        ends = np.maximum(counts - width, least), np.maximum(counts + width, least)
        step = release.value.step
        low, high = ends if step is None else (to_unit(each, step) for each in ends)
        return Intervals(low, high, level)

    @property
    def most_unshown(self) -> float | None:
        """The largest noisy count, rounded, of a label that a release does not show.

        None if labels are listed: all are shown. Infinite if the threshold is above another count.
        """
        return None if self.threshold is None else least_shown(self)

    def reach_of_sum(self, labels: int, level: float = LEVEL) -> float:
        """Return how far the noise of a sum of fixed counts reaches; infinite if not known.

        Parameters
        ----------
        labels : how many counts are added, each with noise of its own.
        level : with this probability, at least.
        """
        check_level(level)
        whole_number(labels, "labels", 1)
        return math.inf

    @property
    def sum_answers(self) -> Mapping[str, SumAnswers]:
        """What is said of the sums of each column that was summed: none, for most mechanisms."""
        return {}

    def _answers(self, noisy: Mapping[str, IntArray]) -> NoiseAnswers:
        """Return what answers questions about a release with these noisy counts."""
        return NoiseAnswers(self)

    def _make_release(self, value: LabelTable, *given: Any, **more: Any) -> Release:
        answered = value.attach_answers(self._answers(more.get("noisy") or {}))
        return super()._make_release(answered, *given, **more)

    @classmethod
    def needs_delta(cls, **_parameters: Any) -> bool:
        """Whether the mechanism with these parameters has a delta of its own."""
        return True

    def restore(self, value: Any, noisy: Mapping[str, IntArray]) -> LabelTable:
        """Return a table that was read from a file; ValueError if it is none."""
        check_kind(value, LabelTable)
        table: LabelTable = value
        if table.step != self.step:
            raise ValueError("the mechanism counts in another unit")
        if table.sums != [*self.sum_answers]:
            raise ValueError("the mechanism releases other sums")
        return table.attach_answers(self._answers(noisy))


def least_shown(mechanism: LabelsMechanism) -> float:
    """Return the smallest noisy count, rounded, above a threshold that is a count.

    >>> from dphist import ThresholdHistogram
    >>> least_shown(ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1, noise="gaussian"))
    6
    """
    is_rounded = mechanism.law.distribution == "Gaussian"  # after it was compared
    step = mechanism.step
    steps = Fraction(mechanism.threshold or 0) / (step or 1)
    return to_records(math.floor(steps + Fraction(1, 2 if is_rounded else 1)), step)


def check_delta(delta: Exact | None) -> Fraction:
    """Return a delta above 0 and below 1, exactly."""
    return positive_delta(delta, "labels come from the data")


def check_bound(bound: object, name: str) -> int:
    """Return `max_labels` or `max_count`."""
    return whole_number(bound, name, 1, LARGEST_BOUND)
