"""The card of each class, found by the name of the class: showing one value imports no other."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from dphist.document.blocks import Document
from dphist.document.kinds import kinds
from dphist.errors import ParameterError, UnsupportedError
from dphist.render.card import Card, card

View = Callable[[Any], Card | Document]

_HERE = "dphist.report.notebook"
_OWN = {
    "dphist.release.release.Release": f"{_HERE}.released:card_of_release",
    "dphist.release.released.Released": f"{_HERE}.released:card_of_value",
    "dphist.mechanism.MechanismBase": f"{_HERE}.promised:card_of_mechanism",
    "dphist.planning.plan.Plan": "dphist.planning.document:document_of",
    "dphist.privacy.guarantees.Protecting": f"{_HERE}.promised:card_of_guarantee",
    "dphist.ledger.ledger.Ledger": "dphist.ledger.document:document_of",
    "dphist.data.profile.Profile": f"{_HERE}.secret:card_of_profile",
    "dphist.data.label_counts.LabelCounts": f"{_HERE}.secret:card_of_label_counts",
    "dphist.data.binned_counts.BinnedCounts": f"{_HERE}.secret:card_of_binned_counts",
    "dphist.data.guard.Guarded": f"{_HERE}.secret:card_of_guarded",
}
_OTHERS: dict[type[Any], View] = {}


def register_view(shown: type[Any], view: View) -> None:
    """Have notebooks show a class, and its subclasses, as a card or document that a function makes.

    Raises
    ------
    ParameterError
        If the class has a view.
    """
    of_kind = any(kind.value_type is shown and kind.of_value is not None for kind in kinds())
    if shown in _OTHERS or _name_of(shown) in _OWN or of_kind:
        raise ParameterError("shown", f"must have no view yet: {shown.__name__} already has one")
    _OTHERS[shown] = view


def html_of(value: Any) -> str:
    """Return what a notebook shows of a value, as HTML."""
    for kind in type(value).__mro__:
        if kind in _OTHERS:
            return _html_of_view(_OTHERS[kind](value))
        if _name_of(kind) in _OWN:
            module, _, function = _OWN[_name_of(kind)].partition(":")
            view: View = getattr(import_module(module), function)
            return _html_of_view(view(value))
    raise UnsupportedError(f"a value of type {type(value).__name__} has no view: see register_view")


def _html_of_view(shown: Card | Document) -> str:
    return (card(shown) if isinstance(shown, Document) else shown).html()


def _name_of(kind: type[Any]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
