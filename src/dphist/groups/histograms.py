"""HistogramsByGroup: what is released, a histogram over the same bins for each group."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.data.axis.axis import Axis
from dphist.errors import ParameterError
from dphist.groups.estimates import GroupEstimate, GroupEstimates
from dphist.groups.grouping import find_group, list_labels, read_groups
from dphist.release.document import read_numbers
from dphist.release.interval_estimate import IntervalEstimate
from dphist.release.quantiles import read_shares, several
from dphist.release.range_histogram import RangeHistogram
from dphist.release.range_histogram.answers import ERRORS
from dphist.release.release import save_kind
from dphist.release.tabular import Released
from dphist.tables.keys import Keys, Value


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class HistogramsByGroup(Released):
    """Released histograms over the same bins, one for each group. Not secret.

    Attributes
    ----------
    groups : Keys
        The column of the groups with their values, listed or found, in order.
    histograms : tuple of RangeHistogram, one for each group.

    Notes
    -----
    All methods are post-processing and cost nothing. Groups share no record, so errors of
    different groups are independent. Intervals are of each group by itself: of 50 groups, two or
    three may lie outside.
    """

    groups: Keys
    histograms: tuple[RangeHistogram, ...]

    @property
    def name(self) -> str:
        """The column of the groups."""
        return find_group(self.groups).name

    @property
    def labels(self) -> tuple[Value, ...]:
        """The groups, in order; "other" is last."""
        return list_labels(self.groups)

    @property
    def axis(self) -> Axis:
        """The bins of all groups."""
        return self.histograms[0].axes[0]

    def __len__(self) -> int:
        return len(self.histograms)

    def __iter__(self) -> Iterator[Value]:
        return iter(self.labels)

    def __getitem__(self, label: Value) -> RangeHistogram:
        """Return the histogram of a group.

        Raises
        ------
        ParameterError
            If there is no such group.
        """
        for place, known in enumerate(self.labels):
            if known == label and type(known) is type(label):
                return self.histograms[place]
        raise ParameterError(
            "group",
            f"must be one of the {len(self)} groups of {self.name!r}",
            "see labels; a group that was not listed or found has no number",
        )

    def quantile(self, q: Any, *, simultaneous: bool = False) -> GroupEstimates:
        """Return the value below which a share `q` of the records of each group lies.

        Parameters
        ----------
        q : number from 0 to 1, or a list or array of them: all come from the same release, and cost
            nothing more than one.
        simultaneous : whether all intervals hold at once with a probability of about 95 %, those
            of all groups and all of `q`. Otherwise each holds by itself.

        Returns
        -------
        GroupEstimates, a row for each group and each of `q`: see `RangeHistogram.quantile`.

        Raises
        ------
        ParameterError
            If `q` is not from 0 to 1.
        """
        shares = read_shares(q).ravel()
        number = several(simultaneous, len(self) * len(shares))
        rows = []
        for label, histogram in zip(self.labels, self.histograms, strict=True):
            found = histogram.quantiles_among(shares, number)
            rows += [
                GroupEstimate(label, share, each)
                for share, each in zip(shares.tolist(), found, strict=True)
            ]
        return GroupEstimates(self.name, tuple(rows))

    def quantiles(self, q: Any, *, simultaneous: bool = False) -> GroupEstimates:
        """Return several quantiles of each group: as `quantile`."""
        return self.quantile(q, simultaneous=simultaneous)

    def median(self) -> GroupEstimates:
        """Return the median of each group: `quantile` of 0.5."""
        return self.quantile(0.5)

    def mean(self) -> GroupEstimates:
        """Return the mean of each group: see `RangeHistogram.mean`."""
        rows = (
            GroupEstimate(label, None, histogram.mean())
            for label, histogram in zip(self.labels, self.histograms, strict=True)
        )
        return GroupEstimates(self.name, tuple(rows))

    def counts(self) -> GroupEstimates:
        """Return the number of records in the bins of each group, with its interval.

        It is known for every group, also of an empty one.
        """
        rows = []
        for label, histogram in zip(self.labels, self.histograms, strict=True):
            bins = histogram.counts.size
            low, high = histogram.interval_bins(0, bins)
            whole = IntervalEstimate(histogram.count_bins(0, bins), low, high)
            rows.append(GroupEstimate(label, None, whole))
        return GroupEstimates(self.name, tuple(rows))

    def total(self) -> IntervalEstimate:
        """Return the number of records in all groups together, with its 95 % interval.

        It is estimated before counts are made non-negative, which makes those of small groups too
        large on average: of many groups, `counts` may add up to clearly more.
        """
        found = [_estimate_records(histogram) for histogram in self.histograms]
        estimate = sum(count for count, _ in found)
        width = ERRORS * math.hypot(*(error for _, error in found))
        low, high = max(estimate - width, 0.0), max(estimate + width, 0.0)
        return IntervalEstimate(max(estimate, 0.0), low, high)

    def to_arrow(self) -> pa.Table:
        """Return a row for each bin of each group: the group, start, stop, count and error."""
        return self.join_groups(each.to_arrow() for each in self.histograms)

    def join_groups(self, tables: Iterable[pa.Table]) -> pa.Table:
        """Return the tables of all groups, in their order, as one with the group ahead."""
        parts = []
        texts = len({type(label) for label in self.labels}) > 1
        for label, table in zip(self.labels, tables, strict=True):
            named = pa.array([str(label) if texts else label] * table.num_rows)
            parts.append(table.add_column(0, self.name, named))
        return pa.concat_tables(parts)

    def with_axis(self, axis: Axis) -> "HistogramsByGroup":
        """Return the same histograms with edges."""
        return replace(
            self, histograms=tuple(replace(each, axes=(axis,)) for each in self.histograms)
        )

    def infer_again(self, decoded: "HistogramsByGroup") -> "HistogramsByGroup":
        """Return what was decoded from the same noisy counts, with the edges of this."""
        return decoded.with_axis(self.axis) if self.histograms[0].has_edges else decoded

    def complete(self, decoded: "HistogramsByGroup") -> "HistogramsByGroup":
        """Return this value with what answers ranges, as decoded from its noisy counts."""
        if self.groups != decoded.groups or len(self) != len(decoded):
            raise ValueError("the groups are not those of the noisy counts")
        pairs = zip(self.histograms, decoded.histograms, strict=True)
        return replace(self, histograms=tuple(one.complete(two) for one, two in pairs))

    def to_content(self) -> dict[str, Any]:
        """Return a JSON object for saving."""
        first = self.histograms[0]
        return {
            "groups": self.groups.to_content(),
            "axis": first.axes[0].to_content() if first.has_edges else None,
            "bins": [each.counts.tolist() for each in self.histograms],
        }

    @classmethod
    def from_content(cls, content: Any) -> "HistogramsByGroup":
        """Make histograms from the result of `to_content`.

        Raises
        ------
        KeyError, TypeError, ValueError
        """
        if {*content} != {"groups", "axis", "bins"}:
            raise ValueError("histograms by group have groups, an axis and bins")
        groups = read_groups(content["groups"])
        if groups.discovering or len(content["bins"]) != find_group(groups).size:
            raise ValueError("there is not one histogram for each group")
        axes = () if content["axis"] is None else (Axis.from_content(content["axis"]),)
        bins = [read_numbers(each) for each in content["bins"]]
        sizes = {each.shape for each in bins} | {(axis.bins,) for axis in axes}
        if len(sizes) != 1 or len(bins[0].shape) != 1:
            raise ValueError("all groups have the same bins")
        return cls(groups, tuple(RangeHistogram(each, axes) for each in bins))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HistogramsByGroup):
            return NotImplemented
        return self.to_content() == other.to_content()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"HistogramsByGroup({self.name!r}, {len(self)} groups, {self.axis.bins:,} bins)"


def _estimate_records(histogram: RangeHistogram) -> tuple[float, float]:
    """Return all records of a group, right on average, and the standard error of that."""
    if histogram.answers is None:
        return float(histogram.counts.sum()), float(histogram.error_bins(0, histogram.counts.size))
    count, error = histogram.answers.count_unclipped(
        [np.array([0])], [np.array([histogram.counts.size])]
    )
    return float(count[0]), float(error[0])


save_kind("groups", HistogramsByGroup)
