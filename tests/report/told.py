"""The document of a release, and its table."""

from dphist.document.blocks import PAGE, Document, Surface, Table
from dphist.release.release import Release
from dphist.report.kinds import shown_as


def document_of(release: Release) -> Document:
    shown = shown_as(release)
    assert isinstance(shown, Document)
    return shown


def table_of(document: Document, surface: Surface = PAGE) -> Table:
    (table,) = (block for block in document.blocks(surface) if isinstance(block, Table))
    return table
