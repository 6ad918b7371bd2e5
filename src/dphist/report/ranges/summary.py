"""A universal release in a few lines of plain text, for a terminal."""

from dphist.release.release import Release, target_of
from dphist.report import described, words
from dphist.report.guarantees import cost_of
from dphist.report.kinds import Summary
from dphist.report.labels_shown import in_columns
from dphist.report.numbers_protected import number_protected
from dphist.report.ranges import words as ranges_words
from dphist.report.ranges.axis_texts import axis_text
from dphist.report.ranges.rows import Row, outside_of, quantiles_of, rows_of, whole_of
from dphist.report.what_is_counted import counted_of

_ROWS = 12  # of the only axis
_ROWS_EACH = 4  # of each of several
_BAR = 20
_EDGE = 19


def summary_of(release: Release) -> Summary:
    """Return what a reader wants to know first, and the histogram in few rows."""
    mechanism, value = release.mechanism, release.value
    unit = words.privacy_unit(mechanism.sensitivity, release.provenance.get("unit"))
    of = counted_of(release)
    facts = [
        ("Guarantee", f"{cost_of(release)}, for {unit}"),
        ("Records", f"{ranges_words.counted(whole_of(value))} in the bins (private estimate)"),
        *([("Counts", of.sentence)] if of.cut else []),
        *[("Outside", f"{ranges_words.counted(row)} {row.start}") for row in outside_of(release)],
        ("Bins", f"{value.bins.size:,}: {ranges_words.axes_in_words(value)}"),
        ("Mechanism", described.call(mechanism)),
    ]
    promise = ranges_words.promise_in_words(
        release.guarantee, unit, number_protected(release), target_of(mechanism)
    )
    lines = []
    for axis in range(value.bins.ndim):
        most = _ROWS if value.bins.ndim == 1 else _ROWS_EACH
        lines += _rows(axis_text(value, axis), rows_of(value, axis, most))
    if value.bins.ndim == 1:
        lines += _quantiles(release)
    lines.append("  ± is 1.96 standard errors: about 95 %, for each number by itself.")
    return Summary(facts, promise, lines)


def _rows(name: str, rows: list[Row]) -> list[str]:
    counts = [ranges_words.count_text(row.count) for row in rows]
    errors = [ranges_words.error_text(row.error) for row in rows]
    wide = max(map(len, counts)), max(map(len, errors))
    top = max(*(row.count for row in rows), 1)
    edges = min(max(len(text) for row in rows for text in (row.start, row.stop)), _EDGE)
    width = 2 * edges + 4
    lines = [f"  {in_columns(name, width)}   records"]
    for row, count, error in zip(rows, counts, errors, strict=True):
        bar = "#" * round(_BAR * max(row.count, 0) / top)
        place = f"{in_columns(row.start, edges)} to {in_columns(row.stop, edges)}"
        numbers = f"{count.rjust(wide[0])} ± {error.ljust(wide[1])}"
        lines.append(f"  {place}   {numbers}   {bar}"[:78].rstrip())
    return [*lines, ""]


def _quantiles(release: Release) -> list[str]:
    found = quantiles_of(release.value)
    if not found:
        return ["  There are no records by the estimates, so no quantiles.", ""]
    lines = ["  share below   place (between, with about 95 %)"]
    wide = max(len(quantile.place) for quantile in found)
    for quantile in found:
        share = f"{100 * quantile.share:g} %".rjust(11)
        between = f"({quantile.low} to {quantile.high})"
        lines.append(f"  {share}   {quantile.place.ljust(wide)} {between}"[:78].rstrip())
    return [*lines, ""]
