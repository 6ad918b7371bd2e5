"""What a notebook shows of a value: a card with what it is, the guarantee, a table, a figure.

A card of released values shows them. A card of data that are not released shows their public bounds
only, and says why. To show a class of yours, give it ``def _repr_html_(self): return
shown_by("html_of", self)`` (`dphist.shown`), and call `register_view` with a function that returns
a document of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from dphist.data.binned_counts import BinnedCounts
from dphist.data.guard import Guarded, Secret
from dphist.data.label_counts import LabelCounts
from dphist.data.profile import Profile
from dphist.document.blocks import Block, Column, Document, Fact, Note, Section, Table
from dphist.document.guarantee_words import exchange_in_words, guarantee_in_words
from dphist.document.kind import find_kind_of_value, kinds
from dphist.document.mechanism_facts import parameters
from dphist.document.totals import USUAL_DELTA, find_total, in_all, wider
from dphist.document.unit_words import Number
from dphist.errors import ParameterError, UnsupportedError
from dphist.files import check_output_path, write_text
from dphist.mechanism import MechanismBase
from dphist.privacy import ZCDP, ApproxZCDP, Guarantee, PrivacyUnit, find_delta
from dphist.privacy.guarantees import Protecting
from dphist.release.release import FOR_TESTS, Release
from dphist.release.tabular import Released
from dphist.render.html import HEAD, card, page
from dphist.render.text import text
from dphist.report import make_release_document
from dphist.sentence import many

View = Callable[[Any], Document]

_OF_RELEASE = "Released values. The guarantee stands in the release that they came from."
_NOT_SHOWN = (
    "The data are secret, so no values are shown: what a notebook shows is saved with it. Give "
    "them to a mechanism; its release is shown with its values."
)


def html_of(value: Any) -> str:
    """Return what a notebook shows of a value, as HTML."""
    return card(_make_document(value))


def format_text(value: Any) -> str:
    """Return what a terminal shows of a value."""
    return text(_make_document(value)).rstrip()


def write_page(value: Any, path: str | Path) -> None:
    """Write what a notebook shows of a value as a page for a browser; it loads nothing."""
    check_output_path(path)
    write_text(path, page(_make_document(value)))


def _make_document(value: Any) -> Document:
    for known in type(value).__mro__:
        view = _find_view(known)
        if view is not None:
            return view(value)
    raise UnsupportedError(f"a value of type {type(value).__name__} has no view: see register_view")


def register_view(shown: type[Any], view: View) -> None:
    """Have notebooks show a class, and its subclasses, as a document that a function makes.

    Raises
    ------
    ParameterError
        If the class has a view.
    """
    of_kind = any(kind.value_type is shown and kind.of_value is not None for kind in kinds())
    if _find_view(shown) is not None or of_kind:
        raise ParameterError("shown", f"must have no view yet: {shown.__name__} already has one")
    _VIEWS[shown] = view


def _find_view(shown: type[Any]) -> View | None:
    """Return the view of a class; modules that few cards need are imported for these alone."""
    module = _DOCUMENTS.get(f"{shown.__module__}.{shown.__qualname__}")
    if module is None:
        return _VIEWS.get(shown)
    view: View = import_module(module).make_document
    return view


_RHO_ALONE = (
    "This is for adding up several releases. The mechanism may prove a smaller epsilon than rho "
    "implies: its card and its release state that one, and what it means."
)


def _make_card_document(
    title: str, blocks: Sequence[Block], about: str = "", warning: str = ""
) -> Document:
    """Return a document that cards alone show."""
    warnings = [warning] if warning else []
    return Document("", title, [Section("card", "", blocks)], about=about, warnings=warnings)


def _describe_release(release: Release) -> Document:
    try:
        return make_release_document(release)
    except (ParameterError, UnsupportedError):  # nobody registered it, or pages cannot state it
        promised = [
            Fact("Guarantee", str(release.guarantee)),
            _state_protected(release.guarantee.unit),
        ]
        warning = f"Protects nobody: {FOR_TESTS}." if release.for_tests else ""
        return _make_card_document(
            f"Release of {type(release.mechanism).__name__}", promised, "", warning
        )


def _describe_released(value: Any) -> Document:
    """Return the document of a released value by itself, as its kind declares it."""
    kind = find_kind_of_value(value)
    if kind is None or kind.of_value is None:
        raise UnsupportedError(f"no kind says how a {type(value).__name__} is shown by itself")
    value_alone = kind.of_value(value, HEAD)
    sections = [value_alone, Section("released", "", [Note(_OF_RELEASE)])]
    return Document(kind.name, value_alone.title, sections, about="")


def _describe_mechanism(mechanism: MechanismBase) -> Document:
    """Return the guarantee, the parameters and the source of a mechanism."""
    guarantee, exchanged = mechanism.guarantee, mechanism.exchanged
    total = find_total(mechanism)
    alone = total.releases == 1 and total.guarantee == replace(guarantee, unit=total.guarantee.unit)
    each = [] if alone else [Fact("Of each release", str(guarantee))]
    known = parameters(mechanism)
    columns = [
        Column("parameter", [each.name for each in known]),
        Column("value", [each.value for each in known]),
        Column("meaning", [each.meaning for each in known]),
    ]
    blocks: list[Block] = [
        Fact("Guarantee", in_all(total)),
        *each,
        _state_protected(guarantee.unit),
        *([] if exchanged is None else [Fact("If exchanged", exchange_in_words(exchanged))]),
        Fact("Source", mechanism.reference),
        Note(mechanism.description),
        Note("A mechanism holds no data."),
        Table(columns, whole=True),
    ]
    return _make_card_document(type(mechanism).__name__, blocks, "Mechanism")


def _describe_guarantee(guarantee: Guarantee) -> Document:
    """Return what a guarantee is, whom it protects, and what it means."""
    blocks: list[Block] = [Fact("Guarantee", str(guarantee)), _state_protected(guarantee.unit)]
    if isinstance(guarantee, ZCDP | ApproxZCDP):
        implied = guarantee.to_approx_dp(max(USUAL_DELTA, wider(find_delta(guarantee))))
        blocks.append(Fact("Implies", str(implied)))
        blocks.append(Note(_RHO_ALONE))
    else:
        number = Number(None, guarantee.unit.plural)
        blocks.append(Note(guarantee_in_words(guarantee, guarantee.unit, number)))
    return _make_card_document("Guarantee", blocks)


def _state_protected(unit: PrivacyUnit) -> Fact:
    bounds = [f"{name} {'none' if most is None else f'{most:,}'}" for name, most in unit.bounds]
    return Fact("Protects", f"{unit} ({', '.join(bounds)})" if bounds else str(unit))


def _describe_secret(data: Any, what: str, bounds: Sequence[Fact]) -> Document:
    """Return the public bounds of data, and why their values are not shown."""
    return _make_card_document(f"dphist.{type(data).__name__}", [*bounds, Note(_NOT_SHOWN)], what)


def _describe_profile(profile: Profile) -> Document:
    bounds = [_state_unit(profile.unit), _state_sensitivity(profile.sensitivity)]
    return _describe_secret(profile, "Number of labels by count, not released", bounds)


def _describe_label_counts(counts: LabelCounts) -> Document:
    most = counts.max_labels
    labels = "no maximum" if most is None else f"at most {many(most, 'label')}"
    bounds = [
        _state_unit(counts.unit),
        Fact("Labels of one unit", labels),
        Fact("Count of one unit", f"at most {many(counts.max_count, 'record')} of each label"),
    ]
    if counts.for_tests:
        bounds.append(Fact("Random bits", "supplied by the caller, for tests"))
    return _describe_secret(counts, "Counts of labels, not released", bounds)


def _describe_binned_counts(counts: BinnedCounts) -> Document:
    axes = [
        Fact(f"Axis {axis.name or place}", axis.in_words) for place, axis in enumerate(counts.axes)
    ]
    bounds = [*axes, _state_unit(counts.unit), _state_sensitivity(counts.sensitivity)]
    return _describe_secret(counts, "Counts of bins, not released", bounds)


def _describe_data(data: Any) -> Document:
    """Return what data of a kind say of themselves, which is public."""
    bounds = [
        Fact("Data", repr(data)),
        _state_unit(data.unit),
        _state_sensitivity(data.sensitivity),
    ]
    return _describe_secret(data, "Data, not released", bounds)


def _state_unit(unit: PrivacyUnit | None) -> Fact:
    name = "one record, or what the caller asserts" if unit is None else str(unit)
    return Fact("Privacy unit", name)


def _state_sensitivity(records: int) -> Fact:
    return Fact("Sensitivity", f"at most {many(records, 'record')} of one unit")


def _describe_guarded(data: Guarded) -> Document:
    return _make_card_document("Data guarded by a ledger", [Note(f"{data.refusal()}.")])


_DOCUMENTS = {
    "dphist.lab.auditing.result.AuditResult": "dphist.lab.auditing.document",
    "dphist.lab.comparing.comparison.Comparison": "dphist.lab.comparing.document",
    "dphist.lab.rules.result.RuleResult": "dphist.lab.rules.document",
    "dphist.ledger.ledger.Ledger": "dphist.ledger.document",
    "dphist.privacy.fixed_plan.FixedPlan": "dphist.planning.fixed_document",
    "dphist.planning.plan.Plan": "dphist.planning.document",
}
_VIEWS: dict[type[Any], View] = {
    Release: _describe_release,
    Released: _describe_released,
    MechanismBase: _describe_mechanism,
    Protecting: _describe_guarantee,
    Profile: _describe_profile,
    LabelCounts: _describe_label_counts,
    BinnedCounts: _describe_binned_counts,
    Secret: _describe_data,
    Guarded: _describe_guarded,
}
