"""Cards of what is known before any data are read: mechanisms and guarantees."""

from dphist.document import mechanism_facts
from dphist.document.delta_words import Number
from dphist.document.guarantee_words import guarantee_in_words
from dphist.document.of_value import Table
from dphist.document.totals import USUAL_DELTA, in_all, total_of
from dphist.mechanism import MechanismBase
from dphist.privacy import ZCDP, ApproxZCDP, Guarantee, PrivacyUnit, delta_of
from dphist.render.card import Card, Prose


def card_of_mechanism(mechanism: MechanismBase) -> Card:
    """Return the card of a mechanism: its guarantee, parameters and source."""
    facts = [("Guarantee", str(mechanism.guarantee)), ("Protects", _unit(mechanism.guarantee.unit))]
    total = in_all(total_of(mechanism))
    if total != f"{mechanism.guarantee} in all":
        facts.insert(1, ("Total", total))
    facts.append(("Source", mechanism.reference))
    known = mechanism_facts.parameters(mechanism)
    table = Table(
        ["parameter", "value", "meaning"],
        [[each.name, Prose(each.value), Prose(each.meaning)] for each in known],
        len(known),
    )
    notes = [mechanism.description, "A mechanism holds no data."]
    return Card(f"Mechanism: {type(mechanism).__name__}", facts, notes, tables=[table])


def card_of_guarantee(guarantee: Guarantee) -> Card:
    """Return the card of a guarantee: what it is, whom it protects, what it means."""
    facts = [("Guarantee", str(guarantee)), ("Protects", _unit(guarantee.unit))]
    notes = []
    stated = guarantee
    if isinstance(guarantee, ZCDP | ApproxZCDP):
        own = delta_of(guarantee)
        stated = guarantee.to_approx_dp(max(USUAL_DELTA, min(2 * own, (1 + own) / 2)))
        facts.append(("Implies", str(stated)))
    number = Number(None, guarantee.unit.plural)
    notes.append(guarantee_in_words(stated, guarantee.unit, number))
    return Card("Guarantee", facts, notes)


def _unit(unit: PrivacyUnit) -> str:
    bounds = [f"{name} {'none' if most is None else f'{most:,}'}" for name, most in unit.bounds]
    return f"{unit} ({', '.join(bounds)})" if bounds else str(unit)
