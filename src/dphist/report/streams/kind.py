"""How running counts of a stream are shown."""

from typing import TYPE_CHECKING, Any

from dphist.document.counted import Counted, most_shown, number_shown
from dphist.document.csv_field import safe_field
from dphist.document.delta_words import Number
from dphist.release.release import Release
from dphist.report.kind import Kind, Summary
from dphist.report.page import Page
from dphist.report.plain.kind import PlainKind
from dphist.report.promise import Promise, promise_of_total
from dphist.report.streams.counted import counted_by
from dphist.report.streams.result import result_of
from dphist.report.streams.summary import summary_of
from dphist.report.streams.table import streams_csv
from dphist.report.streams.words import mechanism_of, neighbors_in_words, unit_of
from dphist.streams import ContinualMechanism

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dphist.render.charts import Drawing, Panels


class StreamsKind(Kind):
    """How often each label has occurred, again and again as events arrive."""

    name, title = "streams", "Running counts of labels"

    def result(self, release: Release) -> list[str]:
        return result_of(release)

    def serving(self, release: Release) -> Kind:
        """Return this kind for the streams of dphist, which state horizons and bounds."""
        return self if isinstance(release.mechanism, ContinualMechanism) else PlainKind(self)

    def promise(self, release: Release) -> Promise:
        mechanism = mechanism_of(release)
        return promise_of_total(
            release,
            unit=unit_of(mechanism, release.provenance),
            neighbors=neighbors_in_words(mechanism, release.provenance),
            number=_number(release),
        )

    def counted(self, release: Release) -> Counted:
        return counted_by(mechanism_of(release), release.provenance)

    def size(self, release: Release) -> dict[str, Any]:
        value = release.value
        return {
            "time": int(value.times[-1]),
            "readings": len(value),
            "labels": len(value.latest),
        }

    def summary(self, release: Release) -> Summary:
        return summary_of(release, self.promise(release))

    def table(self, release: Release) -> str:
        return streams_csv(release.value)

    def safe_table(self, release: Release) -> str:
        return streams_csv(release.value, safe_field)

    def plot(self, release: Release) -> "Panels":
        from dphist.report.streams import plots

        return plots.plot(release)

    def charts(self, release: Release) -> "Sequence[Drawing]":
        from dphist.report.streams import plots

        return [plots.chart_of(release)]

    def page(self, release: Release) -> Page:
        from dphist.report.streams import page

        return page.content(release)


def _number(release: Release) -> Number:
    """Return how many events there are, or how many users the counts show."""
    value, mechanism = release.value, mechanism_of(release)
    events = release.guarantee.unit.who == "event"
    if mechanism.max_events_per_user is None:
        return number_shown(release, int(value.times[-1]), exact=events)
    found = value.latest.counts
    counts = [] if found is None else found.tolist()
    shown = most_shown(counts, mechanism.changed_labels, mechanism.max_events_per_user)
    return number_shown(release, *shown, exact=events)


KIND = StreamsKind()
