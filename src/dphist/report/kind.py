"""What each kind of release says of itself, so that it can be shown."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dphist.document.about import paid_json
from dphist.document.counted import Counted
from dphist.document.totals import for_tests_json
from dphist.errors import ParameterError, UnsupportedError
from dphist.release.release import Release
from dphist.report.page import Page
from dphist.report.promise import Promise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dphist.render.charts import Drawing, Panels


@dataclass(frozen=True, slots=True)
class Summary:
    """What a terminal shows: facts by name, the promise in words, lines of a table."""

    facts: list[tuple[str, str]]
    promise: str
    table: list[str]


class Kind(ABC):
    """How releases of one kind are shown.

    The page is written by the template `page.html.j2` beside the module of the class. It extends
    `base.html.j2` of this package, and finds the result of `page` under the name `page`.

    `plot` and `page` need matplotlib, which takes longer to import than all of dphist. Import the
    modules that draw inside these two methods.

    Attributes
    ----------
    name : one word, such as "labels".
    title : heading of page and summary.
    """

    name: ClassVar[str]
    title: ClassVar[str]

    @abstractmethod
    def promise(self, release: Release) -> Promise:
        """Return what a release promises."""

    @abstractmethod
    def counted(self, release: Release) -> Counted:
        """Return what the counts of a release count."""

    @abstractmethod
    def size(self, release: Release) -> dict[str, Any]:
        """Return how much was released, for programs."""

    @abstractmethod
    def summary(self, release: Release) -> Summary:
        """Return what a terminal shows."""

    @abstractmethod
    def table(self, release: Release) -> str:
        """Return the released table as CSV."""

    def safe_table(self, release: Release) -> str:
        """Return the table with labels that a spreadsheet shows as they are.

        Raises
        ------
        UnsupportedError
            If its kind does not say how.
        """
        raise UnsupportedError(f"releases of the kind {self.name} have no spreadsheet-safe table")

    @abstractmethod
    def plot(self, release: Release) -> "Panels":
        """Draw a release: see `dphist.plot`."""

    def charts(self, release: Release) -> "Sequence[Drawing]":
        """Return the plots of a release, to be drawn into a caller's axes or in one column.

        Raises
        ------
        ParameterError
            If the release has no plot, or its kind does not say.
        """
        raise ParameterError(
            ("ax", "columns"),
            f"must be left out: releases of the kind {self.name} are plotted without them",
        )

    @abstractmethod
    def page(self, release: Release) -> Page:
        """Return what the page says."""

    def serving(self, release: Release) -> "Kind":
        """Return the kind that shows a release: this one, if it serves the release's mechanism."""
        return self

    def title_of(self, release: Release) -> str:
        """Return the heading of a release."""
        return self.title

    def result(self, release: Release) -> list[str]:
        """Return the result as one sentence for a manager, in parts; nothing if there is none.

        Released labels among the parts are `dphist.report.nouns.Verbatim`.
        """
        return []

    def cost(self, release: Release) -> str:
        """Name the guarantee, as after "Released under"."""
        return self.promise(release).cost

    def counted_json(self, release: Release) -> dict[str, Any]:
        """Return what the counts count, for programs."""
        return {"counts_of": self.counted(release).whole}

    def as_json(self, release: Release) -> dict[str, Any]:
        """Return guarantee and size, for programs that read what was written."""
        promise = self.promise(release)
        return {
            "guarantee": promise.json,
            **self.size(release),
            **self.counted_json(release),
            **for_tests_json(release),
            **paid_json(release.provenance),
            "warnings": promise.warnings,
        }
