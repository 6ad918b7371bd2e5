"""An audit as a document: what was claimed, what was found, and what that does not say."""

import math
from collections.abc import Sequence

import numpy as np

from dphist.document.blocks import (
    PAGE,
    Block,
    Column,
    Document,
    Fact,
    Figures,
    NoError,
    Note,
    Section,
    Table,
)
from dphist.document.chart import Axis, Chart, Line
from dphist.lab.auditing.result import AuditResult
from dphist.release.release import VERSION
from dphist.sentence import Quoted, Sentence
from dphist.visible import harmless

_LONGEST = 600  # letters of an event
_MOST_TICKS = 6
_PAGE = frozenset({PAGE})
_LEAD = (
    "An audit runs a mechanism on public neighbors, two data sets that differ in one protected "
    "unit, and looks for what tells them apart. One that refutes nothing proves nothing."
)
_CURVE = (
    "Lower bounds that the runs, or the enumerated laws, show at several δ. A correct claim lies "
    "on the curve or above it."
)
_LAYERS = (
    "The exact layer enumerates the laws of what is shown, the replay layer compares the noise on "
    "neighbors, and the statistical layer counts runs."
)
_LIMITS = {
    "That a claim holds": "Only the neighbors and the events above were tried. Where the exact "
    "layer holds, it does for its pairs of neighbors, up to the probability stated.",
    "Time and other traces": "How long a run takes, and what a process writes below Python's own "
    "output, is not looked at.",
    "Mechanisms that cheat": "One that notices the audit, or keeps a state that it hides from runs "
    "in a row, is judged by what it shows.",
}


def make_document(result: AuditResult) -> Document:
    """Return what is to be said of the result of an audit."""
    return document_of_all([result])


def document_of_all(results: Sequence[AuditResult]) -> Document:
    """Return what is to be said of the results of an audit, of one or of several."""
    if len(results) == 1:
        (alone,) = results
        name, result = _name(alone), _sentence(alone)
        warnings = [alone.warning] if alone.warning else []
        sure = "with certainty" if alone.certain else f"with a confidence of {alone.confidence:g}"
        glance = [
            Fact("Claimed", claim_in_symbols(alone), on=_PAGE),
            Fact("True ε", f"at least {_least(alone)}", error=NoError(sure)),
        ]
        found = [Section("found", "What was found", _make_claim_blocks(alone, 1), wide=True)]
    else:
        name, result = f"{len(results)} mechanisms", _count(results)
        warnings = [f"{_name(each)}: {each.warning}" for each in results if each.warning]
        glance = []
        found = [Section("claims", "All claims", [_table(results)], wide=True)]
        for number, each in enumerate(results, 1):
            title = f"{_name(each)}: {verdict(each)}"
            found.append(
                Section(f"found{number}", title, _make_claim_blocks(each, number), wide=True)
            )
    samples, seconds = sum(each.samples for each in results), sum(each.seconds for each in results)
    runs = f"{samples:,} in {seconds:,.1f} s"
    limits = [Fact(about, how, on=_PAGE) for about, how in _LIMITS.items()]
    limits.append(Fact("That a verdict is certain", _chance(results), on=_PAGE))
    return Document(
        kind="audit",
        title=name,
        made="audited",
        version=VERSION,
        slots={},
        headline="audited",
        sections=[*found, Section("limits", "What an audit does not say", limits)],
        result=result,
        lead=_LEAD,
        warnings=warnings,
        glance=[Section("claim", "", [*glance, Fact("Runs", runs)])],
        about="Audit",
        kicker="Privacy audit",
        closing="The data are public neighbors, made for the audit or given by the caller.",
    )


def in_one_line(result: AuditResult) -> str:
    """Return a result as an item of a long list."""
    layers = "".join(f"; {each.layer}: {each.verdict}" for each in result.layers)
    warning = f"\n  {result.warning}" if result.warning else ""
    return (
        f"{_name(result)}: {claim_in_symbols(result)} is {verdict(result)}; the true ε is at least "
        f"{_least(result)}{layers}.{warning}"
    )


def claim_in_symbols(result: AuditResult) -> str:
    """Return the claim."""
    return f"ε = {result.epsilon:g}" + (f", δ = {result.delta:g}" if result.delta else "")


def verdict(result: AuditResult) -> str:
    """Say in a word or two what became of the claim."""
    if result.refuted:
        return "refuted"
    return "not accounted for" if result.objects else "not refuted"


def _name(result: AuditResult) -> str:
    return harmless(result.name, _LONGEST)


def _least(result: AuditResult) -> str:
    return f"{result.epsilon_lower:.3g}"


