"""The two charts of an anonymized histogram: counts by rank, labels by count, and their bands.

Both curves are staircases. Step i reaches from i - 1/2 to i + 1/2. So even a single label has a
width on a logarithmic axis, and the vertical edges lie between whole numbers, where the curve has
no value. Labels are not expanded: a histogram of 34 million labels has two corners for each
distinct count.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dphist.anonymized.band import Band
from dphist.anonymized.mechanism import AnonymizedMechanism
from dphist.arrays import FloatArray, IntArray
from dphist.document.chart import NARROW, Area, Axis, Chart, Line
from dphist.document.unit_words import find_counted
from dphist.privacy.as_text import percent
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.release import Release
from dphist.sentence import Sentence

# Cells of a logarithmic axis. A figure is some 400 units wide, so a corner that is left out
# is about one unit or less away from one that is kept.
CELLS = 320


@dataclass(frozen=True, slots=True)
class Curve:
    """Corners of a falling staircase, from left to right.

    Attributes
    ----------
    x : (p,) float64, non-decreasing; ranks or counts, plus or minus 1/2.
    y : (p,) int64, non-increasing, positive; counts in records, or numbers of labels.
    """

    x: FloatArray
    y: IntArray


def counts_by_rank(histogram: AnonymizedHistogram) -> Curve:
    """Return the i-th largest count over the rank i: corners (2d,), all of them.

    >>> curve = counts_by_rank(AnonymizedHistogram([8, 3], [2, 1]))
    >>> curve.x, curve.y
    (array([0.5, 2.5, 2.5, 3.5]), array([8, 8, 3, 3]))
    """
    edges = np.append(0, np.cumsum(histogram.prevalences[::-1])) + 0.5
    return Curve(np.repeat(edges, 2)[1:-1], np.repeat(histogram.counts[::-1], 2))


def labels_by_count(histogram: AnonymizedHistogram) -> Curve:
    """Return the number of labels with count r or more over r: corners (2d,), all of them.

    It is the mirror image of `counts_by_rank`.
    """
    return counts_by_rank(histogram.conjugate())


def thin(curve: Curve, cells: int = CELLS) -> Curve:
    """Keep the corners that are distinguishable on logarithmic axes.

    Both axes are divided into `cells`; of the corners within one cell the first and the
    last are kept. A falling curve meets at most 2 * cells cells, and a straight line between
    two kept corners leaves the true staircase by no more than one cell.
    """
    if len(curve.x) == 0:
        return curve
    across, down = _cell(curve.x, cells), _cell(curve.y.astype(np.float64), cells)
    moved = (np.diff(across) != 0) | (np.diff(down) != 0)
    kept = np.append(True, moved) | np.append(moved, True)
    return Curve(curve.x[kept], curve.y[kept])


def outline(lower: Curve, upper: Curve, floor: float) -> tuple[FloatArray, FloatArray]:
    """Return the polygon between two curves, as x and y; its bottom is at `floor`.

    Beyond its end `lower` is 0, which no logarithmic axis shows. There the polygon reaches down to
    `floor`, the bottom of the axis, so that the band visibly opens.
    """
    if len(upper.x) == 0:
        return np.zeros(0), np.zeros(0)
    start, end = upper.x[0], upper.x[-1]
    lower_end = min(lower.x[-1], end) if len(lower.x) else start
    under_x = np.append(np.minimum(lower.x, end), [lower_end, end])
    under_y = np.append(lower.y, [floor, floor])
    return np.append(upper.x, under_x[::-1]), np.append(upper.y, under_y[::-1])


def _cell(values: FloatArray, cells: int) -> IntArray:
    """Return the cell of each value, on a logarithmic scale from the smallest to the largest."""
    logs = np.log(values)
    low, span = logs.min(), np.ptp(logs)
    if span == 0:
        return np.zeros(len(values), np.int64)
    numbers: IntArray = np.minimum((logs - low) / span * cells, cells - 1).astype(np.int64)
    return numbers


_SAMPLES = 400  # places along an axis; a figure is some 400 units wide
_APART = 0.008  # of the height: three units
_WIDE = 0.015  # of the width
_BY_RANK = Sentence(
    "{Labels} are ranked by their count, the most common first; the curve falls to the rarest."
)
_BY_COUNT = Sentence("For every count r, how many {labels} have r {records} or more.")


def draw_charts(release: Release) -> tuple[Chart, Chart]:
    """Return the charts of a release: counts by rank, labels by count."""
    bands = compute_bands(release)
    rank = Sentence("Rank ({labels})"), Sentence("Count ({records})")
    count = Sentence("Count r ({records})"), Sentence("{Labels} with r {records} or more")
    title = Sentence("{Labels} by count")
    return (
        _chart(release, bands, counts_by_rank, ("rank", "Counts by rank", _BY_RANK), rank),
        _chart(release, bands, labels_by_count, ("count", title, _BY_COUNT), count),
    )


def compute_bands(release: Release) -> list[Band]:
    """Return the band around the whole curve, then that around each point, if there is one."""
    mechanism = release.mechanism
    bands = [mechanism.intervals(release)]
    if isinstance(mechanism, AnonymizedMechanism):
        bars = mechanism.pointwise_band(release)
        bands += [] if bars is None else [bars]
    return bands


def _chart(
    release: Release,
    bands: list[Band],
    curve: Callable[[AnonymizedHistogram], Curve],
    words: tuple[str, str, str],
    labels: tuple[str, str],
) -> Chart:
    """Declare one chart: its name, title and text, and the labels of its axes."""
    released = thin(curve(release.value))
    pairs = [(thin(curve(band.lower)), thin(curve(band.upper))) for band in bands]
    x, y = _axes(labels, (released, pairs[0][1]))
    seen = [_is_seen(pair, x, y) for pair in pairs]
    whole = f"{percent(bands[0].level)} {'band' if len(bands) > 1 else 'error band'}"
    areas = [
        Area(name if is_seen else "", *outline(*pair, y.low), strength)
        for pair, is_seen, name, strength in zip(
            pairs, seen, (whole, "pointwise"), (0.25, 0.45), strict=False
        )
    ]
    line = Line(find_counted(release).released, released.x, released.y)
    empty = "" if len(released.x) else Sentence("no {label} was released")
    note = "" if seen[0] else NARROW
    return Chart(*words, x, y, areas, [line], note, empty)


def _axes(labels: tuple[str, str], curves: tuple[Curve, Curve]) -> tuple[Axis, Axis]:
    """Return axes around all curves, with a margin in proportion.

    The bottom is a little below 1, the smallest count there is, and stands for zero.
    """
    end = max([10.0] + [float(curve.x[-1]) for curve in curves if len(curve.x)])
    top = max([10.0] + [float(curve.y[0]) for curve in curves if len(curve.y)])
    x = Axis(labels[0], 0.5, end * (2 * end) ** 0.03, log=True, whole=True)
    return x, Axis(labels[1], top**-0.08, top**1.05, log=True, whole=True)


def _is_seen(band: tuple[Curve, Curve], x: Axis, y: Axis) -> bool:
    """Whether a band can be told from its curve anywhere along the axis, in logarithms."""
    places = np.geomspace(x.low, x.high, _SAMPLES)

    def at(curve: Curve) -> FloatArray:
        if len(curve.x) == 0:
            return np.full(_SAMPLES, np.log(y.low))
        heights = np.interp(places, curve.x, curve.y.astype(np.float64), right=y.low)
        return np.log(np.maximum(heights, y.low))

    lower, upper = map(at, band)
    apart = (upper - lower) / (np.log(y.high) - np.log(y.low))
    return bool(np.count_nonzero(apart >= _APART) >= _WIDE * _SAMPLES)
