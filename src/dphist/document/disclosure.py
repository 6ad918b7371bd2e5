"""What a release's page discloses, under the headings of published releases with such pages.

"Dataset characteristics", "Data creation pipeline", "Privacy parameters" and "Caveats" head the
pages of Wikimedia's releases. "Invariants", the privacy-loss budget and post-processing are what
the United States Census Bureau reports for its own. The order is that of NIST SP 800-226: unit and
parameters first, then the algorithm and side channels.

All of it follows from a mechanism's parameters, from what was stated before data were seen, and
from the shape of what was released. No released count is among it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dphist.document.blocks import Document, Fact
from dphist.document.errata import errata_in_words
from dphist.document.guarantee_words import exchange_in_words
from dphist.document.kind import Disclosed, find_kind, kind_of_mechanism
from dphist.document.mechanism_facts import (
    Noise,
    Parameter,
    count_records,
    describe_noise,
    parameters,
)
from dphist.document.totals import Stated, state_releases
from dphist.document.unit_words import missing_in_words, name_several, nouns_of_unit, unit_in_words
from dphist.privacy import PrivacyUnit
from dphist.privacy.as_text import short_exact
from dphist.privacy.exchanged import exchanged_together
from dphist.privacy.unit import ONE_EDGE, ONE_RECORD, ONE_ROW
from dphist.release.maker import Maker
from dphist.release.mechanisms import find_package
from dphist.release.release import VERSION, Release
from dphist.sentence import Sentence, join_sentences, many, many_events
from dphist.visible import harmless

_BOUNDS: dict[str, Callable[[int], str]] = {
    "max_labels": lambda most: many(most, "label"),
    "max_count": lambda most: Sentence("{most:,} in each {label}", most=most),
    "max_records": lambda most: many(most, "record"),
    "max_events": many_events,
}
_LONGEST = 200  # letters of a name
_PAID = ("ledger", "account", "entry", "groups", "group")
_SYMBOLS = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}

NOT_PROTECTED = (
    "Timing, memory and disk use are not protected: how long a release takes depends on the data, "
    "so readers must not be able to measure it.",
    "Names of columns count as public, and errors may show them.",
    "What holds for everybody is not hidden: a reader may draw conclusions about a person from the "
    "overall pattern, whether or not the person is in the data.",
)
"""What no release of dphist protects."""

CHOSEN_BEFORE = "All of this must be chosen without a look at the data; dphist cannot check that."
"""What holds of all that is published without noise."""

_PUBLIC = "All parameters of the mechanism, and the bounds on contributions."

RANDOMNESS = "Random bits come from the operating system; forks and threads share none."

POST_PROCESSING = (
    "Fits, rounding, intervals, tables and charts are computed from noisy numbers and parameters "
    "alone. This costs no further privacy."
)


@dataclass(frozen=True, slots=True)
class Facts:
    """What software discloses of a mechanism and of how data came to it.

    Attributes
    ----------
    mechanism : with its description and the paper that it comes from.
    own : what its kind discloses of it.
    neighbors : which data are neighbors.
    steps : what was done to the data before counting, in sentences.
    version : of dphist; empty where no release says it.
    """

    mechanism: Maker
    own: Disclosed
    neighbors: str
    steps: Sequence[str] = ()
    version: str = ""

    @property
    def name(self) -> str:
        """The name of the mechanism."""
        return type(self.mechanism).__name__

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Its parameters, with their values as text."""
        return tuple(parameters(self.mechanism))

    @property
    def noise(self) -> Noise:
        """The law, scale and exactness of its noise."""
        return describe_noise(self.mechanism)

    @property
    def public(self) -> tuple[str, ...]:
        """What is published without noise, in sentences."""
        return _PUBLIC, *self.own.public


def find_facts(release: Release, document: Document) -> Facts:
    """Return what is disclosed of a release, of which there is a document."""
    own = _disclose_kind(release.mechanism, release.value)
    return Facts(
        release.mechanism,
        own,
        document.fact("neighbors").text,
        _describe_preparation(release, cuts=own.cuts),
        release.version,
    )


