"""A histogram over ranges in a few lines of plain text, for a terminal."""

from dphist.document import mechanism_facts
from dphist.document.counted import counted_of
from dphist.release.release import Release
from dphist.render.text_table import beside, left, right
from dphist.report.kind import Summary
from dphist.report.promise import Promise
from dphist.report.ranges.axis_texts import axis_text
from dphist.report.ranges.rows import (
    Row,
    count_text,
    error_text,
    outside_of,
    quantiles_of,
    rows_of,
    whole_of,
)
from dphist.report.ranges.words import axes_in_words

_ROWS = 12  # of the only axis
_ROWS_EACH = 4  # of each of several
_BAR = 20
_EDGE = 19


def summary_of(release: Release, promise: Promise) -> Summary:
    """Return what a reader wants to know first, and the histogram in few rows."""
    value, of = release.value, counted_of(release)
    facts = [
        ("Guarantee", f"{promise.cost}, for {promise.unit}"),
        ("Records", f"{whole_of(value).text} in the bins (private estimate)"),
        *([("Counts", of.sentence)] if of.cut else []),
        *[("Outside", f"{row.text} {row.start}") for row in outside_of(release)],
        ("Bins", f"{value.bins.size:,}: {axes_in_words(value)}"),
        ("Mechanism", mechanism_facts.call(release.mechanism)),
    ]
    lines = []
    for axis in range(value.bins.ndim):
        most = _ROWS if value.bins.ndim == 1 else _ROWS_EACH
        lines += _rows(axis_text(value, axis), rows_of(value, axis, most))
    if value.bins.ndim == 1:
        lines += _quantiles(release)
    lines.append("  ± is 1.96 standard errors: about 95 %, for each number by itself.")
    return Summary(facts, promise.meaning, lines)


def _rows(name: str, rows: list[Row]) -> list[str]:
    top = max(*(row.count for row in rows), 1)
    edges = min(max(len(text) for row in rows for text in (row.start, row.stop)), _EDGE)
    starts, stops = (
        left([row.start for row in rows], edges),
        left([row.stop for row in rows], edges),
    )
    counts = right([count_text(row.count) for row in rows])
    errors = left([error_text(row.error) for row in rows])
    places = [f"{start} to {stop}" for start, stop in zip(starts, stops, strict=True)]
    numbers = [f"{count} ± {error}" for count, error in zip(counts, errors, strict=True)]
    bars = ["#" * round(_BAR * max(row.count, 0) / top) for row in rows]
    header = beside(left([name], 2 * edges + 4), ["records"])
    return [*header, *beside(places, numbers, bars), ""]


def _quantiles(release: Release) -> list[str]:
    found = quantiles_of(release.value)
    if not found:
        return ["  There are no records by the estimates, so no quantiles.", ""]
    shares = right([f"{100 * quantile.share:g} %" for quantile in found], 11)
    places = left([quantile.place for quantile in found])
    between = [f"({quantile.low} to {quantile.high})" for quantile in found]
    rows = beside(shares, [" ".join(pair) for pair in zip(places, between, strict=True)])
    return ["  share below   place (between, with about 95 %)", *rows, ""]
