"""What every document of a release says, whatever its kind."""

from collections.abc import Sequence
from functools import partial

from dphist.document.blocks import (
    BRIEF,
    HEADED,
    ON_JSON,
    ON_PAGE,
    Block,
    Document,
    Fact,
    Note,
    Section,
    Surfaces,
)
from dphist.document.disclosure import disclosure_blocks
from dphist.document.errata import errata_in_words
from dphist.document.kind import DataFacts
from dphist.document.mechanism_facts import call
from dphist.document.promised import Promised
from dphist.document.totals import (
    for_tests_json,
)
from dphist.document.unit_words import (
    Counted,
)
from dphist.privacy import PrivacyUnit
from dphist.privacy.as_text import find_forms
from dphist.privacy.unit import ONE_ROW
from dphist.release.release import FOR_TESTS, VERSION, Release
from dphist.sentence import join_sentences, map_slots
from dphist.visible import harmless

_DIGEST = 80  # letters of a digest, which is of 71
_SHOWN = (
    ("dataset", "Data"),
    ("period", "Period"),
    ("owner", "Owner"),
    ("note", "Note"),
    ("date", "Date (UTC)"),
)

CODES = 'The empty text is shown as "", and a character that cannot be printed by its code.'
"""What surfaces do to released labels."""


def _make_slots(data: DataFacts, unit: PrivacyUnit | None = None) -> dict[str, str]:
    """Return the owner's words for labels, records and users.

    Where users are counted, a user stands in the place of a record.

    Parameters
    ----------
    unit : whom the data protect; their name stands where the owner has no other word for a user.
    """
    presentation = data.presentation
    named = unit is not None and unit.is_one_word and unit != ONE_ROW
    given = {
        "label": presentation.label_name,
        "record": presentation.record_name,
        "user": presentation.unit or (unit.who if unit is not None and named else None),
    }
    if data.counts_users:
        given["record"] = given["user"] or "user"
    return map_slots(**{noun: find_forms(word) for noun, word in given.items() if word is not None})


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
    noise_on: Surfaces = ON_PAGE,
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
    limits : what the guarantee does not cover in this kind: what it is about, and how. It comes
        first, and stands for what all kinds say of the same.
    made_by : blocks that follow the parameters of the mechanism.
    noise_on : surfaces that state the noise on each number that is measured, if all have the same.
    reading : Python that reads the value of `release`.
    unit : whom the data protect; their name stands where the owner has no word for a user.
    """
    data, release = promised.data, promised.release
    words, closing, program = data.presentation.to_content(), list[Section](), [promised.warnings()]
    if release is not None:
        marks = for_tests_json(release).items()
        program = [*(Fact("", each, name, each, on=ON_JSON) for name, each in marks), *program]
        closing = [
            _make_about_section(release),
            _make_citing_section(release, reading),
            Section("name", "", [Fact("", title, "title", on=frozenset())]),
        ]
    document = Document(
        kind=kind,
        title=data.presentation.title or title,
        made=f"{'if ' if release is None else ''}released with differential privacy",
        version=VERSION if release is None else release.version,
        slots=_make_slots(data, unit),
        headline=promised.name_rows(promised.short),
        heads=[words[name] for name in ("dataset", "period") if name in words],
        date=words.get("date"),
        result=result,
        lead=promised.lead,
        warnings=[] if release is None else _list_warnings(release),
        glance=[*numbers, promised.glance()],
        sections=[
            *results,
            promised.section(terms),
            promised.limits_section(limits),
            promised.mechanism_section(made_by, release is None, noise_on),
            *closing,
            Section("program", "", program, ON_JSON),
        ],
    )
    if release is None:
        return document
    blocks = partial(disclosure_blocks, release, document)
    return document.with_section(Section("disclosure", "Disclosure", blocks, ON_PAGE))


def counts_section(
    counted: Counted, cost: str = "", always: bool = False, more: Sequence[Block] = ()
) -> Section:
    """Return what counts and intervals are of.

    Parameters
    ----------
    cost : how much bounding took, in a sentence; empty if nobody was bounded.
    always : whether terminals and cards say it of counts of all records too.
    more : what else is known of bounding.
    """
    gathered = "They do not say how the data were gathered, sampled or cleaned."
    blocks: list[Block] = [Note(join_sentences((counted.sentence, cost, gathered)), on=ON_PAGE)]
    if counted.cut or always:
        blocks.append(Fact("Counts", counted.sentence, on=BRIEF))
    if cost:
        blocks.append(Fact("Bounding", cost, on=BRIEF))
    return Section("counts", "", [*blocks, *more, make_counts_fact(counted)])


def make_counts_fact(counted: Counted) -> Fact:
    """Return what programs are told that counts are of."""
    return Fact("", counted.whole, "counts_of", str(counted.whole), on=ON_JSON)


def _make_about_section(release: Release) -> Section:
    """Return what people say of a release, and what their words for users and records stand for."""
    said, who = release.presentation, release.guarantee.unit.who
    texts = said.to_content()
    rows = [Fact(name, texts[key], on=HEADED) for key, name in _SHOWN if key in texts]
    had = release.provenance.get("added_to")
    if had is not None:
        more = f"noise that was added to a release of the same data at epsilon {had}. Who has both"
        more += f" knows no more than that one tells: together they cost epsilon {had}"
        rows.append(Fact("Made by", more, on=HEADED))
    digest = release.provenance.get("description")
    if digest is not None:
        shown = harmless(digest, _DIGEST)
        rows.append(Fact("Data set", f"described in a file with the digest {shown}", on=HEADED))
        rows.append(Fact("", shown, "description", shown, on=ON_JSON))
    meant = []
    if said.unit is not None:
        meant.append((said.unit, "one user of the data"))
    if said.record_name is not None:
        own = who if who in ("event", "row") else "record"
        alone = "; each is protected by itself" if who in ("record", "event", "row") else ""
        meant.append((said.record_name, f"one {own} of the data{alone}"))
    for word, what in meant:
        text = f'"{find_forms(word)[0]}" is the owner\'s word for {what}'
        rows.append(Fact("Words", text, on=HEADED))
    return Section("about", "About this release", rows)


def _make_citing_section(release: Release, reading: str) -> Section:
    """Return how a release is read and cited."""
    mechanism, said = release.mechanism, release.presentation.to_content()
    cited = [said[name] for name in ("owner", "title", "dataset", "date") if name in said]
    owned = f"{', '.join(cited)}." if cited != [said.get("date")] else ""
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
        Note(join_sentences((owned, library)), "quote"),
        Note(mechanism.reference, "quote"),
    ]
    return Section("again", "Using and citing it", blocks, on=ON_PAGE)


def _list_warnings(release: Release) -> list[str]:
    """Return what a reader of a release must know first."""
    found = errata_in_words(release)
    if release.for_tests:
        found.append(
            f"Protects nobody: {FOR_TESTS}. Anyone who knows these bits can remove the noise, "
            "whatever is said below."
        )
    return found
