"""The report: one HTML file about one release that opens anywhere, without a network."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from dphist.anonymized.band import Band
from dphist.label_table import LabelTable
from dphist.release import Release
from dphist.report import described, labelled_page, words
from dphist.report.head import head
from dphist.report.plots import panels
from dphist.report.svg import inline_svg
from dphist.writing import check_output_path, write_text

_ANONYMIZED = "anonymized.html.j2"
_LABELLED = "labelled.html.j2"


def write_report(release: Release, path: str | Path) -> None:
    """Write a report about a release: see `dphist.write_report`."""
    check_output_path(path)
    write_text(path, report_html(release))


def report_html(release: Release) -> str:
    """Return the report as the text of an HTML page."""
    checked = words.checked_release(release)
    if isinstance(checked.value, LabelTable):
        return _environment().get_template(_LABELLED).render(labelled_page.content(checked))
    return _environment().get_template(_ANONYMIZED).render(_content(checked))


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("dphist", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = lambda number: f"{number:,}"
    environment.filters["typeset"] = _typeset
    return environment


def _typeset(text: str) -> str:
    """Keep a number and its percent sign on one line, and curl apostrophes."""
    return text.replace(" %", "\u00a0%").replace("'", "\u2019")


def _content(release: Release) -> dict[str, Any]:
    """Return what the page says, as text, numbers and figures."""
    mechanism, value = release.mechanism, release.value
    band: Band = mechanism.band(release)
    bars: Band | None = mechanism.pointwise_band(release)
    by_rank, by_count = panels(value, band, bars)
    error = described.expected_error(release)
    reference = value.total if release.total is None else release.total
    sensitivity, user = mechanism.sensitivity, release.stated.get("unit")
    unit = words.privacy_unit(sensitivity, user)
    return {
        "version": release.version,
        "labels": value.labels,
        "records": value.total,
        "total": release.total,
        "guarantee_short": words.guarantee_in_short(release.guarantee),
        "guarantee_kind": words.guarantee_kind(release.guarantee),
        "guarantee_name": str(release.guarantee),
        "guarantee_words": words.guarantee_in_words(release.guarantee, unit),
        "guarantee_symbols": words.guarantee_in_symbols(release.guarantee),
        "neighbours": words.neighbours_in_words(sensitivity, user),
        "unit": unit,
        "error_short": None if error is None else words.error_in_short(error),
        "error_share": words.share_in_words(error, reference) if error and reference else None,
        "figures": [
            {"panel": by_rank, "svg": inline_svg(by_rank, "rank", _BY_RANK), "text": _BY_RANK},
            {"panel": by_count, "svg": inline_svg(by_count, "count", _BY_COUNT), "text": _BY_COUNT},
        ],
        "band": words.band_in_words(band),
        "bars": words.bars_in_words(bars),
        "head": head(value),
        "made": mechanism.in_words(),
        "mechanism": type(mechanism).__name__,
        "call": described.call(mechanism),
        "parameters": described.parameters(mechanism),
        "noise": described.noise(mechanism),
        "paper": described.paper(mechanism),
        "limits": words.limits_in_words(unit, described.public_parameters(mechanism)),
    }


_BY_RANK = "Labels are ranked by their count, the most common first; the curve falls to the rarest."
_BY_COUNT = "For every count r, how many labels have r records or more."
