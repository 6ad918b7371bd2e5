"""An anonymized release in a few lines of plain text, for a terminal."""

from dphist.release.release import Release
from dphist.report import mechanism_facts, words
from dphist.report.anonymized.rows import Row, ends_of
from dphist.report.kind import Summary
from dphist.report.promise import Promise
from dphist.report.records import counted_of
from dphist.report.text_table import WIDTH, beside, right

_ROWS = 5
_NAMES = ("count", "labels", "labels with it or more")


def summary_of(release: Release, promise: Promise) -> Summary:
    """Return what a reader wants to know first, and both ends of the table."""
    value, of = release.value, counted_of(release)
    total = f"{value.total:,} in the release"
    if release.total is not None:
        total = f"{release.total:,} (private estimate)"
    facts = [
        ("Guarantee", f"{promise.cost}, for {promise.unit}"),
        ("Records", total),
        ("Labels", f"{value.labels:,} in the release"),
        *([("Counts", of.sentence)] if of.cut else []),
        ("Expected error", _expected_error(release)),
        ("Mechanism", mechanism_facts.call(release.mechanism)),
    ]
    return Summary(facts, promise.meaning, _table(release))


def _expected_error(release: Release) -> str:
    error = mechanism_facts.expected_error(release)
    if error is None:
        return "not predicted for so large a total"
    total = release.value.total if release.total is None else release.total
    return words.error_in_words(error, total)


def _table(release: Release) -> list[str]:
    """Return both ends of the released table in aligned columns."""
    ends = ends_of(release.value, _ROWS)
    if ends.rows == 0:
        return ["  No label was released."]
    rows = [_NAMES, *(_cells(row) for row in (*ends.largest, *ends.smallest))]
    columns = [right(column) for column in zip(*rows, strict=True)]
    if len("   ".join(column[0] for column in columns)) > WIDTH - 2:  # enormous numbers
        columns.pop()
    lines = beside(*columns)
    left_out = ends.rows - len(rows) + 1
    if left_out:
        gap = f"... {left_out:,} more rows ...".center(len(lines[0]) - 2)
        lines.insert(1 + len(ends.largest), f"  {gap}".rstrip())
    return lines


def _cells(row: Row) -> tuple[str, str, str]:
    return f"{row.count:,}", f"{row.prevalence:,}", f"{row.or_more:,}"
