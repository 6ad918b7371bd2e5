"""A release in a few lines of plain text, for a terminal."""

from dphist.document.guarantee_words import checked_release
from dphist.release.release import Release
from dphist.render.text import text
from dphist.report.kinds import shown_as


def summary_text(release: Release) -> str:
    """Return what was released and what it promises, in lines of at most 78 columns."""
    return text(shown_as(checked_release(release)))
