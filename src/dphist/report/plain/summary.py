"""The release in a few lines of plain text, for a terminal."""

from typing import Any

from dphist.document import mechanism_facts
from dphist.release.release import Release
from dphist.render.text_table import beside, left, left_out, right
from dphist.report.kind import Summary
from dphist.report.plain import words
from dphist.report.plain.rows import Row, rows_of, table_of
from dphist.report.promise import Promise
from dphist.visible import harmless

_ROWS = 10
_LABEL_COLUMNS = 40


def summary_of(release: Release, promise: Promise, size: dict[str, Any]) -> Summary:
    """Return what a reader wants to know first, and the first rows."""
    facts = [
        ("Guarantee", f"{promise.cost}, for {promise.unit}"),
        *((name.capitalize(), f"{number:,}") for name, number in size.items()),
        ("Appearing", words.appearance_in_words(release)),
        ("Error", words.error_in_words(release)),
        ("Mechanism", mechanism_facts.call(release.mechanism)),
    ]
    return Summary(facts, promise.meaning, _table(release))


def _table(release: Release) -> list[str]:
    rows = rows_of(release, _ROWS)
    if not rows:
        return ["  No label was released."]
    columns = [left(["label", *map(_name, rows)], _LABEL_COLUMNS)]
    if rows[0].count is not None:
        columns.append(right(["count", *(f"{row.count:,}" for row in rows)]))
    if rows[0].low is not None:
        columns.append(right(["95 % interval", *(f"{row.low:,} to {row.high:,}" for row in rows)]))
    return [*beside(*columns), *left_out(len(table_of(release)) - len(rows))]


def _name(row: Row) -> str:
    return "(fewer were found)" if row.label is None else harmless(row.label, 200)