def facts_of_charge(mechanism: Maker, unit: PrivacyUnit) -> Facts:
    """Return what is disclosed of a mechanism that a ledger paid for without keeping a release.

    Parameters
    ----------
    unit : of the account.
    """
    neighbors = f"Two data sets are neighbors if they differ in {unit}, with all of its data."
    if unit.exchanged:
        one = "a unit" if unit.at_most == 1 else "units"
        neighbors = f"Two data sets are neighbors if they differ in {one}: {unit}."
    return Facts(mechanism, _disclose_kind(mechanism), neighbors)


def _disclose_kind(mechanism: Maker, value: Any = None) -> Disclosed:
    """Return what the kind of a mechanism discloses of it; nothing of those of others."""
    kind = kind_of_mechanism(mechanism)
    return kind.disclosed(mechanism, value) if kind and kind.disclosed else Disclosed()


def _describe_preparation(release: Release, *, cuts: bool) -> list[str]:
    """Say what was done to the data before counting.

    Parameters
    ----------
    cuts : whether the mechanism itself cuts each unit to its bounds.
    """
    unit, said = release.guarantee.unit, release.provenance.get("unit")
    each = Sentence("each {who}", who=nouns_of_unit(unit)[0])
    return [_bounding(release, said, each, cuts), *missing_in_words(release.provenance, unit)]


def _bounding(release: Release, said: PrivacyUnit | None, each: Sentence, cuts: bool) -> str:
    """Say how much of one unit was counted, and who made sure of it."""
    if release.counts_users:
        who = nouns_of_unit(release.guarantee.unit)[0]
        return Sentence("Each {who} is counted once, with all rows: nothing was bounded.", who=who)
    unit = release.guarantee.unit
    held = {name: bound for name, bound in unit.bounds if bound is not None}
    bounds = join_sentences(
        (
            Sentence("at most {held}", held=write(held[name]))
            for name, write in _BOUNDS.items()
            if name in held
        ),
        " and ",
    )
    if cuts:
        made = type(release.mechanism)
        by = "dphist" if find_package(made) is None else made.__name__
        cut = "{by} bounded {each} to {bounds}, chosen at random."
        return Sentence(cut, by=by, each=each, bounds=bounds)
    if said is None or said.asserted:
        if unit == ONE_RECORD:
            return Sentence(
                "Each {record} is protected by itself: nobody's {records} were bounded."
            )
        named = unit_in_words(unit)
        return Sentence(
            "Whoever made the data asserts that {who} has {bounds}. dphist has not bounded the "
            "data, and cannot check it.",
            who="one unit" if unit.at_most > 1 else named,
            bounds=bounds or named,
        )
    if said in (ONE_ROW, ONE_EDGE) or not bounds:
        return f"One {harmless(said.name, _LONGEST)} is protected by itself: nothing was bounded."
    return Sentence(
        "dphist bounded {each} to {bounds}, chosen at random, before anything was counted. No "
        "count contains what is above the bounds.",
        each=each,
        bounds=bounds,
    )


def disclosure_blocks(release: Release, document: Document) -> list[Fact]:
    """Return what the page of a release discloses, beside what its document says."""
    facts, stated = (
        find_facts(release, document),
        with_exchange(state_releases([release]), [release]),
    )
    library = f"Library: dphist {facts.version}. Method: {facts.mechanism.reference}"
    no_errata = f"The errata of dphist {VERSION} name no fault of version {release.version}."
    said: dict[str, Sequence[str]] = {
        "Privacy unit": _unit(release, facts),
        "Privacy parameters": _parameters(facts, stated),
        "Dataset characteristics": _characteristics(release, facts, document),
        "Data creation pipeline": _steps(release, facts),
        "Invariants": [*facts.public, CHOSEN_BEFORE],
        "Privacy-loss accounting": _accounting(release, stated),
        "Post-processing": [POST_PROCESSING],
        "Implementation": [facts.noise.exactness, RANDOMNESS, library],
        "Caveats": NOT_PROTECTED,
        "Errata": errata_in_words(release) or [no_errata],
        **({} if release.users is None else {"Numbers of users": _disclose_users(release.users)}),
    }
    return [Fact(name, join_sentences(texts), lines=texts) for name, texts in said.items()]


