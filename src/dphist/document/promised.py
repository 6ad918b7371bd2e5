"""What a release promises, or would: guarantee, limits and mechanism, whatever its kind."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dphist.document.blocks import (
    BRIEF,
    EVERYWHERE,
    HEADED,
    ON_CARD,
    ON_JSON,
    ON_PAGE,
    ON_TERMINAL,
    READ,
    Block,
    Fact,
    Note,
    Section,
    Surfaces,
)
from dphist.document.disclosure import describe_payment, list_payment
from dphist.document.guarantee_words import (
    exchange_in_words,
    guarantee_in_short,
    guarantee_in_symbols,
    guarantee_kind,
    limits_in_words,
    total_in_a_sentence,
)
from dphist.document.kind import DataFacts
from dphist.document.mechanism_facts import call, noise_in_words, parameters, public_parameters
from dphist.document.small_counts import is_below
from dphist.document.totals import (
    find_total,
    guarantee_json,
    guarantee_together,
    in_all,
    list_warnings,
    total_in_words,
    total_json,
)
from dphist.document.unit_words import (
    Contribution,
    Number,
    Protected,
    protected_in_words,
    unit_in_words,
)
from dphist.privacy import ZCDP, Guarantee, PureDP, Target
from dphist.privacy.as_text import plain, up
from dphist.privacy.exchanged import exchanged_together
from dphist.privacy.unit import OF_ROWS
from dphist.release.maker import Maker, find_target
from dphist.release.release import Release
from dphist.sentence import Sentence, join_sentences


@dataclass(frozen=True, slots=True)
class Promised:
    """What a release promises, or would.

    Attributes
    ----------
    mechanism : that makes it.
    data : what is known of the data.
    release : what the mechanism returned; None if it is not made yet.
    neighbors : which data are neighbors, as a sentence.
    number : how many units there are, as far as public numbers show it.
    protected : what is protected; `find_contribution` where a guarantee is for a number of records.
    """

    mechanism: Maker
    data: DataFacts
    release: Release | None
    neighbors: str
    number: Number
    protected: Protected

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of one release, with the unit of the data."""
        return find_guarantee(self.mechanism, self.data, self.release)

    @property
    def total(self) -> Target:
        """The guarantee in epsilon that is stated first, for one release or for several."""
        return find_total(self.mechanism, self.data.users)

    @property
    def headline(self) -> ZCDP | None:
        """The guarantee that a page shows in large letters, if it is not the total."""
        of_records = isinstance(self.protected, Contribution)
        return self.guarantee if of_records and isinstance(self.guarantee, ZCDP) else None

    @property
    def cost(self) -> str:
        """The guarantee as it follows "Released under"."""
        calibrated = self._target is not None
        if isinstance(self.protected, Contribution) and not calibrated:
            return str(self.guarantee)
        return in_all(self.total)

    @property
    def json(self) -> dict[str, Any]:
        """The guarantee for programs, exact."""
        if not isinstance(self.protected, Contribution):
            return total_json(self.total, self.protected)
        found = {**guarantee_json(self.guarantee), "sensitivity": self.protected.records}
        target = self._target
        if target is not None:
            found["target"] = total_json(target, self.guarantee.unit)
        return found

    @property
    def _target(self) -> Target | None:
        """What the mechanism was calibrated to, if the release is its alone."""
        return find_target(self.mechanism) if self.data.users is None else None

    @property
    def unit(self) -> Sentence:
        """What is protected, in words."""
        return protected_in_words(self.protected)

    @property
    def short(self) -> str:
        """The guarantee by its parameters."""
        return guarantee_in_short(self.headline or self.total.guarantee)

    def name_rows(self, text: str) -> Sentence:
        """Return a text that says for what the guarantee is, if that is less than a person."""
        protected = self.protected
        unit = protected.unit if isinstance(protected, Contribution) else protected.single
        if unit is not None and unit not in OF_ROWS:
            return Sentence("{text}", text=text)
        what = self.unit if unit is None else unit_in_words(unit)
        return Sentence("{text} for {what}", text=text, what=what)

    @property
    def lead(self) -> Sentence:
        """The total in one sentence for a manager."""
        return total_in_a_sentence(self.total.guarantee, self.unit, self.total.releases)

    def glance(self) -> Section:
        """Return the guarantee as one of the first facts."""
        total = self.total
        kind = guarantee_kind(self.headline or total.guarantee, total.releases)
        protects = Sentence("{kind}, for {unit}", kind=kind, unit=self.unit)
        cost = Sentence("{cost}, for {unit}", cost=self.cost, unit=self.unit)
        told = BRIEF | ON_JSON
        facts = [
            Fact(self.name_rows("Guarantee"), self.short, note=protects, on=ON_PAGE),
            Fact("Guarantee", cost, "guarantee", self.json, on=told),
        ]
        return Section("promised", "", facts)

    def section(self, more: Sequence[Block] = ()) -> Section:
        """Return what is guaranteed, in sentences, as a formula and by its terms.

        Parameters
        ----------
        more : blocks that follow.
        """
        total = self.total
        under = (
            "for all neighbors D and D′ and every set S of results, where M is the mechanism: "
            f"{total}."
        )
        follows: str = ""
        if self.headline is not None:
            follows = Sentence(
                "The release satisfies {headline}, which implies {total}. To add up several "
                "releases, add up their ρ.",
                headline=self.headline,
                total=total,
            )
        alone = self.mechanism if self.data.users is None else None
        number = self.number
        if number.units is not None and is_below(number.units, self.data.below):
            number = replace(number, units=None)
        meaning = total_in_words(total, self.protected, number, self.guarantee, alone)
        blocks: list[Block] = [
            Note(join_sentences((follows, meaning))),
            Note(guarantee_in_symbols(total.guarantee), "formula", on=ON_PAGE),
            Note(under, "aside", on=ON_PAGE),
            Fact("Protected unit", protected_in_words(self.protected, "One"), on=ON_PAGE),
            Fact("Neighboring data", self.neighbors, "neighbors", on=ON_PAGE),
            Fact("", self.cost, "cost", on=frozenset()),
        ]
        if isinstance(self.guarantee, PureDP) and self.guarantee.rho is not None:
            own = f"ρ = {plain(up(self.guarantee.rho, 6))}"
            blocks.append(Fact("In zCDP", own, note="for adding up several releases", on=HEADED))
        blocks += self._exchange() + self._parts()
        release = self.release
        paid = None if release is None else describe_payment(release.provenance)
        if release is not None and paid is not None:
            blocks.append(Fact("Ledger", paid, on=HEADED))
            told = list_payment(release.provenance)
            blocks += [Fact("", value, name, value, on=ON_JSON) for name, value in told.items()]
        return Section("guarantee", "What is guaranteed", [*blocks, *more])

    @property
    def exchanged(self) -> Guarantee | None:
        """What one release costs a unit that is exchanged for another."""
        if self.release is not None:
            return self.release.exchanged
        first, *others = [each for each in (self.data.users, self.mechanism) if each is not None]
        return exchanged_together([first], self.guarantee.unit, others)

    def _exchange(self) -> list[Fact]:
        """Return what holds for neighbors of equal size, beside the guarantee."""
        exchanged = self.exchanged
        if exchanged is None:
            return []
        said, as_json = exchange_in_words(exchanged), guarantee_json(exchanged)
        note = "for data sets of equal size, beside the guarantee above"
        return [Fact("If exchanged", said, "exchanged", as_json, note=note, on=ON_PAGE | ON_JSON)]

    def _parts(self) -> list[Fact]:
        """Return what each of two releases costs that are one together."""
        users = self.data.users
        if users is None:
            return []
        own, beside = self.mechanism.guarantee, users.guarantee
        said = Sentence(
            "{own} for the counts, and {beside} for how many {users} have how many {records}; the "
            "guarantee is of both together.",
            own=guarantee_in_short(own),
            beside=guarantee_in_short(beside),
        )
        unit = self.guarantee.unit
        as_json = {
            "counts": guarantee_json(replace(own, unit=unit)),
            "users_by_records": guarantee_json(replace(beside, unit=unit)),
        }
        facts = [Fact("Parts", said, "guarantees", as_json, on=EVERYWHERE)]
        carried = None if self.release is None else self.release.users
        paid = None if carried is None else describe_payment(carried.provenance)
        return [*facts, Fact("Ledger, of users", paid, on=HEADED)] if paid else facts

    def warnings(self) -> Fact:
        """Return what a program is warned of."""
        return Fact("", "", "warnings", list_warnings(self.mechanism, self.number), on=ON_JSON)

    def limits_section(self, own: Sequence[tuple[str, str]]) -> Section:
        """Return what the guarantee does not cover."""
        general = limits_in_words(self.protected, public_parameters(self.mechanism))
        limits = [*own, *(each for each in general if each[0] not in dict(own))]
        blocks = [Fact(name, how, on=ON_PAGE) for name, how in limits]
        return Section("limits", "What is not covered", blocks)

    def _describe_look(self) -> list[Fact]:
        """Name the mechanism of a release that is carried."""
        users = self.data.users
        return [] if users is None else [Fact("Of users", call(users), on=HEADED)]

    def mechanism_section(
        self, more: Sequence[Block], planned: bool, noise_on: Surfaces
    ) -> Section:
        """Return how a release is made: if planned, terminals describe the mechanism too."""
        mechanism = self.mechanism
        name = type(mechanism).__name__
        blocks: list[Block] = [
            Fact("Mechanism", call(mechanism), on=ON_TERMINAL),
            Fact("Mechanism", name, on=ON_CARD),
            *self._describe_look(),
            Note(mechanism.description, on=READ if planned else ON_PAGE),
        ]
        if planned:
            blocks.append(Fact("", "", "mechanism", name, on=ON_JSON))
        for each in parameters(mechanism):
            blocks.append(Fact(each.name, each.value, note=each.meaning, code=True, on=ON_PAGE))
        noise = noise_in_words(mechanism)
        if noise is not None:
            blocks.append(Fact("Noise", noise, on=noise_on))
        return Section("mechanism", "How it was made", [*blocks, *more])


def find_contribution(mechanism: Maker, data: DataFacts) -> Protected:
    """Return what is protected by a mechanism that protects a number of records."""
    if data.counts_users and data.unit is not None:
        return data.unit  # with all records, each counted once
    return Contribution(mechanism.guarantee.unit.at_most, data.unit)


def find_guarantee(mechanism: Maker, data: DataFacts, release: Release | None) -> Guarantee:
    """Return the guarantee of a release; before there is one, for the unit that data will name."""
    if release is not None:
        return release.guarantee
    guarantee = guarantee_together(mechanism, data.users)
    return (
        guarantee if data.unit is None else replace(guarantee, unit=guarantee.unit.named(data.unit))
    )
