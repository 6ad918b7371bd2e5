"""The page of tables: headings over rows, small multiples on one scale, and files to download."""

import csv
import html
import io
import random
import re
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest

import dphist as dh
from dphist.document.blocks import Figures, File
from dphist.document.csv_rows import MARK
from dphist.document.unit_words import describe_counted_records
from dphist.render.html import link_to
from dphist.report import report_html
from dphist.tables import downloads as offered
from dphist.tables.downloads import make_files
from dphist.tables.multiples import draw_multiples

HOSTILE = ["=1+1", "+2", "-3", "@x", 'a,"b"', "two\nlines", "x;=1", "#7%"]
KEYS: dict[str, Any] = {
    "place/=of": HOSTILE,
    "sex": ["f", "m"],
    "age": dh.Axis.regular(0, 60, 10),
}
TABLES = [["place/=of", "sex", "age"], ["sex"], ["place/=of", "sex"]]


def made(**more: Any) -> dh.Release:
    mechanism = dh.Tables(rho=1, **{"keys": KEYS, "tables": TABLES, **more})
    counts = np.arange(np.prod(mechanism.keys.shape)) * 5
    return mechanism.release(counts.reshape(mechanism.keys.shape), random.Random(4).randbytes)


def downloads(page: str) -> dict[str, list[list[str]]]:
    """Return the rows of each file that a page offers."""
    found = {}
    for name, address in re.findall(r'<a download="([^"]*)" href="([^"]*)"', page):
        head, data = html.unescape(address).split(",", 1)
        assert head == "data:text/csv;charset=utf-8"
        text = unquote(data, errors="strict")
        assert text.startswith(MARK)
        found[name] = list(csv.reader(io.StringIO(text.removeprefix(MARK), newline="")))
    return found


@pytest.fixture(scope="module")
def release() -> dh.Release:
    return made()


@pytest.fixture(scope="module")
def page(release: dh.Release) -> str:
    return report_html(release)


def test_each_table_can_be_downloaded_with_its_intervals(release: dh.Release, page: str) -> None:
    files = downloads(page)
    assert [name for name in files if "whole" not in name] == [
        "counts-by-place-of-and-sex-and-age.csv",
        "counts-by-sex.csv",
        "counts-by-place-of-and-sex.csv",
    ]
    head, *rows = files["counts-by-place-of-and-sex.csv"]
    shown = release.value.table("place/=of", "sex").to_arrow()
    assert head == ["place/=of", "sex", "count", "error", "low", "high"]
    labels = [re.sub(r"(^|[;\n])'", r"\1", row[0]) for row in rows]
    assert labels == shown["place/=of"].to_pylist()
    for at, name in enumerate(("count", "low", "high")):
        column = (2, 4, 5)[at]
        assert [float(row[column]) for row in rows] == pytest.approx(
            shown[name].to_pylist(), abs=6e-4
        )
    head, *rows = files["counts-by-place-of-and-sex-and-age.csv"]
    assert head[2:4] == ["age_start", "age_stop"]
    assert [rows[1][2], rows[1][3], len(rows)] == ["10", "20", 96]  # a number, and no text


def test_no_cell_of_a_file_is_a_formula(page: str) -> None:
    for rows in downloads(page).values():
        for cell in {cell for row in rows for cell in row}:
            assert cell[0] not in "=+@\t\r\n", cell
            assert cell[0] != "-" or float(cell) < 0


def test_whole_numbers_have_files_that_say_so(release: dh.Release, page: str) -> None:
    whole = release.value.to_whole_numbers()
    files = {name: rows for name, rows in downloads(page).items() if "whole" in name}
    head, *rows = files["counts-by-sex-whole-numbers.csv"]
    assert head == ["sex", "count_made_whole"]
    assert [row[1] for row in rows] == [str(n) for n in whole.table("sex").counts.tolist()]
    assert len(files) == 3
    assert page.count("in whole numbers that add up: biased, without intervals") == 3


