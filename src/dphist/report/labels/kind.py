"""How label counts and rankings are shown."""

from typing import TYPE_CHECKING, Any

from dphist.document.counted import Counted, most_shown, number_shown
from dphist.document.delta_words import Number
from dphist.labels import DiscoverLabels
from dphist.labels.mechanism import LabelsMechanism
from dphist.release.release import Release
from dphist.report.csv_field import safe_field
from dphist.report.kind import Kind, Summary
from dphist.report.labels.counted import counted_of, cut_users_json, cut_users_of
from dphist.report.labels.result import result_of
from dphist.report.labels.summary import summary_of
from dphist.report.labels.sums import sums_json
from dphist.report.labels.table import labels_csv
from dphist.report.labels.words import mechanism_of, neighbors_of, unit_of
from dphist.report.page import Page
from dphist.report.plain.kind import PlainKind
from dphist.report.promise import Promise, promise_of_total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dphist.render.charts import Drawing, Panels


class LabelsKind(Kind):
    """Which labels are common, and how common."""

    name, title = "labels", "Common labels and their counts"

    def serving(self, release: Release) -> Kind:
        """Return this kind for the mechanisms of dphist, which state thresholds and bounds."""
        return self if isinstance(release.mechanism, LabelsMechanism) else PlainKind(self)

    def title_of(self, release: Release) -> str:
        """Return the heading of a release; a ranking has no counts."""
        if isinstance(release.mechanism, DiscoverLabels):
            return "Labels that many have"
        return "The most common labels" if release.value.counts is None else self.title

    def result(self, release: Release) -> list[str]:
        return result_of(release)

    def promise(self, release: Release) -> Promise:
        return promise_of_total(
            release,
            unit=unit_of(release.provenance).single,
            neighbors=neighbors_of(mechanism_of(release), release.provenance),
            number=_number(release),
        )

    def counted(self, release: Release) -> Counted:
        return counted_of(release)

    def counted_json(self, release: Release) -> dict[str, Any]:
        if release.value.counts is None:
            return {}
        sums = sums_json(mechanism_of(release))
        return {
            **super().counted_json(release),
            **cut_users_json(release),
            **({"noise_of_counts": sums} if sums else {}),
        }

    def size(self, release: Release) -> dict[str, Any]:
        return {"labels": len(release.value)}

    def summary(self, release: Release) -> Summary:
        return summary_of(release, self.promise(release))

    def table(self, release: Release) -> str:
        return labels_csv(release.value)

    def safe_table(self, release: Release) -> str:
        return labels_csv(release.value, safe_field)

    def plot(self, release: Release) -> "Panels":
        from dphist.report.labels import plots

        return plots.plot(release)

    def charts(self, release: Release) -> "Sequence[Drawing]":
        from dphist.report.labels import plots

        return plots.charts_of(release)

    def page(self, release: Release) -> Page:
        from dphist.report.labels import page

        return page.content(release)


def _number(release: Release) -> Number:
    """Return how many users there are: a released number of users, or what counts show."""
    users = cut_users_of(release)
    if users is not None:
        return number_shown(release, max(users.within, 0) + max(users.cut, 0), exact=True)
    counts = release.value.counts
    if counts is None:
        return number_shown(release, 0)
    mechanism = mechanism_of(release)
    shown = most_shown(counts.tolist(), mechanism.max_labels, mechanism.max_count)
    return number_shown(release, *shown)


KIND = LabelsKind()