def _sentence(result: AuditResult) -> str:
    says = "refuted" if result.refuted else "not refuted"
    how = "certain" if result.refuted and result.certain else f"confidence {result.confidence:g}"
    doubt = ", but its noise does not account for it" * (result.objects and not result.refuted)
    return f"The claim of {claim_in_symbols(result)} is {says} ({how}){doubt}."


def _count(results: Sequence[AuditResult]) -> str:
    """Say how many claims are refuted."""
    refuted = sum(each.refuted for each in results)
    doubted = sum(each.objects and not each.refuted for each in results)
    are = f"{refuted} of {len(results)} claims {'is' if refuted == 1 else 'are'} refuted"
    doubt = f"; of {doubted} the noise does not account for the claim" if doubted else ""
    return f"{are if refuted else 'No claim is refuted'}{doubt}."


def _chance(results: Sequence[AuditResult]) -> str:
    wrong = 1 - min((each.confidence for each in results), default=1)
    return f"A correct mechanism is refuted with a probability of at most {wrong:.3g}."


def _table(results: Sequence[AuditResult]) -> Table:
    columns = {
        "Audited": [_name(each) for each in results],
        "Claim": [claim_in_symbols(each) for each in results],
        "Verdict": [verdict(each) for each in results],
        "True ε at least": [_least(each) for each in results],
        "Runs": [f"{each.samples:,}" for each in results],
    }
    return Table([Column(name, cells) for name, cells in columns.items()], on=_PAGE)


def _make_claim_blocks(result: AuditResult, number: int) -> list[Block]:
    """Return what was found of one claim."""
    blocks: list[Block] = [Note("No event showed an ε above 0.", on=_PAGE)]
    if result.curve:
        blocks = [Figures([_chart(result, f"curve{number}")], on=_PAGE)]
    runs = result.layer == "statistical"
    if result.event:
        blocks += [
            Fact("Event", _quote(result.event)),
            Fact("Neighbors", _quote(result.neighbours)),
        ]
    if result.event and runs:
        counted = (
            f"In {result.hits:,} of {result.runs:,} runs on the one, and in {result.other_hits:,} "
            "of as many on the other."
        )
        blocks.append(Fact("Counted", counted))
    if runs and not result.refuted:
        blocks.append(Fact("Power", _power(result)))
    blocks.append(Fact("Covered", Quoted(harmless(result.covered, _LONGEST))))
    blocks.append(Note("What each layer found", "heading", on=_PAGE))
    blocks.append(Note(_LAYERS, "aside", on=_PAGE))
    for each in result.layers:
        covered = Quoted(harmless(each.covered, 2 * _LONGEST))
        said = Sentence("{verdict}. {covered}", verdict=each.verdict, covered=covered)
        blocks.append(Fact(f"{each.layer[0].upper()}{each.layer[1:]}", said))
    return blocks


def _quote(words: str) -> Sentence:
    """Return words that may be those of data as a sentence."""
    begun = f"{words[:1].upper()}{words[1:]}"
    return Sentence("{words}.", words=Quoted(harmless(begun, _LONGEST)))


def _power(result: AuditResult) -> str:
    if result.power is None:
        return "Events as likely as those that were seen cannot refute any ε in so few runs."
    return (
        f"A true ε of {result.power:.3g} or more would have been refuted with a probability of .9, "
        "by an event as likely as this one."
    )


def _chart(result: AuditResult, name: str) -> Chart:
    """Declare the curve, which epsilons are exceeded at which deltas, with the claim."""
    deltas = sorted({delta for delta, _ in result.curve} | {result.delta})
    places = {delta: place for place, delta in enumerate(deltas)}
    step = -(-len(deltas) // _MOST_TICKS)
    shown = [(delta, epsilon) for delta, epsilon in result.curve if math.isfinite(epsilon)]
    epsilons = np.array([epsilon for _, epsilon in shown], np.float64)
    highest = float(np.max(epsilons, initial=result.epsilon))
    curve = Line(
        "the true ε is at least",
        np.array([places[delta] for delta, _ in shown], np.float64),
        epsilons,
        "marked",
    )
    claim = Line(
        "claimed",
        np.array([places[result.delta]], np.float64),
        np.array([result.epsilon], np.float64),
        "diamonds",
    )
    return Chart(
        name,
        "Shown and claimed",
        _CURVE,
        Axis(
            "δ",
            -0.4,
            max(len(deltas) - 0.6, 0.6),
            ticks=[(float(places[delta]), f"{delta:g}") for delta in deltas[::step]],
        ),
        Axis("ε", 0.0, 1.1 * highest),
        lines=[curve, claim],
    )
