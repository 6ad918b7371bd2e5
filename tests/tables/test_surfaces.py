"""What readers see of tables: nothing is left out without a word, cut off, or mistaken."""

import random
import re
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.document.blocks import Column, Document, Section, Table
from dphist.document.chart import Chart
from dphist.document.unit_words import describe_counted_records
from dphist.render.text import text
from dphist.report import report_html, summary_text
from dphist.tables.charts import draw_charts, draw_keys

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
    charts = draw_charts(release)
    assert [chart.y.label for chart in charts if not isinstance(chart.y.ticks, str)] == ["", ""]
    assert page.count("The parameter keys.") == 1


def hours(**more: Any) -> dh.Release:
    """Return a release of a large table of two keys, whose cells of the first place are empty."""
    keys = {"place": [f"place {i:02d}" for i in range(12)], "hour": dh.Axis.regular(0, 24, 3)}
    counts = np.multiply.outer(np.arange(12) ** 2, [1, 3, 10, 30, 90, 60, 20, 5])
    made = dh.Tables(rho="0.1", **{"keys": keys, "tables": ["place+hour", "place"], **more})
    return made.release(counts, random.Random(1).randbytes)


def maps_of(release: dh.Release) -> list[Chart]:
    return [chart for chart in draw_charts(release) if chart.name.startswith("map")]


def test_a_large_table_of_two_keys_is_a_map() -> None:
    """Each cell has the shade of its released number, where the table's reader expects it."""
    release = hours()
    (chart,) = maps_of(release)
    cells = release.value.table("place", "hour").counts
    shown = np.zeros(cells.shape)
    for area in chart.areas:
        least = float(area.name.removeprefix("≥ ").replace("k", "000"))
        for x, y in zip(area.x, area.y, strict=True):  # runs of cells from top to bottom
            rows = slice(int(12 - y.max()), int(12 - y.min()))
            shown[rows, int(x.min()) : int(x.max())] = least
    steps = np.unique(shown[shown > 0])
    assert len(steps) > 3
    for cell, least in zip(cells.ravel(), shown.ravel(), strict=True):
        above = steps[steps > least]
        assert cell >= least or not least
        assert not len(above) or cell < above[0]
    assert not shown[0].any()  # noise alone is blank
    assert steps[0] >= 1.96 * release.value.cell_error(["place", "hour"])
    assert f"Blank cells have fewer than {steps[0]:,.0f}; ±" in chart.text
    assert isinstance(chart.y.ticks, list)
    assert chart.y.ticks[0] == (11.5, "place 00")
    assert "Records by place, from top to bottom, and hour" in report_html(release)


def test_maps_are_of_tables_that_are_large_and_readable() -> None:
    few = {"place": range(7), "hour": range(8)}
    many = {"place": range(8), "hour": range(61)}
    for keys in (few, many):
        shape = tuple(map(len, keys.values()))
        made = dh.Tables(rho=1, keys=keys, tables=["place+hour"])
        assert not maps_of(made.release(np.full(shape, 9)))
    keys = {name: range(8) for name in "abcd"}
    pairs = ["a+b", "b+c", "c+d", "a+c+d"]
    made = dh.Tables(rho=1, keys=keys, tables=pairs)
    assert len(maps_of(made.release(np.ones((8,) * 4, int)))) == 2


def test_a_map_of_noise_is_blank_and_one_of_like_cells_has_even_steps() -> None:
    keys = {"a": range(8), "b": range(8)}
    made = dh.Tables(rho=1, keys=keys, tables=["a+b"])
    empty = maps_of(made.release(np.zeros((8, 8), int), random.Random(3).randbytes))[0]
    if empty.areas:  # one of 64 cells may stand out
        assert sum(len(area.x) for area in empty.areas) < 5
    else:
        assert empty.empty == "no cell stands out from the noise"
    even = maps_of(made.release(np.arange(4100, 4164).reshape(8, 8) * 2))[0]
    assert [area.name for area in even.areas] == ["≥ 8k"]
    known = made.release(np.zeros((8, 8), int)).value.with_known({"a+b": np.full((8, 8), 3)})
    (exact,) = [
        c for c in draw_keys(known, describe_counted_records(None, 1)) if c.name == "map_0_1"
    ]
    assert "noise" not in exact.text
    assert [area.name for area in exact.areas] == ["≥ 3"]
