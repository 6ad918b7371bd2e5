"""How labels and running counts of somebody else's mechanism are shown."""

from typing import TYPE_CHECKING, Any

from dphist.document.counted import Counted, number_shown
from dphist.document.csv_field import csv_field, safe_field
from dphist.document.kind import Kind as Declared
from dphist.release.release import Release
from dphist.report.kind import Kind, Summary
from dphist.report.page import Page
from dphist.report.plain import words
from dphist.report.plain.rows import counts_of, size_of
from dphist.report.plain.summary import summary_of
from dphist.report.promise import Promise, promise_of_total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dphist.render.charts import Drawing, Panels


class PlainKind(Kind):
    """Shows a release by what `dphist.Mechanism` says of its mechanism, and by its rows.

    Parameters
    ----------
    kind : the kind of the value, which knows its name, size and table.
    """

    def __init__(self, kind: Kind | Declared) -> None:
        self.name, self.title = kind.name, kind.title  # type: ignore[misc] # of one object
        self._kind = kind

    def title_of(self, release: Release) -> str:
        return self.title if isinstance(self._kind, Declared) else self._kind.title_of(release)

    def promise(self, release: Release) -> Promise:
        return promise_of_total(
            release,
            unit=release.guarantee.unit,
            neighbors=words.neighbors_of(release),
            number=number_shown(release, 0),
        )

    def counted(self, release: Release) -> Counted:
        return Counted("records as the mechanism counts them")

    def counted_json(self, release: Release) -> dict[str, Any]:
        return {} if counts_of(release) is None else super().counted_json(release)

    def size(self, release: Release) -> dict[str, Any]:
        if isinstance(self._kind, Declared):
            return size_of(release)
        return self._kind.size(release)

    def summary(self, release: Release) -> Summary:
        return summary_of(release, self.promise(release), self.size(release))

    def table(self, release: Release) -> str:
        if isinstance(self._kind, Declared):
            return self._kind.table(release, csv_field)
        return self._kind.table(release)

    def safe_table(self, release: Release) -> str:
        if isinstance(self._kind, Declared):
            return self._kind.table(release, safe_field)
        return self._kind.safe_table(release)

    def plot(self, release: Release) -> "Panels":
        from dphist.report.plain import plots

        return plots.plot(release)

    def charts(self, release: Release) -> "Sequence[Drawing]":
        from dphist.report.plain import plots

        return [plots.chart_of(release)]

    def page(self, release: Release) -> Page:
        from dphist.report.plain import page

        return page.content(release, self.size(release))
