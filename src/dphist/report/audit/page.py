"""The page of an audit: one HTML file that opens anywhere, without network and scripts."""

from collections.abc import Sequence
from dataclasses import dataclass

from dphist.auditing.result import AuditResult
from dphist.release.release import VERSION
from dphist.report.audit.chart import curve_chart
from dphist.report.html import template_of
from dphist.report.page import Figure
from dphist.report.svg import figure
from dphist.visible import harmless

_LAYERS = {
    "exact": "Exact: laws enumerated",
    "replay": "Replay: noise on neighbors",
    "statistical": "Statistical: runs counted",
}


_LONGEST = 600  # letters of an event


@dataclass(frozen=True)
class Shown:
    """A result as the page shows it.

    Attributes
    ----------
    result : what was found.
    claim, verdict, least, power, event, neighbors : in words.
    figure : the curve; None where nothing above 0 was shown.
    layers : heading, verdict and what was covered, of each.
    """

    result: AuditResult
    claim: str
    verdict: str
    least: str
    power: str
    event: str
    neighbors: str
    figure: Figure | None
    layers: list[tuple[str, str, str]]


def audit_html(results: Sequence[AuditResult]) -> str:
    """Return the page of one or more results as the text of an HTML file."""
    shown = [_shown(result, number) for number, result in enumerate(results)]
    return template_of("dphist.report.audit").render(
        title=_title(results),
        shown=shown,
        refuted=sum(each.refuted for each in results),
        doubted=sum(each.objects and not each.refuted for each in results),
        samples=sum(each.samples for each in results),
        seconds=round(sum(each.seconds for each in results)),
        confidence=f"{min((each.confidence for each in results), default=1):g}",
        wrong=f"{1 - min((each.confidence for each in results), default=1):.3g}",
        version=VERSION,
    )


def _title(results: Sequence[AuditResult]) -> str:
    if len(results) != 1:
        return f"{len(results)} mechanisms"
    return results[0].name


def _shown(result: AuditResult, number: int) -> Shown:
    drawn = None
    if result.curve:
        said = (
            "Lower bounds that the runs, or the enumerated laws, show at several δ. A correct "
            "claim lies on the curve or above it."
        )
        drawn = figure(curve_chart(result), f"curve{number}", said)
    claim = f"ε = {result.epsilon:g}" + (f", δ = {result.delta:g}" if result.delta else "")
    return Shown(
        result,
        claim,
        _verdict(result),
        f"{result.epsilon_lower:.3g}",
        "" if result.power is None else f"{result.power:.3g}",
        harmless(result.event, _LONGEST),
        harmless(result.neighbours, _LONGEST),
        drawn,
        [(_LAYERS[each.layer], each.verdict, each.covered) for each in result.layers],
    )


def _verdict(result: AuditResult) -> str:
    if result.refuted:
        return "refuted"
    return "not accounted for" if result.objects else "not refuted"
