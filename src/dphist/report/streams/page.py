"""What the report says about running counts."""

from typing import Any

from dphist.release.release import Release
from dphist.report import described, words
from dphist.report.guarantees import total_of
from dphist.report.labels_shown import harmless
from dphist.report.numbers_protected import number_protected
from dphist.report.streams import words as running_words
from dphist.report.streams.colors import STAND_INS, with_variables
from dphist.report.streams.lines import MOST_LINES
from dphist.report.streams.plots import chart_of
from dphist.report.streams.rows import rows_of
from dphist.report.svg import inline_chart

_MOST_ROWS = 50
_LONGEST = 120
_HEIGHT = 380
_HAIR = 1 / 400  # of the height: a band that reaches no further is hidden by its line


def content(release: Release) -> dict[str, Any]:
    """Return what the page says, as text, numbers and figures."""
    mechanism, value = release.mechanism, release.value
    total = total_of(mechanism)
    unit = running_words.protected_unit(mechanism, release.provenance)
    latest = len(value.latest)
    return {
        "version": release.version,
        "guarantee_short": words.guarantee_in_short(total.guarantee),
        "guarantee_kind": words.guarantee_kind(total.guarantee, total.releases),
        "guarantee_name": f"{total}",
        "guarantee_words": running_words.promise_in_words(
            total, unit, release.guarantee, number_protected(release)
        ),
        "guarantee_symbols": words.guarantee_in_symbols(total.guarantee),
        "coverage": running_words.coverage_in_words(mechanism),
        "zcdp": str(release.guarantee),
        "neighbours": running_words.neighbours_in_words(mechanism),
        "unit": unit,
        "bounding": running_words.bounding_in_words(mechanism),
        "time": int(value.times[-1]),
        "horizon": mechanism.horizon,
        "readings": len(value),
        "labels": latest,
        "threshold": None
        if mechanism.threshold is None
        else running_words.threshold_text(mechanism),
        "threshold_words": running_words.threshold_in_words(mechanism),
        "error": running_words.error_text(mechanism),
        "half_width": running_words.half_width(mechanism),
        "intervals": running_words.intervals_in_words(mechanism),
        "method": running_words.method_in_words(mechanism),
        "figure": _figure(release),
        "rows": rows_of(release, _MOST_ROWS),
        "left_out": max(latest - _MOST_ROWS, 0),
        "show": lambda label: harmless(label, _LONGEST),
        "made": mechanism.description,
        "mechanism": type(mechanism).__name__,
        "call": described.call(mechanism),
        "parameters": described.parameters(mechanism),
        "noise": None,
        "paper": described.paper(mechanism),
        "limits": running_words.running_limits(mechanism, unit),
    }


def _figure(release: Release) -> dict[str, Any]:
    chart = chart_of(release, STAND_INS)
    text = _caption(release)
    svg = with_variables(inline_chart(chart.title, chart.draw, "running", text, _HEIGHT))
    return {"title": chart.title, "svg": svg, "text": text}


def _caption(release: Release) -> str:
    """Say what the lines are, and what it means where there is none."""
    labels, mechanism = release.value.labels, release.mechanism
    which = "Released counts of the labels" if len(labels) <= MOST_LINES else (
        f"Released counts of the {MOST_LINES} labels with the largest last counts"
    )  # fmt: skip
    text = f"{which}, over the events read so far; around each its 95 % band."
    largest = max(release.value.latest.counts.tolist(), default=0)
    if running_words.half_width(mechanism) < _HAIR * largest:
        text += " Here it is narrower than the lines."
    if mechanism.threshold is None:
        return text
    return (
        f"{text} A line begins where the label was first released: a label below the threshold, "
        f"{running_words.threshold_text(mechanism)}, is not shown, which does not mean that its "
        "count is zero. A gap is where it fell below again."
    )
