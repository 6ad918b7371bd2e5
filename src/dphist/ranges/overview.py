"""What a histogram over ranges says in few numbers and in texts of its edges and places."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.arrays import AnyArray, FloatArray, IntArray, NumberArray
from dphist.data.axis.zones import local_texts
from dphist.document.blocks import NO_BOUND
from dphist.document.csv_rows import add_interval, edge_texts
from dphist.privacy import PureDP
from dphist.ranges.mechanism import RangesMechanism
from dphist.release.range_histogram import RangeHistogram
from dphist.release.range_histogram.answers import ERRORS
from dphist.release.release import Release
from dphist.visible import harmless

_LONGEST_NAME = 40
_HALF_DAY = np.timedelta64(12, "h")


def tabulate_bins(value: RangeHistogram) -> pa.Table:
    """Return a row for each bin, as `to_arrow` does, with the 95 % interval of its count.

    A histogram that was made by hand has no errors or intervals.
    """
    table = value.to_arrow()
    if value.answers is None:
        return table
    low = [places.ravel() for places in np.indices(value.counts.shape)]
    return add_interval(table, *value.answers.interval(low, [places + 1 for places in low]))


def short_edges(edges: AnyArray, zone: str | None = None) -> list[str]:
    """Write edges for people: times to the minute where that is exact; local time of a zone.

    >>> short_edges(np.array([0.0, 0.25, np.inf])), short_edges(np.array([2013, 10**6]))
    (['0', '0.25', 'inf'], ['2013', '1000000'])
    >>> short_edges(np.array(["2024-01-31T12:30"], "M8[us]"))
    ['2024-01-31 12:30']
    >>> short_edges(np.array(["2024-01-31T12:30"], "M8[us]"), "Europe/Zurich")
    ['2024-01-31 13:30']
    """
    if zone is not None:
        return local_texts(edges, zone)
    if edges.dtype.kind == "f":
        return [f"{edge:.12g}" for edge in edges.tolist()]
    if edges.dtype != np.dtype("M8[us]"):
        return edge_texts(edges)
    minutes = bool((edges == edges.astype("M8[m]")).all())
    texts = np.datetime_as_string(edges, unit="m").tolist() if minutes else edge_texts(edges)
    return [text.replace("T", " ") for text in texts]


def place_text(edges: AnyArray, place: Any, zone: str | None = None) -> str:
    """Write a place between edges with as many digits as the width of its bin justifies.

    Parameters
    ----------
    place : float, numpy.datetime64 or, with a time zone, datetime: what `RangeHistogram.quantile`
        has as a value.

    >>> place_text(np.array([0, 18, 65]), 18.1234), place_text(np.array([0, 0.5, 1]), 0.1234)
    ('18', '0.12')
    >>> place_text(np.array(["2024-01-01", "2024-02-01"], "M8[D]"), np.datetime64("2024-01-09T20"))
    '2024-01-09'
    """
    if zone is not None:
        is_daily = bool((np.diff(edges) > _HALF_DAY).all())
        return str(place.date() if is_daily else place.replace(tzinfo=None, microsecond=0))
    if edges.dtype.kind == "M":
        by_day = edges.dtype == np.dtype("M8[D]")
        rounded = np.datetime64(place, "D" if by_day else "m")
        return str(rounded).replace("T", " ")
    if not math.isfinite(place):
        return f"{place:g}"
    widths = np.diff(edges.astype(np.float64))
    at = min(max(int(np.searchsorted(edges, place, side="right")) - 1, 0), len(widths) - 1)
    width = float(widths[at])
    digits = 2 if not math.isfinite(width) else max(0, 1 - math.floor(math.log10(width)))
    return f"{place:.{digits}f}" if digits < 12 else f"{place:.12g}"


def axis_text(histogram: RangeHistogram, axis: int) -> str:
    """Name an axis by its column, made safe for terminals and pages.

    >>> axis_text(RangeHistogram(np.array([[1, 2]])), 1)
    'axis 2'
    """
    named = histogram.axes[axis].name
    if named is not None:
        return harmless(named, _LONGEST_NAME)
    return "bin" if histogram.counts.ndim == 1 else f"axis {axis + 1}"


SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)


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
    is_known: bool = True

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


def make_parts(histogram: RangeHistogram, axis: int, places: IntArray) -> Parts:
    """Return one axis in parts with edges at these places."""
    ends = _ends(histogram, axis, places)
    low, high = histogram.interval_bins(*ends)
    outwards = np.clip([np.floor(low), np.ceil(high)], -NO_BOUND, NO_BOUND).astype(np.int64)
    texts = short_edges(histogram.edges[axis][places], histogram.axes[axis].zone)
    return Parts(texts, histogram.count_bins(*ends), *outwards)


def sums(histogram: RangeHistogram, axis: int, places: IntArray) -> tuple[NumberArray, FloatArray]:
    """Return counts between neighboring places of one axis, and their errors (95 %)."""
    ends = _ends(histogram, axis, places)
    return histogram.count_bins(*ends), ERRORS * histogram.error_bins(*ends)


def _ends(histogram: RangeHistogram, axis: int, places: IntArray) -> tuple[Any, Any]:
    lo: list[Any] = [0] * histogram.counts.ndim
    hi: list[Any] = list(histogram.counts.shape)
    lo[axis], hi[axis] = places[:-1], places[1:]
    return (lo[0], hi[0]) if len(lo) == 1 else (tuple(lo), tuple(hi))


def sum_all(histogram: RangeHistogram) -> tuple[float, float]:
    """Return the records in all bins together, and their error (95 %)."""
    count, error = sums(histogram, 0, np.array([0, histogram.counts.shape[0]]))
    return count[0].item(), error[0].item()


def usual_error(histogram: RangeHistogram) -> float | None:
    """Return the standard error that the bins of half of all records stay below.

    Most bins of a map may be empty, and known to be: their error says nothing of the others. None
    if there are no records by the estimates.

    >>> from dphist import LeafCounts
    >>> found = LeafCounts(epsilon=1, bins=3).release([50, 0, 70]).value
    >>> found.error_bins(0, 1) == usual_error(found)
    True
    """
    counts = np.maximum(histogram.counts.astype(np.float64).ravel(), 0)
    if histogram.answers is None or not counts.sum() > 0:
        return None
    errors = np.asarray(histogram.answers.bin_errors(), np.float64).ravel()
    order = np.argsort(errors)
    reached = np.searchsorted(np.cumsum(counts[order]), counts.sum() / 2)
    return float(errors[order[min(int(reached), len(order) - 1)]])


def list_outside(release: Release) -> list[tuple[str, int]]:
    """Return the records in no bin: where, and how many; empty if the data came without edges."""
    histogram = release.value
    first, last = histogram.edges[0][[0, -1]]
    texts = short_edges(histogram.edges[0][[0, -1]], histogram.axes[0].zone)
    name = axis_text(histogram, 0) if histogram.counts.ndim == 1 else "at least one column"
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


def error_outside(release: Release) -> float:
    """Return the standard error of a number of records in no bin."""
    mechanism, stated = release.mechanism, release.guarantee
    if isinstance(mechanism, RangesMechanism):
        # Files of earlier versions state no rho, and such numbers had the noise of the whole cost.
        earlier = isinstance(stated, PureDP) and stated.rho is None
        share = Fraction(1) if earlier else mechanism.outside_share
        return float(mechanism.budget.variance(share) ** 0.5)
    # Geometric noise of that scale has less variance, and Gaussian noise about half of it.
    return math.sqrt(2) * float(mechanism.noise_scale)


def split_into_groups(bins: int, most: int) -> IntArray:
    """Return the edge indices, (k + 1,), of at most `most` groups of adjacent bins."""
    groups = -(-bins // most)
    return np.append(np.arange(0, bins, groups), bins)


def list_quantiles(histogram: RangeHistogram) -> list[Quantile]:
    """Return the quantiles of the only axis; empty if there are no records by the estimates.

    Their intervals are those of `RangeHistogram.quantile`.
    """
    edges, axis = histogram.edges[0], histogram.axes[0]
    if np.isnan(histogram.cdf()[-1]):
        return []
    found = []
    for share, each in zip(SHARES, histogram.quantile(SHARES), strict=True):
        ends = edges[axis.positions([each.low, each.high])]
        place = place_text(edges, each.value, axis.zone) if each.is_known else "not known"
        low, high = short_edges(ends, axis.zone)
        found.append(Quantile(share, place, low, high, each.is_known))
    return found
