"""What the report says about an anonymized release."""

from typing import Any

from dphist.anonymized.band import Band
from dphist.release.release import Release
from dphist.report import described, words
from dphist.report.guarantees import total_in_words, total_of
from dphist.report.head import head
from dphist.report.numbers_protected import number_protected
from dphist.report.plots import panels
from dphist.report.properties.section import population
from dphist.report.svg import inline_svg
from dphist.report.what_is_counted import counted_of

_BY_RANK = "Labels are ranked by their count, the most common first; the curve falls to the rarest."
_BY_COUNT = "For every count r, how many labels have r records or more."


def content(release: Release) -> dict[str, Any]:
    """Return what the page says, as text, numbers and figures."""
    mechanism, value = release.mechanism, release.value
    band: Band = mechanism.band(release)
    bars: Band | None = mechanism.pointwise_band(release)
    by_rank, by_count = panels(value, band, bars, counted_of(release).released)
    error = described.expected_error(release)
    reference = value.total if release.total is None else release.total
    sensitivity, user = mechanism.sensitivity, release.provenance.get("unit")
    unit = words.privacy_unit(sensitivity, user)
    total = total_of(mechanism)
    stated = total.guarantee
    return {
        "version": release.version,
        "labels": value.labels,
        "records": value.total,
        "total": release.total,
        "guarantee_short": words.guarantee_in_short(stated),
        "guarantee_kind": words.guarantee_kind(stated, total.releases),
        "guarantee_name": f"{total}",
        "guarantee_words": total_in_words(
            total, unit, number_protected(release), release.guarantee
        ),
        "guarantee_symbols": words.guarantee_in_symbols(stated),
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
        "population": population(release),
        "made": mechanism.description,
        "mechanism": type(mechanism).__name__,
        "call": described.call(mechanism),
        "parameters": described.parameters(mechanism),
        "noise": described.noise(mechanism),
        "paper": described.paper(mechanism),
        "limits": words.limits_in_words(unit, described.public_parameters(mechanism)),
    }
