"""The charts of released labels: the largest counts, all counts, and how sure a ranking is."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dphist.document import others
from dphist.document.chart import Area, Axis, Chart, Line, Spans
from dphist.errors import ParameterError
from dphist.labels.bounding import find_counted, find_mechanism
from dphist.labels.discover.mechanism import DiscoverLabels
from dphist.labels.mechanism import LabelsMechanism, least_shown
from dphist.labels.words import (
    chance_in_order,
    order_in_words,
    sure_difference,
    threshold_base,
)
from dphist.release.release import Release
from dphist.sentence import Sentence

_POINTS = 400  # ranks that are drawn; a figure is some 400 units wide


def draw_charts(release: Release) -> Sequence[Chart]:
    """Return the largest counts by label and all counts by rank, or how sure a ranking is.

    Raises
    ------
    ParameterError
        If the release holds labels alone.
    """
    if not isinstance(release.mechanism, LabelsMechanism):
        return others.draw_charts(release)
    if isinstance(release.mechanism, DiscoverLabels):
        raise ParameterError(
            "release", "must hold counts or a ranking to be plotted; this one holds labels alone"
        )
    if release.value.counts is None:
        return [chart_of_order(find_mechanism(release))]
    of, table = find_counted(release), release.value
    bounds: Any = release.mechanism.intervals(release)
    text = Sentence("The largest released counts with their 95 % intervals: {of}.", of=of.whole)
    threshold = _threshold(find_mechanism(release))
    both = bounds.lower, bounds.upper
    largest = others.chart_of_first(table, both, "Largest counts", text, of, threshold)
    return [largest, chart_of_all(release)]


def chart_of_order(mechanism: LabelsMechanism) -> Chart:
    """Declare how sure the order of two labels is, by how far their counts are apart."""
    sure = sure_difference(mechanism)
    apart = np.linspace(0, 2 * sure, 100)
    chances = 100 * np.array([chance_in_order(mechanism, difference) for difference in apart])
    lines = [
        Line("Chance of the right order", apart, chances),
        Line("95 %", np.array([sure, sure, 0]), np.array([0, 95, 95]), "dashed"),
    ]
    x = Axis(Sentence("Difference of two counts ({records})"), 0, 2.06 * sure, whole=True)
    y = Axis("Chance (%)", 50, 100)
    return Chart("order", "How sure the order is", order_in_words(mechanism), x, y, lines=lines)


def chart_of_all(release: Release) -> Chart:
    """Declare all released counts, by rank."""
    mechanism, of = find_mechanism(release), find_counted(release)
    bounds: Any = release.mechanism.intervals(release)
    counts, low, high = (
        np.asarray(each, np.float64) for each in (release.value.counts, bounds.lower, bounds.upper)
    )
    last, few = max(len(counts), 1), len(counts) <= 2 * others.MOST_NAMED
    ranks = np.unique(np.geomspace(1, last, _POINTS).astype(np.int64))[: len(counts)]
    counts, low, high = counts[ranks - 1], low[ranks - 1], high[ranks - 1]
    threshold = _threshold(mechanism)
    x = Axis(Sentence("Rank ({labels})"), 0.8, 1.25 * last, log=True, whole=True)
    y = others.axis_of_counts(of, low, high, counts, threshold)
    lines = [Line(of.released, ranks, counts, "dots" if few else "solid")]
    said = ""
    if len(threshold):
        lines.append(
            Line("Threshold", np.array([x.low, x.high]), np.repeat(threshold, 2), "dashed")
        )
        smallest = f"{least_shown(mechanism):,}"
        said = f" The dashed line is the threshold; the smallest count shown is {smallest}."
    across = ranks.astype(np.float64)
    outline = np.append(across, across[::-1]), np.append(high, low[::-1])
    return Chart(
        "all",
        "All released counts",
        Sentence("The released counts, the largest first: {of}." + said, of=of.whole),
        x,
        y,
        areas=[] if few else [Area("95 % interval", *outline, 0.3)],
        lines=lines,
        empty=others.none_released(release.value),
        spans=[Spans("95 % interval", ranks, low, high, "y")] if few else [],
    )


def _threshold(mechanism: LabelsMechanism) -> Any:
    """Return the threshold, (1,), if it is a count; else (0,): one above a noisy count moves."""
    is_count = threshold_base(mechanism) == "zero"
    return np.array([mechanism.threshold] if is_count else [], np.float64)
