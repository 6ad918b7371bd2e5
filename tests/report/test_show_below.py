"""Small estimates that are not written, and nothing else that tells them."""

import csv
import io
import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pytest

import dphist as dh
from dphist.cli import main
from dphist.release.label_table import LabelTable
from dphist.report import report_html, summary_text
from dphist.report.table_files import table_file
from tests.support.report.table_files import sheets_of

KEYS = {"town": ["A", "B"], "sex": ["f", "m"]}
TABLES = dh.Tables(epsilon=1, delta="1e-6", keys=KEYS, tables=["town+sex", "town"])
RELEASE = TABLES.release([[4000, 0], [300, 0]])
SMALL = 200


def rows(text: str | None) -> list[dict[str, str]]:
    assert text is not None
    return list(csv.DictReader(io.StringIO(text)))


def test_cells_below_it_are_alike() -> None:
    shown, plain = rows(RELEASE.to_csv(show_below=SMALL)), rows(RELEASE.to_csv())
    hidden = [row for row in shown if row["count"] == f"<{SMALL}"]
    assert [row["sex"] for row in hidden] == ["m", "m"]
    assert len({(row["error"], row["low"], row["high"]) for row in hidden}) == 1
    for row, before in zip(shown, plain, strict=True):
        if row in hidden:
            assert float(before["count"]) < SMALL
            assert (row["low"], row["high"]) == ("", "")
            assert row["error"] == before["error"]
        else:
            assert row == before


@pytest.mark.parametrize("cell", [[[5, 9], [300, 0]], [[12, 100], [7, 90]]])
def test_no_number_of_a_hidden_cell_depends_on_its_estimate(cell: list[list[int]]) -> None:
    first, other = (
        rows(TABLES.release(each).to_csv(show_below=10**6)) for each in (cell, [[0, 1], [2, 3]])
    )
    assert first == other


def test_labels_below_it_have_nothing_beside_them() -> None:
    labels = ["a", "b", "c"]
    counts = dh.LabelCounts.from_table(
        {"label": ["a"] * 900 + ["b"], "user": list(range(901))},
        label="label",
        user="user",
        max_labels=1,
        users_by_labels=9,
    )
    mechanism = dh.calibrate(
        dh.ThresholdHistogram, epsilon=1, delta=0, max_labels=1, labels=labels, users_by_labels=9
    )
    release = mechanism.release(counts)
    found = {row["label"]: row for row in rows(release.to_csv(show_below=100))}
    assert int(found["a"]["count"]) > 800
    assert found["a"]["low"] != ""
    for label in ("b", "c"):
        assert found[label]["count"] == "<100"
        assert {text for name, text in found[label].items() if name not in ("label", "count")} == {
            ""
        }


def surfaces_of(release: dh.Release, below: int | None) -> dict[str, str]:
    """Return all that is written of a release for people, links and sheets as texts."""
    content = table_file(release, ".xlsx", show_below=below)
    assert isinstance(content, bytes)
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        parts = [book.read(name).decode() for name in book.namelist() if "docProps" not in name]
    return {
        "page": unquote(report_html(release, below)),
        "terminal": summary_text(release, below),
        "csv": str(release.to_csv(show_below=below)),
        "xlsx": "\n".join(parts),
    }


def written(number: float) -> set[str]:
    """Return how surfaces write a number."""
    return {f"{number:,.1f}", f"{number:.3f}", f"{number!r}", f"{number:,.0f}", f"{number:.0f}"}


def find_written(numbers: set[str], text: str) -> list[str]:
    """Return which numbers a text tells, as numbers of their own or with more digits behind."""
    every = "|".join(map(re.escape, sorted(numbers, key=len, reverse=True)))
    return re.findall(rf"(?<![\d.])(?:{every})(?!\d)", text)


WIDE = {"town": ["A", "B"], "sex": ["f", "m"], "age": [*"12345"]}


def tables_of(cells: Any, **more: Any) -> dh.Release:
    """Return tables that pages draw with bars, small multiples, sums and files."""
    asked = dh.Tables(epsilon=1, delta="1e-6", keys=WIDE, tables=["town+sex+age", "town"], **more)
    return asked.release(cells)


def test_no_surface_of_tables_has_a_number_of_a_cell_below_it() -> None:
    cells = [[[7_000 + 300 * age] * 2 for age in range(5)] for _ in range(2)]
    small = {(0, 0, 2): 3_123, (1, 1, 4): 2_345, (0, 1, 0): 3_456}
    counts = [[[row[sex] for row in town] for sex in (0, 1)] for town in cells]
    for (town, sex, age), count in small.items():
        counts[town][sex][age] = count
    release, below = tables_of(counts), 4_000
    table = release.value.table("town", "sex", "age")
    telling: set[str] = set()
    for row in table.to_pandas().itertuples():
        if row.count < below:
            telling |= written(row.count) | written(row.low) | written(row.high)
    assert len(telling) >= 3 * 3 * 3
    shown, plain = surfaces_of(release, below), surfaces_of(release, None)
    for name, text in shown.items():
        assert not find_written(telling, text), name
        assert find_written(telling, plain[name]), name
        assert text.replace("&lt;", "<").count(f"<{below}") >= (1 if name == "xlsx" else 3), name
    assert "<svg" in plain["page"]
    assert "<svg" not in shown["page"]
    assert "whole-numbers" in plain["page"]
    assert "whole-numbers" not in shown["page"]
    assert "adds no privacy" in shown["page"]


