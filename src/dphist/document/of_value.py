"""OfValue: what is said of a released value by itself, without the release that it came from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dphist.document.chart import Chart
from dphist.release.label_table import LabelTable


@dataclass(frozen=True, slots=True)
class Table:
    """The head of a table.

    Attributes
    ----------
    columns : their names.
    rows : values of the first rows: text, numbers, dates, or None for a missing one.
    total : number of rows in all.
    bars : name of a column of numbers that is shown as bars too; empty for none.
    caption : what the rows are, if not the first ones.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    total: int
    bars: str = ""
    caption: str = ""


@dataclass(frozen=True, slots=True)
class OfValue:
    """What is said of a released value.

    Attributes
    ----------
    title : what the value is, in a few words.
    facts : names and texts.
    head : of its table.
    chart : if there is one that needs nothing else.
    """

    title: str
    head: Table
    facts: Sequence[tuple[str, str]] = ()
    chart: Chart | None = None


def head_of_labels(table: LabelTable, most: int, caption: str = "") -> Table:
    """Return the head of a table of labels, of any type that labels have, as text."""
    head = LabelTable(table.to_arrow().slice(0, most))
    texts, counts = head.texts, head.counts
    if counts is None:
        return Table(["label"], [[text] for text in texts], len(table), caption=caption)
    rows = list(zip(texts, counts.tolist(), strict=True))
    return Table(["label", "count"], rows, len(table), "count" if rows else "", caption)
