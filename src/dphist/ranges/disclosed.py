"""What is disclosed of histograms over ranges."""

from dphist.document.disclosed import Disclosed
from dphist.ranges.mechanism import RangesMechanism
from dphist.ranges.words import axes_in_words
from dphist.release.range_histogram import RangeHistogram


def disclosed(_mechanism: RangesMechanism, value: RangeHistogram | None = None) -> Disclosed:
    """Return what is disclosed of a mechanism, and of a histogram: its edges are public."""
    if value is None:
        return Disclosed(public=["The number of bins."])
    what = "The columns and the edges of the bins" if value.has_edges else "The number of bins"
    return Disclosed(public=[f"{what}: {axes_in_words(value)}."])
