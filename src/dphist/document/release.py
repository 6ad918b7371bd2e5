"""What every document of a release says, whatever its kind."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dphist.document.about import About, about_of, paid_in_words, paid_json
from dphist.document.blocks import (
    BRIEF,
    HEADED,
    ON_CARD,
    ON_JSON,
    ON_PAGE,
    ON_TERMINAL,
    READ,
    Block,
    Document,
    Fact,
    Note,
    Section,
)
from dphist.document.counted import Counted
from dphist.document.delta_words import Number
from dphist.document.errata import errata_in_words
from dphist.document.guarantee_words import (
    Contribution,
    Protected,
    guarantee_in_short,
    guarantee_in_symbols,
    guarantee_kind,
    limits_in_words,
    protected_in_words,
    total_in_a_sentence,
)
from dphist.document.kind import DataFacts
from dphist.document.mechanism_facts import call, noise, paper, parameters, public_parameters
from dphist.document.totals import (
    cost_of,
    for_tests_json,
    guarantee_for,
    in_all,
    records_json,
    total_in_words,
    total_json,
    total_of,
    warnings_of,
)
from dphist.privacy import ZCDP, Guarantee, PrivacyUnit, Target
from dphist.privacy.unit import ONE_ROW
from dphist.release.maker import Maker
from dphist.release.presentation import Presentation, forms_of
from dphist.release.release import FOR_TESTS, VERSION, Release
from dphist.sentence import Sentence, joined, slots_of

RELEASED = "released with differential privacy"
IF_RELEASED = f"if {RELEASED}"
"""How a document came to be, and how it would: see `Document.made`."""
CODES = 'The empty text is shown as "", and a character that cannot be printed by its code.'
"""What surfaces do to released labels."""


def slots_of_owner(presentation: Presentation, unit: PrivacyUnit | None = None) -> dict[str, str]:
    """Return the owner's words for labels, records and users.

    Parameters
    ----------
    unit : whom the data protect; their name stands where the owner has no other word for a user.
    """
    named = unit is not None and unit.is_one_word and unit != ONE_ROW
    given = {
        "label": presentation.label_name,
        "record": presentation.record_name,
        "user": presentation.unit or (unit.who if unit is not None and named else None),
    }
    return slots_of(**{noun: forms_of(word) for noun, word in given.items() if word is not None})


@dataclass(frozen=True, slots=True)
class Promised:
    """What a release promises, or would.

    Attributes
    ----------
    mechanism : that makes it.
    data : what is known of the data.
    release : what the mechanism returned; None if it is not made yet.
    guarantee : of one release, with the unit of the data.
    protected : what is protected.
    neighbors : which data are neighbors, as a sentence.
    number : how many units there are, as far as public numbers show it.
    cost : the guarantee as it follows "Released under".
    json : the guarantee for programs, exact.
    headline : the guarantee that a page shows in large letters, if it is not the total.
    """

    mechanism: Maker
    data: DataFacts
    release: Release | None
    guarantee: Guarantee
    protected: Protected
    neighbors: str
    number: Number
    cost: str
    json: dict[str, Any]
    headline: ZCDP | None = None

    @property
    def total(self) -> Target:
        """The guarantee in epsilon that is stated first, for one release or for several."""
        return total_of(self.mechanism)

    @property
    def unit(self) -> Sentence:
        """What is protected, in words."""
        return protected_in_words(self.protected)

    @property
    def short(self) -> str:
        """The headline by its parameters."""
        return guarantee_in_short(self.headline or self.total.guarantee)

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
        facts = [
            Fact("Guarantee", self.short, note=protects, on=ON_PAGE),
            Fact("Guarantee", cost, "guarantee", self.json, on=BRIEF | ON_JSON),
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
        meaning = total_in_words(total, self.protected, self.number, self.guarantee)
        blocks: list[Block] = [
            Note(joined((follows, meaning))),
            Note(guarantee_in_symbols(total.guarantee), "formula", on=ON_PAGE),
            Note(under, "aside", on=ON_PAGE),
            Fact("Protected unit", protected_in_words(self.protected, "One"), on=ON_PAGE),
            Fact("Neighboring data", self.neighbors, "neighbors", on=ON_PAGE),
            Fact("", self.cost, "cost", on=frozenset()),
        ]
        release = self.release
        paid = None if release is None else paid_in_words(release.provenance)
        if release is not None and paid is not None:
            blocks.append(Fact("Ledger", paid, on=HEADED))
            told = paid_json(release.provenance)
            blocks += [Fact("", value, name, value, on=ON_JSON) for name, value in told.items()]
        return Section("guarantee", "What is guaranteed", [*blocks, *more])

    def warnings(self) -> Fact:
        """Return what a program is warned of."""
        return Fact("", "", "warnings", warnings_of(self.mechanism, self.number), on=ON_JSON)


def promise_of_records(
    mechanism: Maker, data: DataFacts, release: Release | None, neighbors: str, number: Number
) -> Promised:
    """Return what a mechanism promises that protects a number of records, its sensitivity."""
    guarantee = guarantee_for(mechanism.guarantee, data.unit)
    if release is not None:
        guarantee = release.guarantee
    return Promised(
        mechanism=mechanism,
        data=data,
        release=release,
        guarantee=guarantee,
        protected=Contribution(mechanism.guarantee.unit.at_most, data.unit),
        neighbors=neighbors,
        number=number,
        cost=cost_of(mechanism, guarantee),
        json=records_json(mechanism, guarantee),
        headline=guarantee if isinstance(guarantee, ZCDP) else None,
    )


def promise_of_total(
    mechanism: Maker,
    data: DataFacts,
    release: Release | None,
    neighbors: str,
    number: Number,
    protected: Protected | None = None,
) -> Promised:
    """Return what a mechanism promises whose total in epsilon is stated.

    Parameters
    ----------
    protected : what is protected (default: the unit of the guarantee).
    """
    guarantee = guarantee_for(mechanism.guarantee, data.unit)
    if release is not None:
        guarantee = release.guarantee
    total, unit = total_of(mechanism), guarantee.unit if protected is None else protected
    return Promised(
        mechanism=mechanism,
        data=data,
        release=release,
        guarantee=guarantee,
        protected=unit,
        neighbors=neighbors,
        number=number,
        cost=in_all(total),
        json=total_json(total, unit),
    )


def make_document(
    kind: str,
    title: str,
    promised: Promised,
    results: Sequence[Section],
    *,
    numbers: Sequence[Section] = (),
    result: str = "",
    terms: Sequence[Block] = (),
    limits: Sequence[tuple[str, str]] = (),
    made_by: Sequence[Block] = (),
    noise_of_each: bool = True,
    reading: str = "release.value",
    unit: PrivacyUnit | None = None,
) -> Document:
    """Return what is to be said of a release, or of one that is not made yet.

    Parameters
    ----------
    title : what it is of, if the owner gave no title.
    promised : by a release; without one, this is the dry run.
    results : what stands before the guarantee: results, or the errors to expect.
    numbers : what a reader wants to know first.
    result : the result in a sentence.
    terms : blocks that follow the guarantee.
    limits : see `limits_section`.
    made_by, noise_of_each : see `mechanism_section`.
    reading : see `citing_section`.
    unit : see `slots_of_owner`.
    """
    mechanism, data, release = promised.mechanism, promised.data, promised.release
    planned = release is None
    said, after = About([], [], "", None), list[Section]()
    if release is not None:
        said = about_of(release)
        name = Fact("", title, "title", on=frozenset())
        after = [
            about_section(release),
            citing_section(release, reading),
            Section("name", "", [name]),
        ]
    marks = {} if release is None else for_tests_json(release)
    for_programs = [Fact("", mark, name, mark, on=ON_JSON) for name, mark in marks.items()]
    return Document(
        kind=kind,
        title=data.presentation.title or title,
        made=IF_RELEASED if planned else RELEASED,
        version=VERSION if release is None else release.version,
        slots=slots_of_owner(data.presentation, unit),
        headline=promised.short,
        heads=said.heads,
        date=said.date,
        result=result,
        lead=promised.lead,
        warnings=[] if release is None else _warn_of(release),
        glance=[*numbers, promised.glance()],
        sections=[
            *results,
            promised.section(terms),
            limits_section(promised.protected, mechanism, limits),
            mechanism_section(mechanism, made_by, planned, noise_of_each),
            *after,
            Section("program", "", [*for_programs, promised.warnings()], ON_JSON),
        ],
    )


def counts_section(counted: Counted, cost: str = "", always: bool = False) -> Section:
    """Return what counts and intervals are of.

    Parameters
    ----------
    cost : what bounding cost, in a sentence; empty if it is not known.
    always : whether terminals and cards say it of counts of all records too.
    """
    gathered = "They do not say how the data were gathered, sampled or cleaned."
    blocks: list[Block] = [Note(joined((counted.sentence, cost, gathered)), on=ON_PAGE)]
    if counted.cut or always:
        blocks.append(Fact("Counts", counted.sentence, on=BRIEF))
    if cost:
        blocks.append(Fact(Sentence("{Users} cut"), cost, on=ON_TERMINAL))
    return Section("counts", "", [*blocks, counts_of(counted)])


def counts_of(counted: Counted) -> Fact:
    """Return what programs are told that counts are of."""
    return Fact("", counted.whole, "counts_of", str(counted.whole), on=ON_JSON)


def limits_section(
    protected: Protected, mechanism: Maker, own: Sequence[tuple[str, str]] = ()
) -> Section:
    """Return what the guarantee does not cover.

    Parameters
    ----------
    own : what a kind says of it: what it is about, and how. It comes first, and stands for what all
        kinds say of the same.
    """
    general = limits_in_words(protected, public_parameters(mechanism))
    limits = [*own, *(each for each in general if each[0] not in dict(own))]
    return Section(
        "limits", "What is not covered", [Fact(name, how, on=ON_PAGE) for name, how in limits]
    )


def mechanism_section(
    mechanism: Maker, more: Sequence[Block], planned: bool, noise_of_each: bool = True
) -> Section:
    """Return how a release is made.

    Parameters
    ----------
    more : blocks that follow the parameters.
    planned : whether it is not made yet: then lines of a terminal describe the mechanism too.
    noise_of_each : whether all numbers that are measured have the same noise, which is stated.
    """
    made = READ if planned else ON_PAGE
    blocks: list[Block] = [
        Fact("Mechanism", call(mechanism), on=ON_TERMINAL),
        Fact("Mechanism", type(mechanism).__name__, on=ON_CARD),
        Note(mechanism.description, on=made),
    ]
    if planned:
        blocks.append(Fact("", "", "mechanism", type(mechanism).__name__, on=ON_JSON))
    for each in parameters(mechanism):
        blocks.append(Fact(each.name, each.value, note=each.meaning, code=True, on=ON_PAGE))
    law = noise(mechanism) if noise_of_each else None
    if law is not None:
        blocks.append(Fact(law.name, law.value, note=law.meaning, on=ON_PAGE))
    return Section("mechanism", "How it was made", [*blocks, *more])


def about_section(release: Release) -> Section:
    """Return what people say of a release, and its day."""
    rows = about_of(release).rows
    return Section("about", "About this release", [Fact(n, text, on=HEADED) for n, text in rows])


def citing_section(release: Release, reading: str) -> Section:
    """Return how a release is read and cited.

    Parameters
    ----------
    reading : Python that reads the value of `release`.
    """
    mechanism, cited = release.mechanism, about_of(release).cited
    load = 'import dphist\n\nrelease = dphist.Release.load("release.json")\n'
    library = f"dphist {release.version} (The dphist maintainers). Mechanism {call(mechanism)}."
    blocks = [
        Note(
            "The release file holds the whole table, the guarantee and the parameters. In Python:"
        ),
        Note(f"{load}{reading}", "code"),
        Note("On the command line, which also writes the table as CSV:"),
        Note("dphist show release.json --table table.csv", "code"),
        Note("Cite the release with the library, the mechanism and its paper:"),
        Note(joined((cited, library)), "quote"),
        Note(paper(mechanism), "quote"),
    ]
    return Section("again", "Using and citing it", blocks, on=ON_PAGE)


def _warn_of(release: Release) -> list[str]:
    """Return what a reader of a release must know first."""
    found = errata_in_words(release)
    if release.for_tests:
        found.append(
            f"Protects nobody: {FOR_TESTS}. Anyone who knows these bits can remove the noise, "
            "whatever is said below."
        )
    return found
