"""A kind of release that dphist does not have: the mean of a column."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dphist import PrivacyUnit, Release
from dphist.document.counted import Counted
from dphist.document.delta_words import Number
from dphist.report.kind import Kind, Summary
from dphist.report.page import Page
from dphist.report.promise import Promise, promise_of_total

if TYPE_CHECKING:
    from dphist.render.charts import Panels


@dataclass(frozen=True)
class Mean:
    """The released value."""

    mean: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanPage(Page):
    mean: float


class MeanKind(Kind):
    name, title = "mean", "Mean of a column"

    def promise(self, release: Release) -> Promise:
        said = "D and D′ differ in one record."
        return promise_of_total(
            release, unit=PrivacyUnit("record"), neighbors=said, number=Number()
        )

    def counted(self, release: Release) -> Counted:
        return Counted("records")

    def size(self, release: Release) -> dict[str, Any]:
        return {"mean": release.value.mean}

    def summary(self, release: Release) -> Summary:
        return Summary([], self.promise(release).meaning, [f"  {release.value.mean}"])

    def table(self, release: Release) -> str:
        return f"mean\n{release.value.mean}\n"

    def plot(self, release: Release) -> "Panels":
        from dphist.render.charts import Drawing, draw_charts

        mean = release.value.mean

        def draw(ax: Any, _: object) -> None:
            ax.axvline(mean, label="Released")

        return draw_charts([Drawing("Mean", draw)], 5, 5)

    def page(self, release: Release) -> MeanPage:
        return MeanPage(figures=[], parameters=[], paper=None, limits=[], mean=release.value.mean)
