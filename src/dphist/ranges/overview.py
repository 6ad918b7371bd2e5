"""What a histogram over ranges says in few numbers: parts, quantiles, and records in no bin."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dphist.arrays import FloatArray, IntArray, NumberArray
from dphist.document.blocks import NO_BOUND
from dphist.ranges.axis_texts import axis_text, place_text, short_edges
from dphist.ranges.mechanism import RangesMechanism
from dphist.release.maker import Maker
from dphist.release.range_histogram import RangeHistogram
from dphist.release.range_histogram.picture import ERRORS, grouped
from dphist.release.release import Release

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
_PLACES = 4096  # edges that are tried as ends of a quantile's interval


@dataclass(frozen=True, slots=True)
class Parts:
    """An axis in parts, summed over all other axes.

    Attributes
    ----------
    edges : k + 1 texts.
    counts : (k,) estimates of the records.
    low, high : (k,) int64, their 95 % intervals.
    """

    edges: list[str]
    counts: NumberArray
    low: IntArray
    high: IntArray


@dataclass(frozen=True, slots=True)
class Quantile:
    """The place that a share of the records lies below, and its interval (95 %)."""

    share: float
    place: str
    low: str
    high: str

    @property
    def meaning(self) -> str:
        """What the quantile says about the records.

        >>> Quantile(0.05, "3", "2", "4").meaning
        '5 % below'
        """
        return f"{100 * self.share:g} % below"

    @property
    def interval(self) -> str:
        """Both ends of its interval."""
        return f"{self.low} to {self.high}"


def divide(bins: int, most: int) -> IntArray:
    """Divide bins into at most `most` parts of nearly equal size; return the places of their edges.

    >>> divide(10, 4), divide(2, 4)
    (array([ 0,  2,  5,  8, 10]), array([0, 1, 2]))
    """
    return np.rint(np.linspace(0, bins, min(bins, most) + 1)).astype(np.int64)


def parts_of(histogram: RangeHistogram, axis: int, places: IntArray) -> Parts:
    """Return one axis in parts with edges at these places."""
    ends = _ends(histogram, axis, places)
    low, high = histogram.interval(*ends)
    outwards = np.clip([np.floor(low), np.ceil(high)], -NO_BOUND, NO_BOUND).astype(np.int64)
    return Parts(short_edges(histogram.edges[axis][places]), histogram.count(*ends), *outwards)


def sums(histogram: RangeHistogram, axis: int, places: IntArray) -> tuple[NumberArray, FloatArray]:
    """Return counts between neighboring places of one axis, and their errors (95 %)."""
    ends = _ends(histogram, axis, places)
    return histogram.count(*ends), ERRORS * histogram.error(*ends)


def _ends(histogram: RangeHistogram, axis: int, places: IntArray) -> tuple[Any, Any]:
    lo: list[Any] = [0] * histogram.bins.ndim
    hi: list[Any] = list(histogram.bins.shape)
    lo[axis], hi[axis] = places[:-1], places[1:]
    return (lo[0], hi[0]) if len(lo) == 1 else (tuple(lo), tuple(hi))


def whole_of(histogram: RangeHistogram) -> tuple[float, float]:
    """Return the records in all bins together, and their error (95 %)."""
    count, error = sums(histogram, 0, np.array([0, histogram.bins.shape[0]]))
    return count[0].item(), error[0].item()


def usual_error(histogram: RangeHistogram) -> float | None:
    """Return the standard error that the bins of half of all records stay below.

    Most bins of a map may be empty, and known to be: their error says nothing of the others. None
    if there are no records by the estimates.

    >>> from dphist import LeafCounts
    >>> found = LeafCounts(epsilon=1, bins=3).release([50, 0, 70]).value
    >>> found.error(0, 1) == usual_error(found)
    True
    """
    counts = np.maximum(histogram.bins.astype(np.float64).ravel(), 0)
    if histogram.answers is None or not counts.sum() > 0:
        return None
    errors = np.asarray(histogram.answers.bin_errors(), np.float64).ravel()
    order = np.argsort(errors)
    reached = np.searchsorted(np.cumsum(counts[order]), counts.sum() / 2)
    return float(errors[order[min(int(reached), len(order) - 1)]])


def outside_of(release: Release) -> list[tuple[str, int]]:
    """Return the records in no bin: where, and how many; empty if the data came without edges."""
    histogram = release.value
    first, last = histogram.edges[0][[0, -1]]
    texts = short_edges(histogram.edges[0][[0, -1]])
    name = axis_text(histogram, 0) if histogram.bins.ndim == 1 else "at least one column"
    said = {
        "below": f"below {texts[0]}",
        "above": "infinite" if last == np.inf else f"{texts[1]} or above",
        "outside": "outside the edges of at least one column",
        "null": f"without a value of {name}",
    }
    if first == -np.inf:
        del said["below"]  # nothing is below minus infinity
    counts = histogram.outside
    return [(text, counts[kind]) for kind, text in said.items() if kind in counts]


def error_outside(mechanism: Maker) -> float:
    """Return the standard error of a count that the whole budget pays for."""
    if isinstance(mechanism, RangesMechanism):
        return float(mechanism.budget.variance(Fraction(1)) ** 0.5)
    # Geometric noise of that scale has less variance, and Gaussian noise about half of it.
    return math.sqrt(2) * float(mechanism.noise_scale)


def quantiles_of(histogram: RangeHistogram) -> list[Quantile]:
    """Return the quantiles of the only axis; empty if there are no records by the estimates.

    A place is below a quantile if less than that share of all records lies before it. The counts
    before and after a place each have an error, so for some edges this is undecided. The interval
    holds these edges, and ends at the next edges on both sides.
    """
    edges = histogram.edges[0]
    if np.isnan(histogram.cdf()[-1]):
        return []
    last = histogram.bins.size
    places = grouped(last, _PLACES)
    before, after = histogram.count(0, places), histogram.count(places, last)
    errors = histogram.error(0, places), histogram.error(places, last)
    texts = short_edges(edges[places])
    found = []
    for share in SHARES:
        excess = (1 - share) * before - share * after
        # The errors of both sides may have any correlation.
        error = ERRORS * ((1 - share) * errors[0] + share * errors[1])
        low = int(np.argmax(excess + error >= 0)) if np.any(excess + error >= 0) else last
        below = excess - error <= 0
        high = len(places) - 1 - int(np.argmax(below[::-1])) if np.any(below) else 0
        ends = texts[max(low - 1, 0)], texts[min(high + 1, len(places) - 1)]
        found.append(Quantile(share, place_text(edges, histogram.quantile(share)), *ends))
    return found