@pytest.mark.parametrize("more", [{}, {"sums": {"x": dh.Clamp(0, 9, step=1)}}])
def test_no_surface_depends_on_tables_that_are_below_it(more: dict[str, Any]) -> None:
    people = [("A", "f", "1", 3), ("B", "m", "2", 5)]
    names = ["town", "sex", "age", "x"]

    def release(times: int) -> dh.Release:
        rows = dict(zip(names, map(list, zip(*people * times, strict=True)), strict=True))
        data = dh.KeyedCounts.from_table(rows, keys=WIDE, **more)
        made = tables_of(data, **more)
        return replace(made, presentation=replace(made.presentation, date=None))

    first, other = (surfaces_of(release(times), 10**6) for times in (1, 99))
    assert first == other
    assert surfaces_of(release(1), None) != surfaces_of(release(99), None)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_no_surface_depends_on_the_count_of_a_label_below_it(at: int) -> None:
    """With one label below it, the two next to it, or all: the rest stays in sight."""
    labels = ["a", "b", "c"]
    data = dh.LabelCounts.from_counts(labels, [900, 800, 700], max_labels=1, max_count=1)
    made = dh.ThresholdHistogram(epsilon=1, delta=0, max_labels=1, labels=labels).release(data)

    def altered(*counts: int) -> dh.Release:
        shown = [*[900, 800, 700][:at], *counts[at:]]
        return replace(made, value=LabelTable(pa.table({"label": labels, "count": shown})))

    first, other = (surfaces_of(altered(*counts), 100) for counts in ((40, 30, 20), (66, 55, 44)))
    assert first == other
    plain = surfaces_of(altered(40, 30, 20), None), surfaces_of(altered(66, 55, 44), None)
    assert all(plain[0][name] != plain[1][name] for name in first)


def test_bars_and_intervals_of_a_label_below_it_are_left_out() -> None:
    data = dh.LabelCounts.from_counts(["a", "b"], [90_000, 31_234], max_labels=1, max_count=1)
    made = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1).release(data)
    page = report_html(made, 40_000)
    assert page.count("<svg") == 2  # a bar each, one of them empty
    assert page.count('width="0.00"') == 1
    bounds: Any = made.mechanism.intervals(made)
    for number in (int(made.value.counts[1]), bounds.lower[1], bounds.upper[1]):
        assert f"{number:,}" in report_html(made)
        assert f"{number:,}" not in page


def test_cells_of_a_workbook_are_numbers_or_the_text() -> None:
    content = table_file(RELEASE, ".xlsx", show_below=SMALL)
    assert isinstance(content, bytes)
    _, *found = sheets_of(content)["town+sex"]
    for row, cell in zip(found, RELEASE.value.table("town", "sex").counts.ravel(), strict=True):
        if cell < SMALL:
            assert row["C"] == f"<{SMALL}"
            assert set(row) == {*"ABCD"}  # the error stands, the interval does not
        else:
            assert row["C"] == pytest.approx(cell)
            assert set(row) == {*"ABCDEF"}


def test_other_kinds_have_none() -> None:
    release = dh.LeafCounts(epsilon=1, bins=2).release([3, 4])
    with pytest.raises(dh.UnsupportedError, match="this release has no table in which"):
        release.to_csv(show_below=10)
    with pytest.raises(dh.ParameterError, match="show_below must be at least 1"):
        RELEASE.to_csv(show_below=0)
    for write in (report_html, summary_text):
        with pytest.raises(dh.UnsupportedError, match="this release has no table in which"):
            write(release, 10)


def test_of_a_saved_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    RELEASE.save("r.json")
    given = ["show", "r.json", "--show-below", str(SMALL)]
    assert main([*given, "--table", "t.csv"]) == 0
    assert rows(Path("t.csv").read_text()) == rows(RELEASE.to_csv(show_below=SMALL))
    capsys.readouterr()
    assert main(given) == 0
    assert f"<{SMALL}" in capsys.readouterr().out
    assert main([*given, "--json"]) == 2
    assert "--show-below needs --table or --report" in capsys.readouterr().err
    for name in ("t.parquet", "t.sdmx.csv"):
        assert main([*given, "--table", name]) == 2
        assert "--show-below needs a --table whose name ends in .csv or" in capsys.readouterr().err
    assert main([*given, "--report", "p.html", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == json.loads(RELEASE.to_json())["value"]
    assert Path("p.html").read_text() == report_html(RELEASE, SMALL)
    assert main([*given, "--table", "s.csv", "--spreadsheet-safe"]) == 0
    assert f"'<{SMALL}" in Path("s.csv").read_text()


def test_of_a_new_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text("town,sex\n" + "A,f\n" * 900 + "B,m\n")
    given = ["tables", "d.csv", "--axis", "town=A,B", "--axis", "sex=f,m", "--tables", "town+sex"]
    given += ["--each-row-is-one-person", "--epsilon", "1", "--show-below", "100"]
    assert main([*given, "--table", "t.csv", "--quiet"]) == 0
    counts = [row["count"] for row in rows(Path("t.csv").read_text())]
    assert counts.count("<100") == 3
