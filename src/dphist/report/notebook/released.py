"""Cards of released values: the guarantee, the head of the table, a small figure."""

from typing import Any

from markupsafe import Markup

from dphist.document.kinds import kind_of_value
from dphist.errors import ParameterError, UnsupportedError
from dphist.release.release import FOR_TESTS, Release
from dphist.render.card import HEAD, Card, card, draw_chart
from dphist.report.kinds import shown_as

_OF_RELEASE = "Released values. The guarantee stands in the release that they came from."


def card_of_release(release: Release) -> Card:
    """Return the card of a release."""
    try:
        return card(shown_as(release))
    except (ParameterError, UnsupportedError):  # nobody registered it, or pages cannot state it
        warning = f"Protects nobody: {FOR_TESTS}." if release.for_tests else ""
        facts = [("Guarantee", str(release.guarantee)), ("Protects", str(release.guarantee.unit))]
        return Card(f"Release of {type(release.mechanism).__name__}", facts, warning=warning)


def card_of_value(value: Any) -> Card:
    """Return the card of a released value, as its kind declares it.

    Raises
    ------
    UnsupportedError
        If there is no such kind.
    """
    kind = kind_of_value(value)
    if kind is None or kind.of_value is None:
        raise UnsupportedError(f"no kind says how a {type(value).__name__} is shown by itself")
    said = kind.of_value(value, HEAD)
    figure = Markup() if said.chart is None else draw_chart(said.chart, {})
    return Card(said.title, said.facts, [_OF_RELEASE], tables=[said.head], figure=figure)
