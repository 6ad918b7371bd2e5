"""What each kind of release says of itself, so that it can be shown."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dphist.errors import ParameterError
from dphist.release.release import Release
from dphist.report.counted import Counted
from dphist.report.guarantees import for_tests_json
from dphist.report.page import Page
from dphist.report.paid import paid_json
from dphist.report.promise import Promise

if TYPE_CHECKING:
    from dphist.report.plots import Panels


@dataclass(frozen=True, slots=True)
class Summary:
    """What a terminal shows: facts by name, the promise in words, lines of a table."""

    facts: list[tuple[str, str]]
    promise: str
    table: list[str]


def not_shown(release: Release, base: type[Any]) -> ParameterError:
    """Return the error for a mechanism without the members that pages of its kind state."""
    return ParameterError(
        f"releases of {type(release.mechanism).__name__} cannot be shown: a mechanism for values "
        f"of type {type(release.value).__name__} must be a {base.__name__}"
    )


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

    @abstractmethod
    def plot(self, release: Release) -> "Panels":
        """Draw a release: see `dphist.plot`."""

    @abstractmethod
    def page(self, release: Release) -> Page:
        """Return what the page says."""

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
