"""Running counts in a few lines of plain text, for a terminal."""

from dphist.release.release import Release
from dphist.report import described
from dphist.report.guarantees import in_all, total_of
from dphist.report.kinds import Summary
from dphist.report.labels_shown import harmless, in_columns
from dphist.report.numbers_protected import number_protected
from dphist.report.streams import words as running_words
from dphist.report.streams.rows import Row, rows_of
from dphist.report.what_is_counted import counted_of

_ROWS = 10
_LABEL_COLUMNS = 40


def summary_of(release: Release) -> Summary:
    """Return what a reader wants to know first, and the first rows of the last reading."""
    mechanism, value = release.mechanism, release.value
    unit = running_words.protected_unit(mechanism, release.provenance)
    total = total_of(mechanism)
    error, width = running_words.error_text(mechanism), running_words.half_width(mechanism)
    threshold = running_words.threshold_in_words(mechanism)
    facts = [
        ("Guarantee", f"{in_all(total)}, for {unit}"),
        ("In zCDP", str(release.guarantee)),
        ("Events", running_words.reached_in_words(release)),
        ("Readings", f"{len(value):,}; {len(value.latest):,} labels in the last one"),
        ("Bounds", " ".join(running_words.bounding_in_words(mechanism))),
        ("Counts", counted_of(release).sentence),
        ("Threshold", threshold.removeprefix("Threshold: ")),
        ("Error", f"standard error of a count at most {error}, so ± {width:,} with 95 %"),
        ("Method", running_words.method_in_words(mechanism)),
        ("Mechanism", described.call(mechanism)),
    ]
    promise = running_words.promise_in_words(
        total, unit, release.guarantee, number_protected(release)
    )
    coverage = running_words.coverage_in_words(mechanism)
    return Summary(facts, f"{promise} {coverage}", _table(release))


def _table(release: Release) -> list[str]:
    rows = rows_of(release, _ROWS)
    if not rows:
        return ["  No label was released."]
    widths = [len("count"), len("95 % interval")]
    for row in rows:
        widths = [max(pair) for pair in zip(widths, map(len, _numbers(row)), strict=True)]
    lines = [_line("label", ["count", "95 % interval"], widths)]
    lines += [_line(harmless(row.label, 200), _numbers(row), widths) for row in rows]
    left_out = len(release.value.latest) - len(rows)
    if left_out:
        lines.append(f"  ... {left_out:,} more rows ...")
    return lines


def _numbers(row: Row) -> list[str]:
    return [f"{row.count:,}", f"{row.low:,} to {row.high:,}"]


def _line(text: str, numbers: list[str], widths: list[int]) -> str:
    cells = [f"   {cell.rjust(width)}" for cell, width in zip(numbers, widths, strict=True)]
    return f"  {in_columns(text, _LABEL_COLUMNS)}{''.join(cells)}".rstrip()
