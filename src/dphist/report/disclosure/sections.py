"""What a release's page discloses, under the headings of published releases with such pages.

"Dataset characteristics", "Data creation pipeline", "Privacy parameters" and "Caveats" head the
pages of Wikimedia's releases. "Invariants", the privacy-loss budget and post-processing are what
the United States Census Bureau reports for its own. The order is that of NIST SP 800-226: unit and
parameters first, then the algorithm and side channels.
"""

from dphist.document.about import paid_in_words
from dphist.document.errata import errata_in_words
from dphist.document.guarantee_words import nouns_of_unit, plural_of, unit_in_words
from dphist.document.kinds import kind_of
from dphist.privacy.as_text import short_exact
from dphist.release.release import VERSION, Release
from dphist.report.disclosure.facts import (
    CHOSEN_BEFORE,
    NOT_PROTECTED,
    RANDOMNESS,
    Facts,
    facts_of,
)
from dphist.report.disclosure.parameters import Stated, stated_of
from dphist.report.kinds import told
from dphist.sentence import Sentence

Section = tuple[str, list[str]]
"""A heading and its paragraphs, as plain text that templates must escape."""

_SYMBOLS = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}

PIPELINE = "Data creation pipeline"
"""The heading whose paragraphs are steps, in their order."""

POST_PROCESSING = (
    "Fits, rounding, intervals, tables and charts are computed from noisy numbers and parameters "
    "alone. This costs no further privacy."
)


def sections_of(release: Release) -> list[Section]:
    """Return what the page of a release discloses: headings, each with its paragraphs.

    Everything is a function of the mechanism's parameters and of released values.
    """
    facts, stated = facts_of(release), stated_of([release])
    sections = [
        ("Privacy unit", _unit(release, facts)),
        ("Privacy parameters", _parameters(facts, stated)),
        ("Dataset characteristics", _characteristics(release, facts)),
        (PIPELINE, pipeline_of(release, facts)),
        ("Invariants", [*facts.public, CHOSEN_BEFORE]),
        ("Privacy-loss accounting", _accounting(release, stated)),
        ("Post-processing", [POST_PROCESSING]),
        ("Implementation", [facts.noise.exactness, RANDOMNESS, _library(facts)]),
        ("Caveats", list(NOT_PROTECTED)),
        ("Errata", errata_in_words(release) or [_no_errata(release)]),
    ]
    return [(heading, paragraphs) for heading, paragraphs in sections if paragraphs]


def pipeline_of(release: Release, facts: Facts) -> list[str]:
    """Return the steps from the data to the release, in order."""
    steps = []
    if "ledger" in release.provenance:
        steps.append("The cost is charged to a ledger, durably, before data are opened.")
    steps += [*facts.steps, facts.description]
    if facts.threshold:
        released = "{Labels} are released if their noisy {noisy} is above {threshold}."
        steps.append(Sentence(released, noisy=facts.noisy, threshold=facts.threshold))
    return steps


def _unit(release: Release, facts: Facts) -> list[str]:
    unit = release.guarantee.unit
    several = "units" if unit.at_most > 1 else plural_of(unit)
    if unit.at_most == 1 and not unit.or_rows:
        several = nouns_of_unit(unit)[1]
    return [
        Sentence("Protected: {unit}, with all of its data.", unit=unit_in_words(unit)),
        facts.neighbors,
        Sentence(
            "Not covered: m {several} together, such as a family or a person behind several of "
            "them. For them ε is m times, and ρ m² times, as large; a δ grows even faster.",
            several=several,
        ),
    ]


def _parameters(facts: Facts, stated: Stated) -> list[str]:
    numbers = ", ".join(f"{_SYMBOLS[name]} = {short_exact(n)}" for name, n in stated.exact.items())
    together = f", for {stated.planned:,} releases together" if stated.planned else ""
    scale = Sentence("Noise scale: {scale} {records}.", scale=facts.noise.scale)
    threshold = Sentence("Release threshold: {threshold}.", threshold=facts.threshold)
    return [
        f"Privacy-loss budget: {numbers} ({stated.variant}){together}.",
        f"Noise: {facts.noise.law}.",
        *filter(None, (scale if facts.noise.scale else "", threshold if facts.threshold else "")),
    ]


def _characteristics(release: Release, facts: Facts) -> list[str]:
    kind = kind_of(release)
    columns = kind.columns(release.value) if kind.columns else ""
    return [
        Sentence(
            "{title}. Counts are of {whole}.",
            title=told(release, "title"),
            whole=told(release, "counts_of"),
        ),
        *([f"Columns of the table: {columns}."] if columns else []),
        f"Made with dphist {facts.version}, mechanism {facts.mechanism}.",
    ]


def _accounting(release: Release, stated: Stated) -> list[str]:
    paid = paid_in_words(release.provenance)
    if paid:
        other = [paid, "Its account adds up all releases that it pays for."]
    else:
        other = [
            "Other releases of the same data are not counted here; their costs add to this one."
        ]
    return [*stated.details, *other]


def _library(facts: Facts) -> str:
    return f"Library: dphist {facts.version}. Method: {facts.paper}"


def _no_errata(release: Release) -> str:
    return f"The errata of dphist {VERSION} name no fault of version {release.version}."
