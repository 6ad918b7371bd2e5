"""What the report says about a universal release."""

from typing import Any

import numpy as np

from dphist.privacy import ZCDP
from dphist.release.range_histogram import RangeHistogram
from dphist.release.range_histogram.picture import ERRORS
from dphist.release.release import Release, target_of
from dphist.report import described, words
from dphist.report.guarantees import total_of
from dphist.report.numbers_protected import number_protected
from dphist.report.plots import Chart
from dphist.report.ranges import words as ranges_words
from dphist.report.ranges.axis_texts import axis_text
from dphist.report.ranges.map import cells_of
from dphist.report.ranges.plots import BINS_TITLE, SUMS_TITLE, bins_a_step, charts_of
from dphist.report.ranges.rows import outside_of, quantiles_of, rows_of, whole_of
from dphist.report.svg import inline_chart
from dphist.report.what_is_counted import counted_of

_QUARTERS = 4
_ROWS_EACH = 12  # of each of several axes
_FEW = 2**22  # bins; of more, a range in several axes takes seconds
_MAP_HEIGHT = 380


def content(release: Release) -> dict[str, Any]:
    """Return what the page says, as text, numbers and figures."""
    mechanism, value = release.mechanism, release.value
    guarantee, one = release.guarantee, value.bins.ndim == 1
    sensitivity, user = mechanism.sensitivity, release.provenance.get("unit")
    unit = words.privacy_unit(sensitivity, user)
    total = total_of(mechanism)
    told = total.guarantee
    named = guarantee if isinstance(guarantee, ZCDP) else told
    promise = ranges_words.promise_in_words(
        guarantee, unit, number_protected(release), target_of(mechanism)
    )
    error = ERRORS * float(np.median(value.answers.bin_errors()))
    return {
        "version": release.version,
        "one": one,
        "total": ranges_words.counted(whole_of(value)),
        "bins": f"{value.bins.size:,}",
        "axes": ranges_words.axes_in_words(value),
        "bin_error": ranges_words.error_text(error),
        "guarantee_short": ranges_words.guarantee_in_short(named),
        "guarantee_kind": ranges_words.guarantee_kind(named),
        "guarantee_name": str(total),
        "guarantee_words": promise,
        "guarantee_symbols": words.guarantee_in_symbols(told),
        "zcdp": str(guarantee) if isinstance(guarantee, ZCDP) else None,
        "neighbours": ranges_words.neighbours_in_words(sensitivity, user),
        "unit": unit,
        "figures": [_figure(chart, release) for chart in charts_of(release)],
        "errors": ranges_words.errors_in_words(mechanism),
        "tables": _tables(value),
        "counted": ranges_words.counted,
        "name": ranges_words.names_in_words(value),
        "quantiles": quantiles_of(value) if one else [],
        "meaning": ranges_words.share_in_words,
        "outside": outside_of(release),
        "made": mechanism.description,
        "mechanism": type(mechanism).__name__,
        "call": described.call(mechanism),
        "parameters": described.parameters(mechanism),
        "noise": None,
        "paper": described.paper(mechanism),
        "limits": ranges_words.limits_in_words(unit, value),
    }


def _tables(value: RangeHistogram) -> list[dict[str, Any]]:
    """Return tables of ranges: quarters of the only axis, or parts of each of several."""
    if value.bins.ndim == 1:
        rows = rows_of(value, 0, _QUARTERS)
        parts = "Quarters of the bins" if len(rows) == _QUARTERS else "All bins"
        return [{"caption": parts, "rows": rows}]
    most = _ROWS_EACH if value.bins.size <= _FEW else _QUARTERS
    names = [axis_text(value, axis) for axis in range(value.bins.ndim)]
    return [
        {"caption": f"Records by {name}", "rows": rows_of(value, axis, most)}
        for axis, name in enumerate(names)
    ]


def _figure(chart: Chart, release: Release) -> dict[str, Any]:
    value: RangeHistogram = release.value
    after = counted_of(release).after
    name, height = "map", {"height": _MAP_HEIGHT}
    if chart.title == BINS_TITLE:
        together = bins_a_step(value)
        text = f"Records in each bin{after}."
        if together > 1:
            text = f"Records a bin, as the mean of {together:,} neighbouring bins each{after}."
        name, height = "bins", {}
    elif chart.title == SUMS_TITLE:
        text, name, height = f"Records below each edge of the bins{after}.", "sums", {}
    else:
        across, up = (int(places[1]) for places in cells_of(value)[1])
        text = (
            f"Records a cell of {across:,} by {up:,} bins{after}; the fuller the colour, the more."
        )
    svg = inline_chart(chart.title, chart.draw, name, text, **height)
    return {"title": chart.title, "svg": svg, "text": text}
