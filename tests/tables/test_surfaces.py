"""What readers see of tables: nothing is left out without a word, cut off, or mistaken."""

import re
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.document.blocks import Column, Document, Section, Table
from dphist.render.text import text
from dphist.report import report_html, summary_text
from dphist.tables.charts import charts_of

LONG = "a value of so many letters that no column of a terminal has room for them"
KEYS: dict[str, Any] = {
    "place": [f"place {i}" for i in range(1, 9)],
    "day": dh.Axis.regular("2024-01-01", "2024-05-01", "1d"),
    "wild": ["<b>", "\u202eabc", "Côte d'Ivoire", LONG],
    "time": dh.Axis.from_edges(["2024-01-01T00:00", "2024-02-01T00:00"]),
}
TABLES = ["place+wild", "place+day", "time"]


@pytest.fixture(scope="module")
def release() -> dh.Release:
    counts = np.full((8, 121, 4, 1), 100)
    return dh.Tables(rho=1, keys=KEYS, tables=TABLES).release(counts)


def test_rows_and_columns_that_are_left_out_are_said(release: dh.Release) -> None:
    """A terminal has room for few columns, a page for 500 rows: each says what it does not show."""
    said, page = summary_text(release), report_html(release)
    assert "... 958 more rows ..." in said
    assert "the first 500 of 968 rows" in page
    columns = [Column(str(i), np.full(3, 1e9), over="key") for i in range(8)]
    shown = text(Document("", "", [Section("all", "", [Table(columns)])]))
    assert re.search(r"\.\.\. \d more columns \.\.\.", shown)


def test_many_tables_are_told_in_few_lines() -> None:
    """36 tables are one fact, and the sentence about them says that it does not name all."""
    keys = {f"k{i}": range(2) for i in range(8)}
    pairs = [f"k{i}+k{j}" for i in range(8) for j in range(i)]
    said = summary_text(
        dh.Tables(rho=1, keys=keys, tables=[*keys, *pairs]).release(np.ones((2,) * 8, int))
    )
    facts = said.split("Guarantee")[0]
    assert "Tables          36, with 128 cells, each ±" in facts
    assert "; and 28 more." in re.sub(r"\s+", " ", facts)
    assert len(facts.splitlines()) < 15


def test_values_are_shown_harmless_and_whole(release: dh.Release) -> None:
    """Values cannot turn a page around; charts have room for them; dates are dates."""
    page, said = report_html(release), summary_text(release)
    for shown in (page, said):
        assert "\u202e" not in shown
        assert "\\u202eabc" in shown
    assert "<b>" not in re.sub(r"(?s)<svg.*?</svg>", "", page)
    assert "2024-01-01 to 2024-02-01" in said
    charts = charts_of(release)
    assert [chart.y.label for chart in charts if not isinstance(chart.y.ticks, str)] == ["", ""]
    assert page.count("The parameter keys.") == 1
