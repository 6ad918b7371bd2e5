"""What every mechanism for labels that nobody listed beforehand shares."""

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, final

import numpy as np
import pyarrow as pa

from dphist.arrays import IntArray
from dphist.data.guard import refuse_guarded
from dphist.data.label_counts import LabelCounts
from dphist.errors import Argument, BoundsError
from dphist.mechanism import ExpectedError, Intervals, Meaning, MechanismBase, check_kind
from dphist.noise.inversion import Source
from dphist.parameters import Exact, positive_delta, privacy_parameter, whole_number
from dphist.privacy import PrivacyUnit
from dphist.release.label_table import LabelTable
from dphist.release.release import Release, provenance_of
from dphist.release.released import refuse_released
from dphist.sentence import Sentence
from dphist.tables import LARGEST

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

LEVEL = 0.95
"""Probability of the counts and intervals that are stated."""

LARGEST_BOUND = 2**40
"""Largest `max_labels` and `max_count`: thresholds and noise then stay far inside int64."""

LARGEST_COUNT = LARGEST
"""Larger counts are taken for this; that moves no two counts further apart."""


class LabelsMechanism(MechanismBase):
    """A frozen mechanism: parameters and guarantee before data, then `release`.

    Attributes
    ----------
    epsilon : the papers' parameter of a single label; what a release costs is `guarantee`.
    delta : the probability with which a label may betray a user, or None where none can.
    max_labels : how many labels one user changes at most; None if that is not bounded.
    max_count : by how much one user changes the count of a label at most.
    noise : "laplace", "gaussian" or "gumbel".
    """

    __slots__ = ()

    epsilon: Fraction
    delta: Fraction | None
    max_labels: int | None
    max_count: int
    noise: str

    @property
    def _unit(self) -> PrivacyUnit:
        """What is protected: one user, of whom so much is counted at most."""
        return user_of(self.max_labels, self.max_count)

    @final
    def release(self, table: object, source: Source | None = None) -> Release:
        """Release the labels: the only place that sees data and draws noise.

        Parameters
        ----------
        table : LabelCounts, or a frame Narwhals reads with columns label and count
            Of a frame the bounds are the caller's promise: they are the mechanism's. Rows of one
            label are added up.
        source : callable, optional
            `source(n)` returns n random bytes. For tests only: the release says so.

        Returns
        -------
        Release
            Of a LabelTable.

        Raises
        ------
        BoundsError
            If the table was made with larger bounds than this mechanism protects.
        ColumnError
            If a column of a frame, or the kind of the listed labels, does not serve.
        """
        counts = self._accept(table)
        value = self._drawn(counts, source)
        beside = self._drawn_beside(counts, source)
        return self._given_out(
            value, counts, source, noisy=beside, provenance=provenance_of(counts)
        )

    @abstractmethod
    def _drawn(self, counts: LabelCounts, source: Source | None) -> LabelTable:
        """Draw noise for accepted counts, and return what is released."""

    def _drawn_beside(self, counts: LabelCounts, source: Source | None) -> Mapping[str, IntArray]:
        """Draw noise for what is released beside the labels, by name: nothing, for most."""
        return {}

    @property
    def noise_scale(self) -> Fraction:
        """max_count / epsilon: standard deviation of Gaussian noise, scale of other noise."""
        return self.max_count / self.epsilon

    @property
    @abstractmethod
    def threshold(self) -> int | Fraction | None:
        """Noisy counts above it are released, in records; None where labels are listed."""

    @abstractmethod
    def likely_count(self, chance: float) -> int:
        """Return the smallest count, in records, released with this probability or more.

        Of mechanisms that look at the largest counts only, that many above the next count.
        """

    @abstractmethod
    def half_width(self, level: float = LEVEL) -> int | None:
        """Return the smallest q at which the noise of a count is within q with this probability.

        None where no counts are released.
        """

    def expected_error(self) -> ExpectedError:
        """Return the count from which a label is released with 95 %, and the scale of the noise."""
        return ExpectedError(
            None if self.threshold is None else self.likely_count(LEVEL),
            self.half_width(LEVEL),
            self.noise_scale,
            LEVEL,
        )

    def intervals(self, release: Release, level: float = LEVEL) -> Intervals | None:
        """Return bounds on the true count of each released label, in the order of its rows.

        They reach `half_width` to both sides, and not below 1 unless labels are listed: a label
        that nobody listed occurs. None where a release has no counts.
        """
        self._check_asked(release, level)
        counts, width = release.value.counts, self.half_width(level)
        if counts is None or width is None:
            return None
        least = -LARGEST_COUNT if self.threshold is None else 1
        return Intervals(
            np.maximum(counts - width, least), np.maximum(counts + width, least), level
        )

    @classmethod
    def needs_delta(cls, **_parameters: Any) -> bool:
        """Whether the mechanism with these parameters has a delta of its own."""
        return True

    def restored(self, value: Any, noisy: Mapping[str, IntArray]) -> LabelTable:
        """Return a table that was read from a file; ValueError if it is none."""
        check_kind(value, LabelTable)
        table: LabelTable = value
        return table

    def _accept(self, table: object) -> LabelCounts:
        """Return the data as counted labels, refusing bounds that are not protected.

        The bounds of a bare frame are the caller's promise: they are the mechanism's.
        """
        refuse_guarded(table)
        refuse_released(table, "table")
        if not isinstance(table, LabelCounts):
            return LabelCounts.promised(table, self.max_labels, self.max_count)
        if not _within(table.max_labels, self._protected_labels()):
            raise _exceeded("max_labels", table.max_labels, self.max_labels)
        if table.max_count > self.max_count:
            raise _exceeded("max_count", table.max_count, self.max_count)
        return table

    def _protected_labels(self) -> int | None:
        """Return the largest `max_labels` of data this mechanism protects; None for any."""
        return self.max_labels


def user_of(max_labels: int | None, max_count: int) -> PrivacyUnit:
    """Return the unit that mechanisms for labels protect."""
    return PrivacyUnit("user", bounds={"max_labels": max_labels, "max_count": max_count})


def in_released_order(table: pa.Table) -> LabelTable:
    """Order released rows by released count, the largest first, then by label.

    So the order is a function of what is released, whatever order the rows came in.
    """
    return LabelTable(table.sort_by([("count", "descending"), ("label", "ascending")]))


def checked_epsilon(epsilon: Exact) -> Fraction:
    """Return epsilon of a single label, exactly."""
    return privacy_parameter(epsilon, "epsilon")


def checked_delta(delta: Exact | None) -> Fraction:
    """Return a delta above 0 and below 1, exactly."""
    return positive_delta(delta, "labels come from the data")


def checked_bound(bound: object, name: str) -> int:
    """Return `max_labels` or `max_count`."""
    return whole_number(bound, name, 1, LARGEST_BOUND)


def _within(bound: int | None, protected: int | None) -> bool:
    return protected is None or (bound is not None and bound <= protected)


def _exceeded(name: str, bound: int | None, protected: int | None) -> BoundsError:
    made_with = "no bound " + Argument(name) if bound is None else Argument(name, bound)
    own = Argument(name, protected)
    return BoundsError(
        "the table was made with "
        + made_with
        + ", the mechanism protects "
        + own
        + ": count the table with "
        + own
        + ", or make the mechanism for what the table has"
    )
