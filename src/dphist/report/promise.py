"""What a release promises, as page, summary and JSON say it."""

from dataclasses import dataclass
from typing import Any

from dphist.document.delta_words import Number
from dphist.document.guarantee_words import (
    guarantee_in_short,
    guarantee_in_symbols,
    guarantee_kind,
    total_in_a_sentence,
)
from dphist.document.totals import (
    in_all,
    total_in_words,
    total_json,
    total_of,
    warnings_of,
)
from dphist.privacy import Guarantee, PrivacyUnit, Target
from dphist.release.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What a release promises.

    Attributes
    ----------
    guarantee : what the mechanism proves for this release.
    total : the guarantee in epsilon that is stated first, for one release or for several.
    headline : the guarantee that the page shows in large letters.
    unit : what is protected, in words.
    number : how many units there are, as far as released numbers show it.
    neighbors : which data are neighbors, as a sentence.
    meaning : what the total means for one unit, in sentences.
    cost : name of the guarantee, as after "Released under".
    json : the guarantee for programs, exact.
    warnings : what a reader of JSON is warned of.
    """

    guarantee: Guarantee
    total: Target
    headline: Guarantee
    unit: str
    number: Number
    neighbors: str
    meaning: str
    cost: str
    json: dict[str, Any]
    warnings: list[str]

    @property
    def short(self) -> str:
        """The headline by its parameters."""
        return guarantee_in_short(self.headline)

    @property
    def sentence(self) -> str:
        """The total in one sentence for a manager."""
        return total_in_a_sentence(self.total.guarantee, self.unit, self.total.releases)

    @property
    def kind(self) -> str:
        """The headline without its parameters."""
        return guarantee_kind(self.headline, self.total.releases)

    @property
    def converted(self) -> bool:
        """Whether the total follows from a headline of another kind."""
        return self.headline != self.total.guarantee

    @property
    def symbols(self) -> str:
        """The total as a formula."""
        return guarantee_in_symbols(self.total.guarantee)


def promise_of_total(
    release: Release, *, unit: PrivacyUnit, neighbors: str, number: Number
) -> Promise:
    """Return a promise that states the total, for mechanisms whose epsilon is of one label."""
    mechanism, total = release.mechanism, total_of(release.mechanism)
    return Promise(
        guarantee=release.guarantee,
        total=total,
        headline=total.guarantee,
        unit=str(unit),
        number=number,
        neighbors=neighbors,
        meaning=total_in_words(total, unit, number, release.guarantee),
        cost=in_all(total),
        json=total_json(total, unit),
        warnings=warnings_of(mechanism, number),
    )
