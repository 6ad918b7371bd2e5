"""What tests of all kinds show: a release of a clinic, with its document and its table."""

from dataclasses import replace
from typing import Any

from dphist.document.blocks import PAGE, Document, Surface, Table
from dphist.release.release import Release
from dphist.report import make_release_document

CLINIC: dict[str, Any] = {
    "dataset": "Visits of 2025",
    "period": "2025",
    "owner": "The clinic",
    "note": "For the board",
}
ODD = [
    "<b>'x'</b> & \"",
    "\x1b[2J",
    "a\nb",
    "$x_{1}$",
    "\u202eleft",
    "界" * 60,
    "x" * 500,
    "",
    "=1",
]


def shown(made: Release, **words: Any) -> Release:
    """Give a release a fixed day and the owner's words, as if its noise were secret."""
    dated = replace(made.presentation, date="2026-11-24").with_words(**words)
    return replace(made, for_tests=False, presentation=dated)


def document_of(release: Release) -> Document:
    shown = make_release_document(release)
    assert isinstance(shown, Document)
    return shown


def table_of(document: Document, surface: Surface = PAGE) -> Table:
    *_, table = (block for block in document.blocks(surface) if isinstance(block, Table))
    return table
