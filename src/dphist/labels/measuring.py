"""The measuring halves of mechanisms: they see counts of labels, and draw noise."""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, final

import pyarrow as pa

from dphist.arrays import IntArray
from dphist.counting import LARGEST
from dphist.data.guard import refuse_guarded
from dphist.data.label_counts import LabelCounts
from dphist.data.weight import say_step
from dphist.errors import Argument, BoundsError, ParameterError
from dphist.mechanism import MechanismBase
from dphist.noise.inversion import Source
from dphist.noise.lazy import GAUSSIAN, GUMBEL, LazyNoise
from dphist.noise.quantiles import GRID, logarithm_above, normal_quantile_above
from dphist.privacy import ApproxZCDP, PrivacyUnit
from dphist.release.label_table import LabelTable
from dphist.release.release import Release
from dphist.release.stated import make_provenance
from dphist.release.tabular import refuse_released

LARGEST_COUNT = LARGEST
"""Larger counts are clamped to this; clamping never increases a difference."""


class LabelsMeasuring(MechanismBase):
    """What every measuring half shares: the unit, and which data are accepted.

    Attributes
    ----------
    epsilon : the papers' parameter of a single label; what a release costs is `guarantee`.
    delta : the probability with which a label may betray a user, or None if none can.
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
    def step(self) -> Fraction | None:
        """The unit of counts that are sums of weights; None if they are whole records."""
        return None

    @property
    def _unit(self) -> PrivacyUnit:
        """What is protected: one user, up to the bounds."""
        return make_user_unit(self.max_labels, self.max_count)

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
        value, beside = self._measure(counts, source)
        return self._make_release(
            value, counts, source, noisy=beside, provenance=make_provenance(counts)
        )

    def _measure(
        self, counts: LabelCounts, source: Source | None
    ) -> tuple[LabelTable, Mapping[str, IntArray]]:
        """Draw noise for accepted counts; return the labels, and numbers beside them by name."""
        return self._draw(counts, source), self._draw_beside(counts, source)

    @abstractmethod
    def _draw(self, counts: LabelCounts, source: Source | None) -> LabelTable:
        """Draw noise for accepted counts, and return what is released."""

    def _draw_beside(self, counts: LabelCounts, source: Source | None) -> Mapping[str, IntArray]:
        """Draw noise for what is released beside the labels, by name: nothing, for most."""
        return {}

    @property
    def noise_scale(self) -> Fraction:
        """max_count / epsilon: standard deviation of Gaussian noise, scale of other noise."""
        return self.max_count / self.epsilon

    def _accept(self, table: object) -> LabelCounts:
        """Return the data as counted labels, refusing bounds that are not protected.

        The bounds of a bare frame are the caller's promise: they are the mechanism's.
        """
        refuse_guarded(table)
        refuse_released(table, "table")
        self._check_list(table.other_than if isinstance(table, LabelCounts) else None)
        if not isinstance(table, LabelCounts):
            self._check_step(None)
            return LabelCounts.promised(table, self.max_labels, self.max_count)
        self._check_step(table.step)
        if not _is_within(table.max_labels, self._protected_labels()):
            raise _make_bounds_error("max_labels", table.max_labels, self.max_labels)
        if table.max_count > self.max_count:
            raise _make_bounds_error("max_count", table.max_count, self.max_count)
        _check_described(self.listed_labels, table.described)
        return table

    def _protected_labels(self) -> int | None:
        """Return the largest `max_labels` of data this mechanism protects; None for any."""
        return self.max_labels

    def _check_step(self, held: Fraction | None) -> None:
        """Refuse data whose counts have another unit than the noise."""
        own = self.step
        if held != own:
            raise BoundsError(
                f"the table was counted {say_step(held)}, and the mechanism is for tables counted "
                f"{say_step(own)}: make it by ThresholdHistogram(..., step=counts.step) of a table "
                "that LabelCounts.from_table has counted"
            )

    @property
    def listed_labels(self) -> tuple[Any, ...] | None:
        """The public labels that are released whatever the data are; None if they are found."""
        return None

    @property
    def other_than(self) -> tuple[str, ...] | None:
        """The listed labels, if all others are released as one, "other"; None if they are not."""
        return None

    def _check_list(self, other_than: Sequence[str] | None) -> None:
        """Refuse data in which other labels count as "other" than those of this mechanism."""
        own = self.other_than
        if own is None and other_than is not None:
            raise BoundsError(
                "the table was counted with "
                + Argument("other_than")
                + ", so its labels that are not listed are one: release it by ThresholdHistogram "
                "with these labels as " + Argument("labels") + " and " + Argument("other", True)
            )
        if own is not None and (other_than is None or {*own} != {*other_than}):
            raise BoundsError(
                Argument("other", True)
                + " needs a table in which all labels but the mechanism's own were counted as "
                "one, before users were bounded: count it with LabelCounts.from_table(..., "
                + Argument("other_than")
                + "=mechanism.labels)"
            )


def make_user_unit(max_labels: int | None, max_count: int) -> PrivacyUnit:
    """Return the unit that mechanisms for labels protect."""
    return PrivacyUnit("user", bounds={"max_labels": max_labels, "max_count": max_count})


def sort_released(
    table: pa.Table, sums: Sequence[str] = (), step: Fraction | None = None
) -> LabelTable:
    """Order released rows by released count, the largest first, then by label.

    So the order is a function of what is released, whatever order the rows came in.

    Parameters
    ----------
    sums : names of the columns that follow label and count.
    step : the unit of the counts; None if they are records.
    """
    rows = table.sort_by([("count", "descending"), ("label", "ascending")])
    found = {name: rows.column(place).to_numpy() for place, name in enumerate(sums, start=2)}
    return LabelTable(rows.select(["label", "count"]), sums=found, step=step)


def _check_described(own: Sequence[Any] | None, listed: Sequence[Any] | None) -> None:
    """Refuse other public labels than the owner of the data listed: nobody vouches for those."""
    if own is None or listed is None:
        return
    if not listed:
        fault = "must be left out: the description of the data has bins of this column"
        raise ParameterError("labels", fault)
    if [(type(each), each) for each in own] != [(type(each), each) for each in listed]:
        fault = "must be what the description of the data lists of this column, in that order"
        raise ParameterError("labels", fault, "pass these; labels of text files are text")


def _is_within(bound: int | None, protected: int | None) -> bool:
    return protected is None or (bound is not None and bound <= protected)


def _make_bounds_error(name: str, bound: int | None, protected: int | None) -> BoundsError:
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


class TopLabelsMeasuring(LabelsMeasuring):
    """What sees the data: `docs/understand/proofs/top_labels.md`."""

    __slots__ = ()

    delta: Fraction
    k: int
    candidates: int

    @property
    def guarantee(self) -> ApproxZCDP:
        """k choices by the exponential mechanism, epsilon**2 / 8 each (Rogers 2023, Theorem 9)."""
        return ApproxZCDP(self.k * self.epsilon**2 / 8, self.delta, self._unit)

    @property
    def threshold(self) -> Fraction:
        """How far above the next count the threshold lies, noise apart, in records; rounded up."""
        differing = self.candidates
        if self.max_labels is not None:
            differing = min(differing, self.max_labels)
        return self.max_count + self.noise_scale * logarithm_above(differing / self.delta)

    def _draw(self, counts: LabelCounts, source: Source | None) -> LabelTable:
        largest = counts.largest(self.candidates + 1)
        chosen = self.choose(largest["count"].to_pylist(), source)
        labels = largest["label"].take(pa.array(chosen, pa.int64()))
        if len(chosen) < self.k:
            labels = pa.chunked_array([*labels.chunks, pa.nulls(1, labels.type)])
        return LabelTable(pa.table({"label": labels}))

    def _protected_labels(self) -> int | None:
        """Where the threshold does not use `max_labels`, any number is protected."""
        bound = self.max_labels
        return None if bound is None or bound >= self.candidates else bound

    def choose(self, counts: Sequence[int], source: Source | None = None) -> list[int]:
        """Return places in `counts`, the largest `candidates` + 1, in the order released."""
        next_count = counts[self.candidates] if len(counts) > self.candidates else 0
        # Order and threshold are the same with next_count taken away everywhere.
        centers = [c - next_count for c in counts[: self.candidates]]
        noise = LazyNoise(GUMBEL, self.noise_scale, [*centers, self.threshold], source)
        return noise.descending_above(len(centers), self.k)


class TopThresholdMeasuring(LabelsMeasuring):
    """What sees the data: `docs/understand/proofs/top_labels.md`."""

    __slots__ = ()

    delta: Fraction
    k: int
    max_labels: int

    @property
    def guarantee(self) -> ApproxZCDP:
        """Rogers 2023, Theorem 8."""
        return ApproxZCDP(self.max_labels * self.epsilon**2 / 2, self.delta, self._unit)

    @property
    def threshold(self) -> Fraction:
        """How far above the next count the threshold lies, noise apart, in records; rounded up."""
        root_two = Fraction(math.isqrt(2 << 2 * GRID) + 1, 1 << GRID)
        quantile = normal_quantile_above(self.delta / self.max_labels)
        return self.max_count + root_two * self.noise_scale * quantile

    def _draw(self, counts: LabelCounts, source: Source | None) -> LabelTable:
        largest = counts.largest(self.k + 1)
        found = self.measure(largest["count"].to_pylist(), source)
        released = pa.table(
            {
                "label": largest["label"].take(pa.array([i for i, _ in found], pa.int64())),
                "count": pa.array([count for _, count in found], pa.int64()),
            }
        )
        return sort_released(released)

    def measure(self, counts: list[int], source: Source | None = None) -> list[tuple[int, int]]:
        """Return (place, noisy count) of those above the threshold; counts: the largest k + 1.

        Empty labels, which the algorithm pads with, are never released: they get no noise.
        """
        next_count = counts[self.k] if len(counts) > self.k else 0
        centers = [c - next_count for c in counts[: self.k]]
        noise = LazyNoise(GAUSSIAN, self.noise_scale, [*centers, self.threshold], source)
        above = noise.descending_above(len(centers), len(centers))
        return [(i, _clip(next_count + noise.rounded(i))) for i in above]


def _clip(count: int) -> int:
    return min(max(count, -LARGEST_COUNT), LARGEST_COUNT)
