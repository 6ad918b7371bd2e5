"""What the page says about labels or running counts of somebody else's mechanism."""

from dataclasses import dataclass
from typing import Any

from dphist.document import mechanism_facts
from dphist.release.release import Release
from dphist.report.page import Page
from dphist.report.plain import words
from dphist.report.plain.plots import chart_of
from dphist.report.plain.rows import Row, counts_of, rows_of, table_of
from dphist.report.svg import figure

_MOST_ROWS = 200
_HEIGHT = 430  # of a figure, so that twenty labels are legible


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainPage(Page):
    """What the page says.

    Attributes
    ----------
    size : how much was released, by name.
    has_counts : whether counts are released; a ranking has none.
    rows, left_out : the first rows, and how many more there are.
    appearance, error : which labels are released, and how far a count may be off.
    """

    size: dict[str, Any]
    has_counts: bool
    rows: list[Row]
    left_out: int
    appearance: str
    error: str


def content(release: Release, size: dict[str, Any]) -> PlainPage:
    """Return what the page says."""
    mechanism, has_counts = release.mechanism, counts_of(release) is not None
    text = "Released counts, with 95 % intervals where the mechanism states them."
    return PlainPage(
        size=size,
        has_counts=has_counts,
        rows=rows_of(release, _MOST_ROWS),
        left_out=max(len(table_of(release)) - _MOST_ROWS, 0),
        appearance=words.appearance_in_words(release),
        error=words.error_in_words(release),
        figures=[figure(chart_of(release), "largest", text, _HEIGHT)] if has_counts else [],
        parameters=mechanism_facts.parameters(mechanism),
        paper=mechanism_facts.paper(mechanism),
        limits=words.limits_of(release),
    )
