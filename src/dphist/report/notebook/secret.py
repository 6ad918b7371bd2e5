"""Cards of data that are not released: their public bounds, and why no values are shown."""

from dphist.data.binned_counts import BinnedCounts
from dphist.data.guard import Guarded
from dphist.data.label_counts import LabelCounts
from dphist.data.profile import Profile
from dphist.privacy import PrivacyUnit
from dphist.render.card import Card

_WHY = (
    "The data are secret, so no values are shown: what a notebook shows is saved with it. Give "
    "them to a mechanism; its release is shown with its values."
)


def card_of_profile(profile: Profile) -> Card:
    """Return the card of a profile."""
    facts = [
        ("Privacy unit", _unit(profile.unit)),
        ("Sensitivity", f"at most {_many(profile.sensitivity, 'record')} of one unit"),
    ]
    return Card("Number of labels by count, not released: dphist.Profile", facts, [_WHY])


def card_of_label_counts(counts: LabelCounts) -> Card:
    """Return the card of counts of labels."""
    most = "no maximum" if counts.max_labels is None else _many(counts.max_labels, "label")
    facts = [
        ("Privacy unit", _unit(counts.unit)),
        ("Labels of one unit", most if counts.max_labels is None else f"at most {most}"),
        ("Count of one unit", f"at most {_many(counts.max_count, 'record')} of each label"),
    ]
    if counts.for_tests:
        facts.append(("Random bits", "supplied by the caller, for tests"))
    return Card("Counts of labels, not released: dphist.LabelCounts", facts, [_WHY])


def card_of_binned_counts(counts: BinnedCounts) -> Card:
    """Return the card of counts of bins, whose edges are public."""
    facts = [
        (f"Axis {axis.name or place}", repr(axis).partition(", ")[2].rstrip(")"))
        for place, axis in enumerate(counts.axes)
    ]
    facts += [
        ("Privacy unit", _unit(counts.unit)),
        ("Sensitivity", f"at most {_many(counts.sensitivity, 'record')} of one unit"),
    ]
    return Card("Counts of bins, not released: dphist.BinnedCounts", facts, [_WHY])


def card_of_guarded(data: Guarded) -> Card:
    """Return the card of data that only their ledger releases."""
    return Card("Data guarded by a ledger", notes=[f"{data.refusal()}."])


def _unit(unit: PrivacyUnit | None) -> str:
    return "one record, or what the caller asserts" if unit is None else str(unit)


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s'[: number != 1]}"