def test_files_are_left_out_where_a_page_has_no_room(
    release: dh.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By released numbers and public sizes alone, and never a part of a file."""
    monkeypatch.setattr(offered, "MOST_CELLS", 113)
    monkeypatch.setattr(offered, "MOST_ROWS", 20)
    sizes = [len(files) for files in make_files(release.value).values()]
    assert sizes == [0, 1, 1]
    monkeypatch.setattr(offered, "MOST_ROWS", 17)
    assert [len(files) for files in make_files(release.value).values()] == [0, 1, 0]
    assert link_to(File("a.csv", "", lambda: "x" * 2**21)) == ""
    assert link_to(File("a.csv", "", lambda: "#%?&\n")).endswith(",%23%25%3F%26%0A")


def test_files_of_tables_with_like_names_have_names_of_their_own() -> None:
    keys = {"a b": [1, 2], "a-b": [1, 2], "A b": [1, 2], "../x": [1, 2]}
    found = make_files(made(keys=keys, tables=[[name] for name in keys]).value)
    names = [file.name for files in found.values() for file in files]
    assert len({name.casefold() for name in names}) == 8
    assert all(re.fullmatch(r"counts-by-[\w-]+\.csv", name) for name in names)


def test_headings_of_rows_stand_once_over_their_group(page: str) -> None:
    """A first heading spans its rows, in a body of its own; the next one heads each row."""
    (table,) = (t for t in re.findall(r"(?s)<table.*?</table>", page) if ">age</th>" in t)
    assert table.count("<tbody>") == 8
    assert table.count('<th scope="rowgroup" rowspan="2">') == 8
    assert table.count('<th scope="row" class="inner">') == 16
    assert table.count("<td>") == 16 * 7  # six ages, and together
    assert 'scope="colgroup" class="over" colspan="6">age<' in table
    rows = re.findall(r"<tr>(.*?)</tr>", table)
    assert [row.count("<th") for row in rows[2:6]] == [2, 1, 2, 1]
    (single,) = (t for t in re.findall(r"(?s)<table.*?</table>", page) if "by sex;" in t)
    assert "rowgroup" not in single
    assert single.count('<th scope="row">') == 2


def multiples(release: dh.Release) -> list[Figures]:
    return draw_multiples(release.value, describe_counted_records(None, 1))


def test_a_table_of_three_keys_is_a_map_for_each_value_of_the_smallest(
    release: dh.Release, page: str
) -> None:
    (found,) = multiples(release)
    assert [chart.title for chart in found.charts] == ["sex: f", "sex: m"]
    table = release.value.table("sex", "age", "place/=of").counts
    steps = [int(n) for n in re.findall(r"begin at ([\d, ]+)\.", found.text)[0].split(", ")]
    assert len(steps) > 2
    for place, chart in enumerate(found.charts):
        area = chart.areas[-1]  # the fullest color
        cells = np.zeros((6, 8), bool)
        for x, y in zip(area.x, area.y, strict=True):
            cells[int(x.min()) : int(x.max()), int(8 - y.max()) : int(8 - y.min())] = True
        shade = max(step for step in steps if (table[place] >= step).any())
        assert (cells == (table[place] >= shade)).all()
    error = release.value.cell_error(["sex", "age", "place/=of"])
    assert f"each number is ± {np.ceil(1.96 * error):.0f} (95 %)" in found.text
    assert page.count('<figure class="multiples">') == 1
    assert page.count('id="panel0-') > 2


def test_small_tables_of_three_keys_have_dots_on_one_scale() -> None:
    keys = {"sex": ["f", "m"], "paid": ["y", "n"], "place": list("ABCDEF")}
    release = made(keys=keys, tables=["sex+paid+place"])
    (found,) = multiples(release)
    table = release.value.table("sex", "paid", "place").counts
    assert [chart.title for chart in found.charts][1] == "sex: f, paid: n"
    assert len({(chart.x.low, chart.x.high) for chart in found.charts}) == 1
    assert found.charts[0].x.high > table.max()
    for chart, cells in zip(found.charts, table.reshape(4, 6), strict=True):
        np.testing.assert_array_equal(chart.lines[0].x, cells)
        assert (chart.spans[0].low < cells).all()
    assert "95 % intervals of ± " in found.text


def test_tables_too_large_for_small_charts_have_none() -> None:
    for sizes in ((13, 13, 13), (2, 7, 8), (5, 6, 41), (2, 4, 25)):
        keys = {name: range(size) for name, size in zip("abc", sizes, strict=True)}
        several = multiples(made(keys=keys, tables=["a+b+c"]))
        assert bool(several) == (sizes == (2, 7, 8))
    known = made(keys={"a": [1, 2], "b": [1, 2], "c": [1, 2]}, tables=["a+b+c"]).value
    exact = known.with_known({"a+b+c": np.full((2, 2, 2), 3)})
    assert not draw_multiples(exact, describe_counted_records(None, 1))
