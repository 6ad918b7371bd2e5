"""The card of each class, found by the name of the class: showing one value imports no other."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from dphist.errors import ParameterError, UnsupportedError
from dphist.render.card import Card

View = Callable[[Any], Card]

_HERE = "dphist.report.notebook"
_OWN = {
    "dphist.release.release.Release": f"{_HERE}.released:card_of_release",
    "dphist.release.anonymized_histogram.AnonymizedHistogram": (
        f"{_HERE}.released:card_of_anonymized"
    ),
    "dphist.release.range_histogram.value.RangeHistogram": f"{_HERE}.released:card_of_histogram",
    "dphist.release.label_table.LabelTable": f"{_HERE}.released:card_of_labels",
    "dphist.release.running_counts.RunningCounts": f"{_HERE}.released:card_of_stream",
    "dphist.mechanism.MechanismBase": f"{_HERE}.promised:card_of_mechanism",
    "dphist.planning.plan.Plan": f"{_HERE}.plans:card_of_plan",
    "dphist.privacy.guarantees.Protecting": f"{_HERE}.promised:card_of_guarantee",
    "dphist.ledger.ledger.Ledger": f"{_HERE}.ledgers:card_of_ledger",
    "dphist.data.profile.Profile": f"{_HERE}.secret:card_of_profile",
    "dphist.data.label_counts.LabelCounts": f"{_HERE}.secret:card_of_label_counts",
    "dphist.data.binned_counts.BinnedCounts": f"{_HERE}.secret:card_of_binned_counts",
    "dphist.data.guard.Guarded": f"{_HERE}.secret:card_of_guarded",
}
_OTHERS: dict[type[Any], View] = {}


def register_view(shown: type[Any], view: View) -> None:
    """Have notebooks show a class, and its subclasses, as the card that a function returns.

    Raises
    ------
    ParameterError
        If the class has a view.
    """
    if shown in _OTHERS or _name_of(shown) in _OWN:
        raise ParameterError("shown", f"must have no view yet: {shown.__name__} already has one")
    _OTHERS[shown] = view


def html_of(value: Any) -> str:
    """Return what a notebook shows of a value, as HTML."""
    for kind in type(value).__mro__:
        if kind in _OTHERS:
            return _OTHERS[kind](value).html()
        if _name_of(kind) in _OWN:
            module, _, function = _OWN[_name_of(kind)].partition(":")
            view: View = getattr(import_module(module), function)
            return view(value).html()
    raise UnsupportedError(f"a value of type {type(value).__name__} has no view: see register_view")


def _name_of(kind: type[Any]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