def with_exchange(stated: Stated, releases: Sequence[Release]) -> Stated:
    """Return what releases guarantee, with what they cost a unit that is exchanged for another."""
    parts = [part for release in releases for part in release.parts]
    users = [part.mechanism for part in parts if part.counts_users]
    others = [part.mechanism for part in parts if not part.counts_users]
    together = (users, stated.unit, others) if users else (others, stated.unit)
    exchanged = exchanged_together(*together)
    if exchanged is None:
        return stated
    cost = exchange_in_words(exchanged)
    said = Sentence("For data sets of equal size, what is disclosed here: {cost}.", cost=cost)
    return replace(stated, details=(*stated.details, said))


def _disclose_users(users: Release) -> list[str]:
    """Return what is disclosed of the release that another one carries."""
    steps = _describe_preparation(users, cuts=False)
    own = Facts(users.mechanism, _disclose_kind(users.mechanism, users.value), "", steps)
    released = Sentence("Released beside the counts: how many {users} have how many {records}.")
    return [released, *steps, own.mechanism.description, *_parameters(own, state_releases([users]))]


def _steps(release: Release, facts: Facts) -> list[Sentence]:
    """Return the steps from the data to the release, with their numbers."""
    charged = "The cost is charged to a ledger, durably, before data are opened."
    steps = [
        *([charged] if "ledger" in release.provenance else []),
        *facts.steps,
        facts.mechanism.description,
    ]
    return [Sentence("{n}. {step}", n=n, step=step) for n, step in enumerate(steps, 1)]


def _unit(release: Release, facts: Facts) -> list[str]:
    unit = release.guarantee.unit
    return [
        Sentence("Protected: {unit}, with all of its data.", unit=unit_in_words(unit)),
        facts.neighbors,
        Sentence(
            "Not covered: m {several} together, such as a family or a person behind several of "
            "them. For them ε is m times, and ρ m² times, as large; a δ grows even faster.",
            several=name_several(unit),
        ),
    ]


def _parameters(facts: Facts, stated: Stated) -> list[str]:
    numbers = ", ".join(f"{_SYMBOLS[name]} = {short_exact(n)}" for name, n in stated.exact.items())
    together = f", for {stated.planned:,} releases together" if stated.planned else ""
    scale = Sentence("Noise scale: {scale}.", scale=count_records(facts.noise.scale))
    return [
        f"Privacy-loss budget: {numbers} ({stated.variant}){together}.",
        f"Noise: {facts.noise.law}.",
        *filter(None, (scale if facts.noise.scale else "", facts.own.threshold)),
    ]


def _characteristics(release: Release, facts: Facts, document: Document) -> list[str]:
    kind = find_kind(release)
    columns = kind.columns(release.value) if kind.columns else ""
    return [
        Sentence(
            "{title}. Counts are of {whole}.",
            title=document.fact("title").text,
            whole=document.fact("counts_of").text,
        ),
        *([f"Columns of the table: {columns}."] if columns else []),
        f"Made with dphist {facts.version}, mechanism {facts.name}.",
    ]


def _accounting(release: Release, stated: Stated) -> list[str]:
    paid = describe_payment(release.provenance)
    if paid:
        other = [paid, "Its account adds up all releases that it pays for."]
    else:
        other = [
            "Other releases of the same data are not counted here; their costs add to this one."
        ]
    return [*stated.details, *other]


def describe_payment(provenance: Mapping[str, str]) -> str | None:
    """Name the ledger, account and entry; None for a release without a ledger.

    >>> describe_payment({"ledger": "clinic (5e1f)", "account": "main", "entry": "3"})
    'Entry 3 of the ledger clinic (5e1f), account main.'
    """
    if "ledger" not in provenance:
        return None
    ledger, account, entry = (harmless(provenance.get(name, "?"), _LONGEST) for name in _PAID[:3])
    accounts = "accounts" if ", " in account else "account"
    paid = f"Entry {entry} of the ledger {ledger}, {accounts} {account}."
    if "groups" not in provenance:
        return paid
    group, groups = (harmless(provenance.get(name, "?"), _LONGEST) for name in ("group", "groups"))
    return (
        f"{paid} It paid once for the groups {groups}; this is {group}. Whoever asked for them "
        "asserts that nobody is in two groups, and this was not checked: whoever is in two loses "
        "the sum."
    )


def list_payment(provenance: Mapping[str, str]) -> dict[str, str]:
    """Return ledger, account and entry for programs; empty for a release without a ledger."""
    return {name: provenance[name] for name in _PAID if name in provenance}
