"""What the kind of a release says of it: document, table, plots."""

from typing import TYPE_CHECKING, Any

from dphist.document.blocks import Document
from dphist.document.csv_field import csv_field, safe_field
from dphist.document.kind import DataFacts
from dphist.document.kinds import kind_of
from dphist.release.release import Release
from dphist.render.as_json import content

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dphist.render.charts import Drawing


def shown_as(release: Release) -> Document:
    """Return the document of a release."""
    return kind_of(release).document(release.mechanism, DataFacts.of(release), release)


def told(release: Release, key: str) -> str:
    """Return one fact of a release as text.

    Parameters
    ----------
    key : "title"; "cost", as after "Released under"; "neighbors", which data are
        neighbors; or "counts_of", what the counts count.
    """
    return shown_as(release).fact(key).text


def json_of(release: Release) -> dict[str, Any]:
    """Return guarantee, size and warnings of a release for programs."""
    return content(shown_as(release))


def table_of(release: Release, *, safe: bool = False) -> str:
    """Return the released table as CSV; `safe` for a spreadsheet."""
    return kind_of(release).table(release, safe_field if safe else csv_field)


def drawings_of(release: Release) -> "Sequence[Drawing]":
    """Return the plots of a release.

    Raises
    ------
    ParameterError
        If the release has no plot.
    """
    from dphist.render.charts import drawing_of  # matplotlib takes long to import

    slots = shown_as(release).slots
    return [drawing_of(chart, slots) for chart in kind_of(release).charts(release)]
