"""An anonymized release in a few lines of plain text, for a terminal."""

from collections.abc import Sequence

from dphist.release.release import Release
from dphist.report import described, words
from dphist.report.guarantees import cost_of, total_in_words, total_of
from dphist.report.head import Row, head
from dphist.report.kinds import Summary
from dphist.report.numbers_protected import number_protected
from dphist.report.summary import WIDTH
from dphist.report.what_is_counted import counted_of

_ROWS = 5
_NAMES = ("count", "labels", "labels with it or more")


def summary_of(release: Release) -> Summary:
    """Return what a reader wants to know first, and the head of the table."""
    mechanism, value = release.mechanism, release.value
    unit = words.privacy_unit(mechanism.sensitivity, release.provenance.get("unit"))
    total, of = total_of(mechanism), counted_of(release)
    facts = [
        ("Guarantee", f"{cost_of(release)}, for {unit}"),
        ("Records", f"{value.total:,} in the release"),
        ("Labels", f"{value.labels:,} in the release"),
        *([("Counts", of.sentence)] if of.cut else []),
        ("Expected error", _expected_error(release)),
        ("Mechanism", described.call(mechanism)),
    ]
    if release.total is not None:
        facts[1] = ("Records", f"{release.total:,} (private estimate)")
    promise = total_in_words(total, unit, number_protected(release), release.guarantee)
    return Summary(facts, promise, _table(release))


def _expected_error(release: Release) -> str:
    error = described.expected_error(release)
    if error is None:
        return "not foretold for so large a total"
    total = release.value.total if release.total is None else release.total
    return words.error_in_words(error, total)


def _table(release: Release) -> list[str]:
    """Return the head of the released table in aligned columns."""
    ends = head(release.value, _ROWS)
    if ends.rows == 0:
        return ["  No label was released."]
    rows = [_NAMES, *(_cells(row) for row in (*ends.largest, *ends.smallest))]
    lines = _aligned(rows)
    if len(lines[0]) > WIDTH:  # numbers near the largest there are
        lines = _aligned([row[:2] for row in rows])
    left_out = ends.rows - len(rows) + 1
    if left_out:
        gap = f"... {left_out:,} more rows ...".center(len(lines[0]) - 2)
        lines.insert(1 + len(ends.largest), f"  {gap}".rstrip())
    return lines


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "   ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
        for row in rows
    ]


def _cells(row: Row) -> tuple[str, str, str]:
    return f"{row.count:,}", f"{row.prevalence:,}", f"{row.or_more:,}"
