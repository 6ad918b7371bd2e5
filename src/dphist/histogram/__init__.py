"""The released value of a universal histogram: bins, and answers to ranges of them."""

from dphist.histogram.value import Answers, RangeHistogram

__all__ = ["Answers", "RangeHistogram"]
