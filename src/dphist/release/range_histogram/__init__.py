"""The released value of a ranges mechanism: bins, and answers to range queries."""

from dphist.release.range_histogram.answers import Answers
from dphist.release.range_histogram.value import RangeHistogram

__all__ = ["Answers", "RangeHistogram"]
