"""A release in a few lines of plain text, for a terminal."""

import textwrap
from collections.abc import Sequence

from dphist.label_table import LabelTable
from dphist.release import Release
from dphist.report import described, labelled_summary, words
from dphist.report.head import Row, head

WIDTH = 78
_ROWS = 5
_NAMES = ("count", "labels", "labels with it or more")


def summary_text(release: Release) -> str:
    """Return what was released and what it promises, in lines of at most 78 columns."""
    release = words.checked_release(release)
    if isinstance(release.value, LabelTable):
        facts, promise = labelled_summary.facts_of(release), labelled_summary.promise_of(release)
        return _laid_out("Labelled", release, facts, promise, labelled_summary.table_of(release))
    mechanism, value = release.mechanism, release.value
    unit = words.privacy_unit(mechanism.sensitivity, release.stated.get("unit"))
    facts = [
        ("Guarantee", f"{release.guarantee}, for {unit}"),
        ("Records", f"{value.total:,} in the release"),
        ("Labels", f"{value.labels:,} in the release"),
        ("Expected error", _expected_error(release)),
        ("Mechanism", described.call(mechanism)),
    ]
    if release.total is not None:
        facts[1] = ("Records", f"{release.total:,} (private estimate)")
    promise = words.guarantee_in_words(release.guarantee, unit)
    return _laid_out("Anonymized", release, facts, promise, _table(release))


def _laid_out(
    kind: str, release: Release, facts: list[tuple[str, str]], promise: str, table: list[str]
) -> str:
    lines = _wrapped(
        f"{kind} histogram, released with differential privacy (dphist {release.version})", ""
    )
    lines.append("")
    for name, text in facts:
        lines += _wrapped(text, f"  {name:<16}")
    lines.append("")
    lines += _wrapped(promise, "  ")
    lines.append("")
    lines += table
    return "\n".join(lines) + "\n"


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


def _wrapped(text: str, first: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=" " * len(first))
