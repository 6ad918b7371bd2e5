"""Tables on terminals: what a reader needs beside a number is not lost for want of room."""

import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist.document.blocks import Column, Document, Section, Table
from dphist.render.text import WIDTH, count_columns, text
from dphist.report import summary_text

SHORTEST, LONGEST = 16, 40


@pytest.mark.parametrize("label", ["a", "b" * 39, "日" * 30])
def test_intervals_of_large_counts_stand_beside_them(label: str) -> None:
    """Labels get less room where numbers are wide; no interval is left out."""
    mechanism = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1)
    counts = pa.table({"label": [label, "c"], "count": [1_000_000_500, 2_000_000_500]})
    shown = summary_text(mechanism.release(counts))
    assert "95 % interval" in shown
    assert "to 2,000,000," in shown
    assert all(count_columns(line) <= WIDTH for line in shown.splitlines())


def test_columns_without_room_are_counted() -> None:
    """Of a table without headings over columns, too."""
    cells = np.full(2, 1e15)
    columns = [Column(str(i), cells) for i in range(8)]
    shown = text(Document("", "", [Section("all", "", [Table(columns)])]))
    assert "... 5 more columns ..." in shown


@pytest.mark.parametrize(("numbers", "width"), [(1, LONGEST), (4, SHORTEST)])
def test_labels_keep_some_room(numbers: int, width: int) -> None:
    names = Column("Label", ["x" * 60], released=True)
    columns = [names, *(Column(str(i), np.full(1, 1e12)) for i in range(numbers))]
    shown = text(Document("", "", [Section("all", "", [Table(columns)])]))
    assert f"{'x' * (width - 1)}… " in shown
    assert "x" * width not in shown
