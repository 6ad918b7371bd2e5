"""How anonymized histograms are shown."""

from typing import TYPE_CHECKING, Any

from dphist.release.release import Release
from dphist.report import records, words
from dphist.report.anonymized.result import result_of
from dphist.report.anonymized.summary import summary_of
from dphist.report.anonymized.table import anonymized_csv
from dphist.report.counted import Counted
from dphist.report.kind import Kind, Summary
from dphist.report.page import Page
from dphist.report.promise import Promise, promise_of_records

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dphist.report.plots import Chart, Panels


class AnonymizedKind(Kind):
    """How many labels have each count."""

    name, title = "anonymized", "How many labels occur how often"

    def result(self, release: Release) -> list[str]:
        return result_of(release)

    def promise(self, release: Release) -> Promise:
        sensitivity, user = records.sensitivity_of(release), release.provenance.get("unit")
        return promise_of_records(
            release,
            unit=records.unit_of(release),
            neighbors=words.neighbors_in_words(sensitivity, user),
            number=records.number_of(release),
        )

    def counted(self, release: Release) -> Counted:
        return records.counted_of(release)

    def size(self, release: Release) -> dict[str, Any]:
        return {"total": release.total, "labels": release.value.labels}

    def summary(self, release: Release) -> Summary:
        return summary_of(release, self.promise(release))

    def table(self, release: Release) -> str:
        return anonymized_csv(release.value)

    def safe_table(self, release: Release) -> str:
        return self.table(release)  # numbers alone

    def plot(self, release: Release) -> "Panels":
        from dphist.report.anonymized import plots

        return plots.plot(release)

    def charts(self, release: Release) -> "Sequence[Chart]":
        from dphist.report.anonymized import plots

        return plots.charts_of(release, plots.bands_of(release))

    def page(self, release: Release) -> Page:
        from dphist.report.anonymized import page

        return page.content(release)


KIND = AnonymizedKind()
