"""What the report says about a labelled release."""

from typing import Any

from dphist.release.release import Release
from dphist.report import described, words
from dphist.report.chances import chances, half_width
from dphist.report.guarantees import total_in_words, total_of
from dphist.report.labels import words as labelled_words
from dphist.report.labels.plots import charts_of
from dphist.report.labels.rows import rows_of
from dphist.report.labels_shown import harmless
from dphist.report.numbers_protected import number_protected
from dphist.report.svg import inline_chart
from dphist.report.what_is_counted import bounding_cost, counted_of, cut_users_of, share_in_short

_MOST_ROWS = 200
_LONGEST = 120
_HEIGHT = 430  # of a figure, so that twenty labels are legible


def content(release: Release) -> dict[str, Any]:
    """Return what the page says, as text, numbers and figures."""
    mechanism, provenance, value = release.mechanism, release.provenance, release.value
    total = total_of(mechanism)
    unit = labelled_words.protected_unit(provenance)
    counted = value.counts is not None
    released = sum(label is not None for label in value.labels)
    likely = chances(mechanism)
    base = labelled_words.threshold_base(mechanism)
    cut = cut_users_of(release)
    return {
        "version": release.version,
        "labels": released,
        "rows": rows_of(release, _MOST_ROWS),
        "left_out": max(len(value) - _MOST_ROWS, 0),
        "show": lambda label: harmless(label, _LONGEST),
        "counted": counted,
        "too_few": released < len(value),
        "guarantee_short": words.guarantee_in_short(total.guarantee),
        "guarantee_kind": words.guarantee_kind(total.guarantee, total.releases),
        "guarantee_name": f"{total}",
        "guarantee_words": total_in_words(
            total, unit, number_protected(release), release.guarantee
        ),
        "guarantee_symbols": words.guarantee_in_symbols(total.guarantee),
        "zcdp": str(release.guarantee),
        "neighbours": labelled_words.neighbours_of(mechanism, provenance),
        "unit": unit,
        "bounding": labelled_words.bounding_in_words(mechanism, provenance),
        "threshold": None if base is None else labelled_words.number(mechanism.threshold),
        "threshold_base": base,
        "threshold_words": labelled_words.threshold_in_words(mechanism),
        "chances": [labelled_words.chance_in_words(mechanism, each) for each in likely],
        "bounding_cost": bounding_cost(release),
        "cut_share": None if cut is None else share_in_short(cut),
        "half_width": half_width(mechanism) if counted else None,
        "intervals": labelled_words.intervals_in_words(mechanism) if counted else "",
        "per_label": labelled_words.per_label(mechanism),
        "figures": _figures(release) if counted else [],
        "made": mechanism.description,
        "mechanism": type(mechanism).__name__,
        "call": described.call(mechanism),
        "parameters": described.parameters(mechanism),
        "noise": None,
        "paper": described.paper(mechanism),
        "limits": labelled_words.labelled_limits(mechanism, provenance),
    }


def _figures(release: Release) -> list[dict[str, Any]]:
    largest, everything = charts_of(release)
    mechanism = release.mechanism
    of, drawn = counted_of(release).whole, ""
    if labelled_words.threshold_base(mechanism) == "zero":
        drawn = f" The dashed line is the threshold, {labelled_words.number(mechanism.threshold)}."
    texts = [
        (
            largest,
            "largest",
            f"The labels with the largest released counts, by name: {of}.{drawn}",
        ),
        (everything, "all", f"The released counts, the largest first: {of}.{drawn}"),
    ]
    return [
        {
            "panel": chart,
            "svg": inline_chart(chart.title, chart.draw, name, text, _HEIGHT),
            "text": text,
        }
        for chart, name, text in texts
    ]
