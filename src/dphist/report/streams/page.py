"""What the page says about running counts of a stream."""

from dataclasses import dataclass

from dphist.document import mechanism_facts
from dphist.release.release import Release
from dphist.report.page import Figure, Page
from dphist.report.streams import words
from dphist.report.streams.colors import STAND_INS, with_variables
from dphist.report.streams.lines import MOST_LINES
from dphist.report.streams.plots import band_seen, chart_of
from dphist.report.streams.rows import Row, rows_of
from dphist.report.svg import figure

_MOST_ROWS = 100
_ONE_TABLE = 24  # rows; more stand in two columns
_HEIGHT = 380


@dataclass(frozen=True, slots=True)
class Table:
    """Some rows of the last reading."""

    caption: str
    rows: list[Row]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsPage(Page):
    """What the page says about running counts of a stream.

    Attributes
    ----------
    coverage : that the guarantee is for all readings together.
    bounding : how events are bounded.
    time, horizon : events so far, and how many the guarantee covers.
    readings : how many there are.
    tables, left_out : the first rows of the last reading, and how many more there are.
    threshold, threshold_words : where the threshold lies; None if there is none.
    error, half_width, intervals : standard error, reach of an interval, and what it means.
    method : how the noise goes on from one event to the next.
    pure : whether the guarantee is pure.
    endless : whether no horizon was chosen.
    """

    coverage: str
    bounding: str
    time: int
    horizon: int
    readings: int
    tables: list[Table]
    left_out: int
    threshold: str | None
    threshold_words: str
    error: str
    half_width: int
    intervals: str
    method: str
    pure: bool
    endless: bool


def content(release: Release) -> StreamsPage:
    """Return what the page says."""
    mechanism, value = words.mechanism_of(release), release.value
    threshold, last = words.threshold_of(release), words.until(release)
    return StreamsPage(
        coverage=words.coverage_in_words(mechanism),
        bounding=" ".join(words.bounding_in_words(mechanism, release.provenance)),
        time=int(value.times[-1]),
        horizon=mechanism.horizon,
        readings=len(value),
        tables=_tables(release),
        left_out=max(len(value.latest) - _MOST_ROWS, 0),
        threshold=None if threshold is None else words.threshold_text(threshold),
        threshold_words=words.threshold_in_words(mechanism, last),
        error=words.error_text(mechanism, last),
        half_width=words.half_width(mechanism, last),
        intervals=words.intervals_in_words(mechanism, last),
        method=words.method_in_words(mechanism),
        pure=mechanism.method == "laplace",
        endless=mechanism.method == "unbounded",
        figures=[_figure(release)],
        parameters=mechanism_facts.parameters(mechanism),
        paper=mechanism_facts.paper(mechanism),
        limits=words.limits_of(mechanism, release.provenance),
    )


def _tables(release: Release) -> list[Table]:
    """Divide the last reading into one or two tables, which stand side by side."""
    rows, after = rows_of(release, _MOST_ROWS), f"after {int(release.value.times[-1]):,} events"
    if not rows:
        return []
    half = len(rows) if len(rows) <= _ONE_TABLE else -(-len(rows) // 2)
    if half == len(rows) == len(release.value.latest):
        return [Table(f"The last reading, {after}", rows)]
    parts = [rows[at : at + half] for at in range(0, len(rows), half)]
    return [Table(f"Labels {p[0].rank:,} to {p[-1].rank:,}, {after}", p) for p in parts]


def _figure(release: Release) -> Figure:
    chart = chart_of(release, STAND_INS)
    return figure(chart, "running", _caption(release), _HEIGHT, with_variables)


def _caption(release: Release) -> str:
    """Say what the lines are, and what a missing line means."""
    labels = release.value.labels
    which = "Released counts of the labels" if len(labels) <= MOST_LINES else (
        f"Released counts of the {MOST_LINES} labels with the largest last counts"
    )  # fmt: skip
    text = f"{which}, over the events read so far; around each its 95 % band."
    if not band_seen(release):
        text += " Here it is narrower than the lines."
    threshold = words.threshold_of(release)
    if threshold is None:
        return text
    return (
        f"{text} A line begins where the label was first released, and has a gap where the label "
        f"fell below the threshold, {words.threshold_text(threshold)}. A label without a line need "
        "not have a count of zero."
    )
