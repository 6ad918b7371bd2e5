"""How histograms over ranges are shown."""

from typing import TYPE_CHECKING, Any

from dphist.document import counted as records
from dphist.document.counted import Counted
from dphist.document.totals import total_of
from dphist.privacy import ZCDP
from dphist.release.release import Release
from dphist.report.csv_field import safe_field
from dphist.report.kind import Kind, Summary
from dphist.report.page import Page
from dphist.report.promise import Promise, promise_of_records
from dphist.report.ranges.result import result_of
from dphist.report.ranges.summary import summary_of
from dphist.report.ranges.table import ranges_csv
from dphist.report.ranges.words import names_in_words, neighbors_in_words, promise_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dphist.render.charts import Drawing, Panels


class RangesKind(Kind):
    """How many records lie in any range."""

    name, title = "ranges", "Records by range"

    def title_of(self, release: Release) -> str:
        """Return the heading of a release: what is counted, by which columns."""
        histogram = release.value
        if not histogram.has_edges:
            return "Records by bin" if histogram.bins.ndim == 1 else "Records by cell"
        return f"Records by {names_in_words(histogram)}"

    def result(self, release: Release) -> list[str]:
        return result_of(release)

    def promise(self, release: Release) -> Promise:
        """Return what a release promises; of zCDP, rho stands in large letters."""
        guarantee, unit = release.guarantee, records.unit_of(release)
        number, most = records.number_of(release), records.sensitivity_of(release)
        return promise_of_records(
            release,
            unit=unit,
            neighbors=neighbors_in_words(most, release.provenance.get("unit")),
            number=number,
            meaning=promise_in_words(guarantee, unit, number, total_of(release.mechanism)),
            headline=guarantee if isinstance(guarantee, ZCDP) else None,
        )

    def counted(self, release: Release) -> Counted:
        return records.counted_of(release)

    def size(self, release: Release) -> dict[str, Any]:
        return {"total": release.total, "bins": list(release.value.bins.shape)}

    def summary(self, release: Release) -> Summary:
        return summary_of(release, self.promise(release))

    def table(self, release: Release) -> str:
        return ranges_csv(release.value)

    def safe_table(self, release: Release) -> str:
        return ranges_csv(release.value, safe_field)

    def plot(self, release: Release) -> "Panels":
        from dphist.report.ranges import plots

        return plots.plot(release)

    def charts(self, release: Release) -> "Sequence[Drawing]":
        from dphist.report.ranges import plots

        plots.check_plotted(release.value)
        return plots.charts_of(release)

    def page(self, release: Release) -> Page:
        from dphist.report.ranges import page

        return page.content(release)


KIND = RangesKind()
