"""What histograms by group say in few numbers and in texts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dphist.document.blocks import PlusMinus
from dphist.groups.estimates import GroupEstimate
from dphist.groups.histograms import HistogramsByGroup
from dphist.ranges.overview import axis_text, place_text, short_edges
from dphist.tables.keys import Value
from dphist.visible import harmless

SHARES = (0.1, 0.5, 0.9)
"""The quantiles that pages and summaries show."""
_LETTERS = 40  # of a group


@dataclass(frozen=True, slots=True)
class GroupLine:
    """What is shown of one group.

    Attributes
    ----------
    label : its value.
    count, low, high : estimated records in its bins, and their interval in whole numbers.
    quantiles : its `SHARES`.
    """

    label: Value
    count: float
    low: int
    high: int
    quantiles: Sequence[GroupEstimate]

    @property
    def median(self) -> GroupEstimate:
        """The quantile in the middle."""
        return self.quantiles[1]

    @property
    def name(self) -> str:
        """The group as text, made safe for terminals and pages."""
        return harmless(str(self.label), _LETTERS)


def make_lines(value: HistogramsByGroup) -> list[GroupLine]:
    """Return what is shown of each group, in the order of the groups."""
    quantiles = value.quantiles(SHARES).rows
    size, found = len(SHARES), []
    for place, row in enumerate(value.counts()):
        own = quantiles[place * size : (place + 1) * size]
        low, high = math.floor(row.low), math.ceil(row.high)
        found.append(GroupLine(row.group, row.value, low, high, own))
    return found


def sort_by_median(lines: Sequence[GroupLine]) -> list[GroupLine]:
    """Return the groups by ascending median; those without one last, in their order."""
    known = [line for line in lines if line.median.is_known]
    return sorted(known, key=lambda line: line.median.value) + [
        line for line in lines if not line.median.is_known
    ]


def estimate_total(value: HistogramsByGroup) -> tuple[float, PlusMinus]:
    """Return the records of all groups together; errors of groups are independent."""
    found = value.total()
    return found.value, PlusMinus(found.high - found.value)


def column_text(value: HistogramsByGroup) -> str:
    """Name the column that is binned."""
    return axis_text(value.histograms[0], 0)


def estimate_text(value: HistogramsByGroup, row: GroupEstimate) -> str:
    """Write a quantile; "not known" of a group that is too small."""
    if not row.is_known:
        return "not known"
    return place_text(value.axis.edges, row.value, value.axis.zone)


def interval_text(value: HistogramsByGroup, row: GroupEstimate) -> str:
    """Write the interval of a quantile; empty of a group that is too small."""
    if not row.is_known:
        return ""
    axis = value.axis
    ends = axis.edges[axis.positions([row.low, row.high])]
    return " to ".join(short_edges(ends, axis.zone))


def bins_text(value: HistogramsByGroup) -> str:
    """Say which bins there are.

    >>> from dphist.groups.mechanism import GroupedHistogram
    >>> made = GroupedHistogram(epsilon=50, groups={"a": ["x"]}, bins=4)
    >>> bins_text(made.release([[0, 80, 20, 0]]).value)
    '4, numbered from 0'
    """
    return f"{value.axis.bins:,}, {place_of_bins(value)}"


def place_of_bins(value: HistogramsByGroup) -> str:
    """Say where the bins begin and end."""
    axis = value.axis
    if not value.histograms[0].has_edges:
        return "numbered from 0"
    first, last = short_edges(axis.edges[[0, -1]], axis.zone)
    zone = f" ({axis.zone})" if axis.zone else ""
    return f"of {column_text(value)} from {first} to {last}{zone}"
