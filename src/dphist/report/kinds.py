"""The kinds of releases, and how each is reported: one table, by the type of the value."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dphist.data.profile import Profile
from dphist.release.label_table import LabelTable
from dphist.release.range_histogram import RangeHistogram
from dphist.release.release import Release
from dphist.release.running_counts import RunningCounts

if TYPE_CHECKING:
    from dphist.report.plots import Panels


@dataclass(frozen=True, slots=True)
class Summary:
    """What a terminal shows: facts by name, the guarantee in words, lines of a table."""

    facts: list[tuple[str, str]]
    promise: str
    table: list[str]


class Kind(ABC):
    """How releases of one kind are shown.

    Modules are imported where they are used: what draws takes long to start.

    Attributes
    ----------
    name : what goes before "histogram" in the summary's first line.
    template : file of the page.
    """

    name: str
    template: str

    @abstractmethod
    def plot(self, release: Release) -> "Panels":
        """Draw a release: see `dphist.plot`."""

    @abstractmethod
    def page(self, release: Release) -> dict[str, Any]:
        """Return what the page says, as text, numbers and figures."""

    @abstractmethod
    def summary(self, release: Release) -> Summary:
        """Return what a terminal shows."""

    @abstractmethod
    def table(self, release: Release) -> str:
        """Return the released table as CSV."""

    @abstractmethod
    def cost(self, release: Release) -> str:
        """Name the guarantee, as after "Released under"."""

    @abstractmethod
    def guarantee(self, release: Release) -> dict[str, Any]:
        """Return the guarantee, for programs."""

    @abstractmethod
    def size(self, release: Release) -> dict[str, Any]:
        """Return how much was released, for programs."""

    def as_json(self, release: Release) -> dict[str, Any]:
        """Return guarantee and size, for programs that read what was written."""
        from dphist.report.guarantees import for_tests_json, warnings_of
        from dphist.report.numbers_protected import number_protected
        from dphist.report.what_is_counted import counted_json

        return {
            "guarantee": self.guarantee(release),
            **self.size(release),
            **counted_json(release),
            **for_tests_json(release),
            "warnings": warnings_of(release.mechanism, number_protected(release)),
        }


class _Anonymized(Kind):
    name, template = "Anonymized", "anonymized.html.j2"

    def plot(self, release: Release) -> "Panels":
        from dphist.report import plots

        return plots.plot(release)

    def page(self, release: Release) -> dict[str, Any]:
        from dphist.report.anonymized import page as anonymized_page

        return anonymized_page.content(release)

    def summary(self, release: Release) -> Summary:
        from dphist.report.anonymized import summary as anonymized_summary

        return anonymized_summary.summary_of(release)

    def table(self, release: Release) -> str:
        from dphist.report import table

        return table.anonymized(release.value)

    def cost(self, release: Release) -> str:
        from dphist.report.guarantees import cost_of

        return cost_of(release)

    def guarantee(self, release: Release) -> dict[str, Any]:
        from dphist.report.guarantees import records_json

        return records_json(release.mechanism, release.guarantee)

    def size(self, release: Release) -> dict[str, Any]:
        return {"total": release.total, "labels": release.value.labels}


class _Labelled(Kind):
    name, template = "Labelled", "labelled.html.j2"

    def plot(self, release: Release) -> "Panels":
        from dphist.report.labels import plots as labelled_plots

        return labelled_plots.plot(release)

    def page(self, release: Release) -> dict[str, Any]:
        from dphist.report.labels import page as labelled_page

        return labelled_page.content(release)

    def summary(self, release: Release) -> Summary:
        from dphist.report.labels import summary as labelled_summary

        return labelled_summary.summary_of(release)

    def table(self, release: Release) -> str:
        from dphist.report import table

        return table.labelled(release.value)

    def cost(self, release: Release) -> str:
        from dphist.report.guarantees import in_all, total_of

        return in_all(total_of(release.mechanism))

    def guarantee(self, release: Release) -> dict[str, Any]:
        from dphist.report.guarantees import total_json, total_of
        from dphist.report.labels.words import protected_unit

        return total_json(total_of(release.mechanism), protected_unit(release.provenance))

    def size(self, release: Release) -> dict[str, Any]:
        return {"labels": len(release.value)}


class _Universal(Kind):
    name, template = "Universal", "ranges.html.j2"

    def plot(self, release: Release) -> "Panels":
        from dphist.report.ranges import plots as ranges_plots

        return ranges_plots.plot(release)

    def page(self, release: Release) -> dict[str, Any]:
        from dphist.report.ranges import page as ranges_page

        return ranges_page.content(release)

    def summary(self, release: Release) -> Summary:
        from dphist.report.ranges import summary as ranges_summary

        return ranges_summary.summary_of(release)

    def table(self, release: Release) -> str:
        from dphist.report.ranges import table as ranges_table

        return ranges_table.ranges_csv(release.value)

    def cost(self, release: Release) -> str:
        from dphist.report.guarantees import cost_of

        return cost_of(release)

    def guarantee(self, release: Release) -> dict[str, Any]:
        from dphist.report.guarantees import records_json

        return records_json(release.mechanism, release.guarantee)

    def size(self, release: Release) -> dict[str, Any]:
        return {"total": release.total, "bins": list(release.value.bins.shape)}


class _Running(Kind):
    name, template = "Running", "running.html.j2"

    def plot(self, release: Release) -> "Panels":
        from dphist.report.streams import plots as running_plots

        return running_plots.plot(release)

    def page(self, release: Release) -> dict[str, Any]:
        from dphist.report.streams import page as running_page

        return running_page.content(release)

    def summary(self, release: Release) -> Summary:
        from dphist.report.streams import summary as running_summary

        return running_summary.summary_of(release)

    def table(self, release: Release) -> str:
        from dphist.report.streams import table as running_table

        return running_table.running_csv(release.value)

    def cost(self, release: Release) -> str:
        from dphist.report.guarantees import in_all, total_of

        return in_all(total_of(release.mechanism))

    def guarantee(self, release: Release) -> dict[str, Any]:
        from dphist.report.guarantees import total_json, total_of
        from dphist.report.streams.words import protected_unit

        unit = protected_unit(release.mechanism, release.provenance)
        return total_json(total_of(release.mechanism), unit)

    def size(self, release: Release) -> dict[str, Any]:
        value: RunningCounts = release.value
        return {
            "time": int(value.times[-1]),
            "readings": len(value),
            "labels": len(value.latest),
        }


_KINDS: dict[type[Any], Kind] = {
    Profile: _Anonymized(),
    LabelTable: _Labelled(),
    RangeHistogram: _Universal(),
    RunningCounts: _Running(),
}


def kind_of(release: Release) -> Kind:
    """Return how a release is shown."""
    return _KINDS[type(release.value)]
