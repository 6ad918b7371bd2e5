"""What the kind of a release says of it: document, table, plots.

Releases of labels and running counts by mechanisms of others are told by what `dphist.Mechanism`
says of them.
"""

from typing import TYPE_CHECKING, Any

from dphist.document import others
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
    kind, data = kind_of(release), DataFacts.of(release)
    if kind.tells_of(release.mechanism):
        return kind.document(release.mechanism, data, release)
    return others.document_of(kind, release.mechanism, data, release)


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

    kind, slots = kind_of(release), shown_as(release).slots
    of_ours = kind.tells_of(release.mechanism)
    charts = kind.charts(release) if of_ours else others.charts_of(release)
    return [drawing_of(chart, slots) for chart in charts]
