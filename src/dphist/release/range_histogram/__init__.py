"""The released value of a ranges mechanism: bins, and answers to range queries."""

from dphist.release.range_histogram.value import Answers, RangeHistogram

__all__ = ["Answers", "RangeHistogram"]
