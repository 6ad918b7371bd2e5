"""The chart of running counts: the lines of the labels with the largest last counts."""

import numpy as np

from dphist.arrays import FloatArray
from dphist.document import others
from dphist.document.chart import NARROW, Axis, Chart, Line, Series
from dphist.document.guarantee_words import LEVEL
from dphist.document.kind import DataFacts
from dphist.document.unit_words import threshold_text
from dphist.release.release import Release
from dphist.sentence import EVENTS, Sentence
from dphist.streams.mechanism import ContinualMechanism
from dphist.streams.words import (
    describe_counted,
    find_mechanism,
    find_threshold,
    find_unit,
    until,
)

MOST_LINES = 8
_POINTS = 200  # readings that are drawn; a figure is some 400 units wide
_HAIR = 1 / 200  # of the height; a narrower band is hidden by its line
_HEIGHT = 380


def draw_charts(release: Release) -> list[Chart]:
    """Return the running counts; of a mechanism of others the last ones."""
    if isinstance(release.mechanism, ContinualMechanism):
        return [draw_chart(release)]
    return others.draw_charts(release)


def draw_chart(release: Release) -> Chart:
    """Declare the running counts over the events read so far, with their bands."""
    mechanism, series = find_mechanism(release), make_lines(release)
    threshold, end = find_threshold(mechanism, until(release)), max(int(release.value.times[-1]), 1)
    low, high = _limits(series, float(threshold or 0))
    counted = describe_counted(mechanism, find_unit(mechanism, DataFacts.of(release)))
    of_counts = Sentence("Count ({events}{after})", after=counted.after, **EVENTS)
    seen = any(_is_seen(each, high - low) for each in series)
    dashed: list[Line] = []
    if threshold is not None:
        both = np.repeat(float(threshold), 2)
        dashed = [Line("Threshold", np.array([0, end]), both, "dashed")]
    return Chart(
        "running",
        "Running counts",
        _text(release),
        Axis(Sentence("Time ({events})", **EVENTS), 0, end, whole=True),
        Axis(of_counts, low, high, whole=True),
        lines=dashed,
        note=NARROW if series and not seen else "",
        empty="" if series else Sentence("no {label} was released"),
        series=series,
        band=Sentence(f"95 % band{', {who}' if counted.who else ''}", who=counted.who)
        if seen
        else "",
        height=_HEIGHT,
    )


def make_lines(release: Release) -> list[Series]:
    """Return the lines of the labels with the largest last counts.

    If there are many readings, some are drawn, the same for all labels. Those at which a drawn
    label first appears are among them.
    """
    value, mechanism = release.value, find_mechanism(release)
    pairs = list(zip(value.labels, value.label_texts, strict=True))[:MOST_LINES]
    found = [(text, *value.line(label)) for label, text in pairs]
    drawn = np.unique(np.linspace(0, len(value) - 1, _POINTS).round().astype(np.int64))
    drawn = np.union1d(drawn, np.array([places[0] for _, places, _ in found], np.int64))
    times = value.times.astype(np.float64)[drawn]
    width = mechanism.half_width(LEVEL, until(release))
    least = -np.inf if mechanism.threshold is None else 1
    lines = []
    for name, places, counts in found:
        full = np.full(len(value), np.nan)
        full[places] = counts
        y: FloatArray = full[drawn]
        low, high = np.maximum(y - width, least), np.maximum(y + width, least)
        lines.append(Series(name, times, y, low, high))
    return lines


def _text(release: Release) -> Sentence:
    """Say what the lines are, and what a missing line means."""
    which = "Released counts of the {labels}"
    if len(release.value.labels) > MOST_LINES:
        which = "Released counts of the {most} {labels} with the largest last counts"
    text = f"{which}, over the {{events}} read so far; around each its 95 % band."
    threshold = find_threshold(find_mechanism(release), until(release))
    if threshold is not None:
        text += (
            " A line begins where the {label} was first released, and has a gap where the {label} "
            "fell below the threshold, {threshold}. A {label} without a line need not have a count "
            "of zero."
        )
    shown = "" if threshold is None else threshold_text(threshold)
    return Sentence(text, most=MOST_LINES, threshold=shown, **EVENTS)


def _limits(series: list[Series], threshold: float) -> tuple[float, float]:
    """Return the limits of the counts, all bands and the threshold among them."""
    top = max([1.0, threshold, *(float(np.nanmax(each.high)) for each in series)])
    bottom = min([0.0, *(float(np.nanmin(each.low)) for each in series)])
    margin = 0.04 * (top - bottom)
    return bottom - margin if bottom < 0 else 0.0, top + margin


def _is_seen(each: Series, span: float) -> bool:
    return float(np.nanmax(each.high - each.low)) >= _HAIR * span
