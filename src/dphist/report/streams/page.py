"""What the page says about running counts of a stream."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dphist.privacy.as_text import short_exact
from dphist.release.release import Release, parameters_of
from dphist.report import mechanism_facts
from dphist.report.labels_shown import harmless
from dphist.report.mechanism_facts import Parameter
from dphist.report.page import Figure, Page
from dphist.report.streams import words
from dphist.report.streams.colors import STAND_INS, with_variables
from dphist.report.streams.lines import MOST_LINES
from dphist.report.streams.plots import chart_of
from dphist.report.streams.rows import Row, rows_of
from dphist.report.svg import figure

_MOST_ROWS = 50
_HEIGHT = 380
_HAIR = 1 / 400  # of the height; a narrower band is hidden by its line

_MEANINGS = {
    "epsilon": "Privacy parameter of a single label; what all readings cost together stands above.",
    "delta": "Probability with which a label may betray an event, in all labels and readings.",
    "horizon": "Events of the stream that the guarantee covers; further ones are refused.",
    "max_labels": "Labels of one event that are counted at most.",
    "method": "How the noise of a running count goes on from one event to the next.",
    "labels": "Public list of labels; all are in each reading, others are ignored.",
    "max_events_per_user": "Events of one user that are counted at most, over the whole stream.",
    "windows": "Events between the times at which counts of a window may start or end.",
}
_NOT_GIVEN = {
    "delta": "There is none: all labels are listed.",
    "labels": "No list of labels: they come from the stream.",
    "max_events_per_user": "Events are protected one by one, whoever they are of.",
    "windows": "Counts of a window were not asked for.",
}
_PAPER = (
    "R. Rogers. A Unifying Privacy Analysis Framework for Unknown Domain Algorithms in "
    "Differential Privacy. 2023. arXiv:2309.09170."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsPage(Page):
    """What the page says about running counts of a stream.

    Attributes
    ----------
    coverage : that the guarantee is for all readings together.
    bounding : how events are bounded.
    time, horizon : events so far, and how many the guarantee covers.
    readings : how many there are.
    rows, left_out : the first rows of the last reading, and how many more there are.
    threshold, threshold_words : where the threshold lies; None if there is none.
    error, half_width, intervals : standard error, reach of an interval, and what it means.
    method : how the noise goes on from one event to the next.
    """

    coverage: str
    bounding: str
    time: int
    horizon: int
    readings: int
    rows: list[Row]
    left_out: int
    threshold: str | None
    threshold_words: str
    error: str
    half_width: int
    intervals: str
    method: str


def content(release: Release) -> StreamsPage:
    """Return what the page says."""
    mechanism, value = release.mechanism, release.value
    unit = words.protected_unit(mechanism, release.provenance)
    return StreamsPage(
        coverage=words.coverage_in_words(mechanism),
        bounding=" ".join(words.bounding_in_words(mechanism)),
        time=int(value.times[-1]),
        horizon=mechanism.horizon,
        readings=len(value),
        rows=rows_of(release, _MOST_ROWS),
        left_out=max(len(value.latest) - _MOST_ROWS, 0),
        threshold=None if mechanism.threshold is None else words.threshold_text(mechanism),
        threshold_words=words.threshold_in_words(mechanism),
        error=words.error_text(mechanism),
        half_width=words.half_width(mechanism),
        intervals=words.intervals_in_words(mechanism),
        method=words.method_in_words(mechanism),
        figures=[_figure(release)],
        parameters=_parameters(mechanism),
        paper=_PAPER,
        limits=words.limits_of(mechanism, unit),
    )


def _figure(release: Release) -> Figure:
    chart = chart_of(release, STAND_INS)
    return figure(chart, "running", _caption(release), _HEIGHT, with_variables)


def _caption(release: Release) -> str:
    """Say what the lines are, and what a missing line means."""
    labels, mechanism = release.value.labels, release.mechanism
    which = "Released counts of the labels" if len(labels) <= MOST_LINES else (
        f"Released counts of the {MOST_LINES} labels with the largest last counts"
    )  # fmt: skip
    text = f"{which}, over the events read so far; around each its 95 % band."
    largest = max(release.value.latest.counts.tolist(), default=0)
    if words.half_width(mechanism) < _HAIR * largest:
        text += " Here it is narrower than the lines."
    if mechanism.threshold is None:
        return text
    return (
        f"{text} A line begins where the label was first released, and has a gap where the label "
        f"fell below the threshold, {words.threshold_text(mechanism)}. A label without a line need "
        "not have a count of zero."
    )


def _parameters(mechanism: Any) -> list[Parameter]:
    """Return all parameters of the mechanism with their meanings, in their own order."""
    found = []
    for name, value in parameters_of(mechanism).items():
        meaning = _MEANINGS.get(name, "")
        if value is None:
            meaning = _NOT_GIVEN.get(name, meaning)
        found.append(Parameter(name, _shown(value), meaning))
    return found + mechanism_facts.targets(mechanism)


def _shown(value: Any) -> str:
    if value is None:
        return "not given"
    if isinstance(value, Fraction):
        return short_exact(value)
    if isinstance(value, tuple):
        few = ", ".join(harmless(label, 40) for label in value[:8])
        return few if len(value) <= 8 else f"{few}, ... ({len(value):,} in all)"
    return f"{value:,}" if isinstance(value, int) else harmless(str(value), 60)
