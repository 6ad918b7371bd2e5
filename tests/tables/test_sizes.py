"""Sizes and faults of tables: what is refused before data are read, and what large ones take."""

import csv
import io
import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.cli import main
from dphist.document import csv_rows
from dphist.document.csv_rows import csv_field, safe_field
from dphist.noise import rounded_gaussian
from dphist.report import report_html, summary_text, table_csv
from dphist.tables import drawing, keys
from dphist.tables.kind import list_columns

DRUGS, PLACES = [f"drug {i}" for i in range(10**4)], [f"place {i}" for i in range(10**4)]


def test_sparse_domains_are_refused_with_what_to_ask_for_instead() -> None:
    """All cells get noise: 10**8 are refused, however few records there are."""
    asked: dict[str, Any] = {"keys": {"drug": DRUGS, "place": PLACES}, "tables": ["drug+place"]}
    for price in ({"rho": 1}, {"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}):
        with pytest.raises(dh.ParameterError) as caught:
            dh.Tables(**price, **asked)
        said = str(caught.value)
        assert said.startswith("tables are too large: they have 100,000,000 cells")
        for instead in ("tables of fewer keys", "fewer values", "dphist.DiscoverKeys", "delta"):
            assert instead in said
    dh.Tables(rho=1, keys=asked["keys"], tables=["drug", "place"])
    dh.Tables(rho=1, keys={"drug": DRUGS[:-1], "place": PLACES}, tables=["drug+place"])
    searched = dh.DiscoverKeys(share=".3", max_found=20_000)
    with pytest.raises(dh.ParameterError, match="a smaller max_found"):
        dh.Tables(
            rho=1, delta="1e-6", keys={"drug": searched, "place": PLACES}, tables=["drug+place"]
        )


def test_what_is_to_be_asked_instead_serves_a_sparse_domain() -> None:
    draw = np.random.default_rng(1)
    common = draw.random(100_000) < 0.9
    rows = pd.DataFrame(
        {
            "drug": [DRUGS[i] for i in np.where(common, 7, draw.integers(0, 10**4, 10**5))],
            "place": [PLACES[i] for i in draw.integers(0, 10**4, 10**5)],
        }
    )
    mechanism = dh.Tables(
        epsilon=1,
        delta="1e-6",
        keys={"drug": dh.DiscoverKeys(share=".3"), "place": dh.DiscoverKeys(share=".3")},
        tables=["drug+place"],
    )
    counts = dh.KeyedCounts.from_table(rows, keys=mechanism.keys)
    value = mechanism.release(counts).value
    assert "drug 7" in value.keys["drug"].labels
    assert len(value.table("drug", "place")) < 1000


def test_a_key_with_too_many_values_is_refused_before_they_are_made() -> None:
    with pytest.raises(dh.ParameterError, match="at most 10,000,000 values of 'number'"):
        keys.Keys.read({"number": range(10**15)})


FAULTS: dict[str, tuple[list[str], int, str]] = {
    "a value twice": (["--axis", "sex=f,f", "--tables", "sex"], 2, "each value of 'sex' once"),
    "twice in a file": (["--axis", "sex=@twice.txt", "--tables", "sex"], 2, "each value of 'sex'"),
    "no value": (["--axis", "sex=", "--tables", "sex"], 2, "--axis must be written as NAME=VALUES"),
    "an empty value": (["--axis", "sex=f,", "--tables", "sex"], 2, "that are not empty"),
    "an empty file": (["--axis", "sex=@empty.txt", "--tables", "sex"], 1, "one value of a key"),
    "a key twice": (
        ["--axis", "sex=f,m", "--axis", "sex=f,m", "--tables", "sex"],
        2,
        "'sex' is given twice",
    ),
    "a table twice": (
        ["--axis", "sex=f,m", "--axis", "age=0:90:10", "--tables", "sex+age,age+sex"],
        2,
        "--tables must list each table once: 'sex+age' is asked twice",
    ),
    "many cells": (
        ["--axis", "drug=@drugs.txt", "--axis", "place=@places.txt", "--tables", "drug+place"],
        2,
        "--tables are too large: they have 100,000,000 cells, which all get noise, with or without "
        "records; they must have fewer than 100,000,000; ask for tables of fewer keys, keys of "
        "fewer values (such as groups of them), or only the values that enough records have: with "
        "a delta, give the largest key as dphist.DiscoverKeys, typed NAME=discover:SHARE",
    ),
    "many cells of values found": (
        ["--axis", "a=discover:.3:20000", "--axis", "place=@places.txt", "--tables", "a+place"],
        2,
        "NAME=discover:SHARE:N",
    ),
    "many bins": (["--axis", "age=0:100000000:1", "--tables", "age"], 2, "at most 67108864 bins"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_cost_nothing_and_no_data_are_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file of the data does not exist: reading it would be the error."""
    monkeypatch.chdir(tmp_path)
    texts = {"twice": ["f", "m", "f"], "empty": [], "drugs": DRUGS, "places": PLACES}
    for file, lines in texts.items():
        Path(f"{file}.txt").write_text("".join(f"{line}\n" for line in lines))
    ledger = dh.Ledger.create("own.ledger", epsilon=9, delta="1e-3", unit="one record")
    before = len(ledger.entries())
    typed, code, said = FAULTS[name]
    paid = [
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "--ledger",
        "own.ledger",
        "--by",
        "me",
        "--key",
        "k",
    ]
    outputs = ["--output", "r.json", "--table", "t.csv", "--report", "p.html"]
    given = ["tables", "no.csv", "--each-row-is-one-person", *typed, *paid, *outputs]
    assert main(given) == code
    assert said in re.sub(r"\s+", " ", capsys.readouterr().err)
    assert len(ledger.entries()) == before
    assert not any(Path(path).exists() for path in ("r.json", "t.csv", "p.html"))


def test_a_key_with_one_value_is_dropped_and_every_surface_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.csv").write_text("sex,land\n" + "f,CH\nm,CH\n" * 50)
    asked = [
        *("tables", str(tmp_path / "rows.csv"), "--each-row-is-one-person", "--rho", "50"),
        *("--axis", "sex=f,m", "--axis", "land=CH", "--tables", "sex,sex+land"),
    ]
    said = "land has one value, which every record has: no noise was spent on it."
    assert main([*asked, "--dry-run"]) in (0, None)
    assert said in re.sub(r"\s+", " ", capsys.readouterr().out)
    assert main([*asked, "--dry-run", "--json"]) in (0, None)
    assert json.loads(capsys.readouterr().out)["dropped"] == ["land"]
    assert main([*asked, "--output", str(tmp_path / "r.json"), "--json"]) in (0, None)
    assert json.loads(capsys.readouterr().out)["dropped"] == ["land"]
    release = dh.Release.load(tmp_path / "r.json")
    for shown in (report_html(release), summary_text(release)):
        assert said in re.sub(r"\s+", " ", re.sub("<[^>]*>", "", shown))
    assert release.mechanism.dropped == ("land",)
    assert release.value.table("land", "sex").counts.shape == (1, 2)
    assert [*release.noisy] == ["", "sex"]


def test_pages_say_that_keys_taken_from_the_data_cannot_be_seen() -> None:
    taken = "If they were taken from the data, the guarantee does not cover what they reveal"
    mechanism = dh.Tables(rho=1, keys={"sex": ["f", "m"]}, tables=["sex"])
    release = mechanism.release([5, 5])
    page = re.sub(r"\s+", " ", re.sub("<[^>]*>", "", report_html(release)))
    assert f"{taken}, and nothing here shows it." in page
    assert "keys or impossible combinations that were taken from the data" in re.sub(
        r"\s+", " ", str(dh.Tables.__doc__)
    )


def test_sums_stop_at_the_largest_number() -> None:
    """From counts to tables: the largest counts add up to no more than 2**62 - 1."""
    most = 2**62 - 1
    prices: tuple[dict[str, Any], ...] = ({"rho": 50}, {"epsilon": 20})
    for price in prices:
        asked = dh.Tables(**price, keys={"a": [1, 2], "b": [1, 2, 3]}, tables=["a", "b"])
        value = asked.release(np.full((2, 3), most)).value
        assert abs(value.total / most - 1) < 1e-9
        assert np.allclose(value.table("a").counts, most / 2)


@pytest.mark.parametrize("field", [csv_field, safe_field])
@pytest.mark.parametrize("impossible", [None, [{"a": "x,", "b": True}]])
def test_the_csv_is_that_of_the_frame_in_pieces(
    field: Any, impossible: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are written some at a time, of each table by itself, and columns named without cells."""
    monkeypatch.setattr(csv_rows, "_PIECE", 7)
    axis = dh.Axis.regular("2024-01-01", "2024-01-06", "1d")
    held = dh.KeyedCounts.from_counts(
        np.ones((3, 2, 5, 1, 2), int),
        keys={"a": ["x,", "", "=1"], "b": [True, False], "c": axis, "one": [7], "no": [1, 2]},
    )
    given: dict[str, Any] = {"keys": held.keys, "tables": ["c", "a+b+one", "a+c", []]}
    ranged: list[dict[str, Any]] = [{}, {"ranges": ["c"]}]
    for more in ranged:
        value = dh.Tables(rho=1, impossible=impossible, **given, **more).release(held).value
        frame = value.to_arrow()
        assert list_columns(value) == frame.column_names
        lines = csv_rows.write_csv(frame, field).split("\n")
        assert lines[0] == ",".join(map(field, frame.column_names))
        assert lines[-1] == ""
        wanted = []

        def write(cell: Any) -> str:
            if isinstance(cell, bool):
                return str(cell).lower()
            return field(cell) if isinstance(cell, str) else "" if cell is None else f"{cell}"

        for row in frame.to_pylist():
            numbers = [
                f"{row[n]:.{d}}" for n, d in zip(("count", "error"), ("3f", "6g"), strict=True)
            ]
            numbers += [f"{row[n]:.3f}" for n in ("low", "high")]
            labels = [
                write(cell)
                for name, cell in row.items()
                if name not in ("count", "error", "low", "high", "impossible")
            ]
            marks = [] if impossible is None else ["true" if row["impossible"] else "false"]
            wanted.append(",".join([*labels, *numbers, *marks]))
        assert lines[1:-1] == wanted


def test_few_rows_are_python_objects_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of 200,000 cells is written in four pieces: 10**7 cells took 11 GB at once."""
    sizes = []
    write = csv_rows.write_column

    def watch(name: str, column: Any, field: Any) -> Any:
        sizes.extend([len(column)] if name == "count" else [])
        return write(name, column, field)

    monkeypatch.setattr(csv_rows, "write_column", watch)
    asked = dh.Tables(rho=1, keys={"a": range(500), "b": range(400)}, tables=["a+b"])
    text = table_csv(asked.release(np.zeros((500, 400), int)))
    assert sizes == [65536] * 3 + [200_000 - 3 * 65536]
    assert sum(1 for _ in csv.reader(io.StringIO(text))) == 200_001


def test_work_is_that_of_the_tables_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 10**12 cells of the domain, two-way tables draw as many numbers as they have cells."""
    drawn = []

    def watch(scale: Any, size: int, source: Any) -> Any:
        drawn.append(size)
        return rounded_gaussian(scale, size, source)

    monkeypatch.setattr(drawing, "rounded_gaussian", watch)
    names = [f"k{i}" for i in range(10)]
    pairs = [[one, two] for i, one in enumerate(names) for two in names[:i]]
    mechanism = dh.Tables(rho=1, keys={name: range(16) for name in names}, tables=pairs)
    cells = np.array(sorted(random.Random(1).sample(range(16**10), 10_000)))
    value = mechanism.release(
        dh.KeyedCounts(mechanism.keys, cells, np.ones(10_000, np.int64))
    ).value
    assert sum(drawn) == 1 + 10 * 15 + 45 * 15**2
    assert abs(value.table("k3", "k7").counts.sum() - 10_000) < 200
