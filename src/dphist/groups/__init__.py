"""Groups: a histogram over ranges, with its quantiles, for each group of a table."""

from dphist.groups.estimates import GroupEstimates
from dphist.groups.grouped_counts import GroupedCounts
from dphist.groups.histograms import HistogramsByGroup
from dphist.groups.mechanism import GroupedHistogram

__all__ = ["GroupEstimates", "GroupedCounts", "GroupedHistogram", "HistogramsByGroup"]
