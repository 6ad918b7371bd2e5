"""The released value of a universal histogram: bins, and answers to ranges of them."""

from dphist.release.range_histogram.value import Answers, RangeHistogram

__all__ = ["Answers", "RangeHistogram"]
