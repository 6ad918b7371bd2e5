"""What the page says about a histogram over ranges."""

from dataclasses import dataclass

import numpy as np

from dphist.document import mechanism_facts
from dphist.document.counted import counted_of, unit_of
from dphist.release.range_histogram import RangeHistogram
from dphist.release.range_histogram.picture import ERRORS
from dphist.release.release import Release
from dphist.render.charts import Drawing
from dphist.report.page import Figure, Page
from dphist.report.ranges import words
from dphist.report.ranges.axis_texts import axis_text
from dphist.report.ranges.map import cells_of, least_seen, shades_of
from dphist.report.ranges.plots import BINS_TITLE, SUMS_TITLE, bins_a_step, charts_of
from dphist.report.ranges.rows import (
    Quantile,
    Row,
    count_text,
    error_text,
    outside_of,
    parts,
    quantiles_of,
    rows_between,
    rows_of,
    usual_error,
    whole_of,
)
from dphist.report.ranges.window import window_in_words, window_of
from dphist.report.svg import figure

_QUARTERS = 4
_ROWS_EACH = 12  # of each of several axes
_FEW = 2**22  # bins; of more, a range in several axes takes seconds
_MAP_HEIGHT = 400
_USUAL = "with probability of about 95 %; half of the records are in bins with a smaller one"


@dataclass(frozen=True, slots=True)
class Table:
    """Parts of one axis with their records."""

    caption: str
    rows: list[Row]


@dataclass(frozen=True, slots=True, kw_only=True)
class RangesPage(Page):
    """What the page says about a histogram over ranges.

    Attributes
    ----------
    one : whether there is a single axis.
    name : of all axes.
    total_count, total_error : of all bins.
    bins, axes : how many bins, and what they divide.
    bin_error, bin_error_note : an error of bins (95 %), and of which; None without any records.
    errors : what errors mean.
    tables : of ranges.
    quantiles : of the single axis.
    outside : what lies in no bin.
    """

    one: bool
    name: str
    total_count: str
    total_error: str
    bins: int
    axes: str
    bin_error: str | None
    bin_error_note: str
    errors: str
    tables: list[Table]
    quantiles: list[Quantile]
    outside: list[Row]


def content(release: Release) -> RangesPage:
    """Return what the page says."""
    mechanism, value = release.mechanism, release.value
    whole, usual = whole_of(value), usual_error(value)
    one = value.bins.ndim == 1
    return RangesPage(
        one=one,
        name=words.names_in_words(value),
        total_count=count_text(whole.count),
        total_error=error_text(whole.error),
        bins=value.bins.size,
        axes=words.axes_in_words(value),
        bin_error=None if usual is None else error_text(ERRORS * usual),
        bin_error_note=_USUAL,
        errors=words.errors_in_words(mechanism),
        figures=[_figure(chart, release) for chart in charts_of(release)],
        tables=_tables(value),
        quantiles=quantiles_of(value) if one else [],
        outside=outside_of(release),
        parameters=mechanism_facts.parameters(mechanism),
        paper=mechanism_facts.paper(mechanism),
        limits=words.limits_in_words(unit_of(release), value),
    )


def _tables(value: RangeHistogram) -> list[Table]:
    """Return tables of ranges: quarters of the only axis, or parts of each of several."""
    if value.bins.ndim == 1:
        window = window_of(value, 0)
        if not window.whole:
            inner = window.start + parts(window.stop - window.start, _QUARTERS)
            places = np.unique(np.concatenate([[0], inner, [value.bins.size]]))
            return [Table("Parts of the bins", rows_between(value, 0, places))]
        rows = rows_of(value, 0, _QUARTERS)
        return [Table("Quarters of the bins" if len(rows) == _QUARTERS else "All bins", rows)]
    most = _ROWS_EACH if value.bins.size <= _FEW else _QUARTERS
    return [
        Table(f"By {axis_text(value, axis)}", rows_of(value, axis, most))
        for axis in range(value.bins.ndim)
    ]


def _figure(chart: Drawing, release: Release) -> Figure:
    value, after = release.value, counted_of(release).after
    if chart.title == BINS_TITLE:
        together = bins_a_step(value)
        text = f"Records in each bin{after}."
        if together > 1:
            text = f"Records per bin, averaged over groups of {together:,} neighboring bins{after}."
        return figure(chart, "bins", _joined(text, chart.note))
    if chart.title == SUMS_TITLE:
        return figure(chart, "sums", _joined(f"Records below each edge{after}.", chart.note))
    cells, places = cells_of(value)
    across, up = (int(ends[1] - ends[0]) for ends in places)
    least = shades_of(float(cells.max()), least_seen(value))[0]
    text = (
        f"Records per cell of {across:,} by {up:,} bins{after}; a fuller color means more. Cells "
        f"with fewer than {least:,} are blank: there, noise and records look the same."
    )
    windows = [window_in_words(value, axis) for axis in (0, 1)]
    return figure(chart, "map", _joined(text, *windows), _MAP_HEIGHT)


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))
