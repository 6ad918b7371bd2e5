"""Tables as workbooks, Parquet and SDMX-CSV: the same numbers as CSV, and what they promise."""

import csv
import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import dphist as dh
from dphist.cli import main
from dphist.document.kind import find_kind
from dphist.render import spreadsheet
from dphist.report.table_files import table_file
from tests.support.report.table_files import MADE, labels, ranges, sheets_of, tables

STREAM = ["stream", "--epsilon", "1", "--delta", "1e-6", "--horizon", "9"]


each_kind = pytest.mark.parametrize("release", [each() for each in MADE.values()], ids=MADE)


def _character(code: re.Match[str]) -> str:
    """Return the character that a workbook holds as _x000D_, say."""
    return chr(int(code[1], 16))


@each_kind
def test_no_cell_is_a_formula_or_a_link(release: dh.Release) -> None:
    content = table_file(release, ".xlsx")
    assert isinstance(content, bytes)
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        for name in book.namelist():
            if name.startswith("xl/worksheets/"):
                assert not re.search(rb"<f[ >/]|hyperlink", book.read(name)), name


def test_labels_and_numbers_are_what_they_are() -> None:
    release = labels()
    content = table_file(release, ".xlsx")
    assert isinstance(content, bytes)
    head, *rows = sheets_of(content)["Table"]
    assert list(head.values()) == ["label", "count", "low (95 %)", "high (95 %)"]
    texts = [re.sub("_x([0-9A-F]{4})_", _character, str(row.get("A", ""))) for row in rows]
    assert texts == release.value.labels
    bounds = release.mechanism.intervals(release)
    for name, numbers in zip(
        "BCD", (release.value.counts, bounds.lower, bounds.upper), strict=True
    ):
        assert [row[name] for row in rows] == numbers.tolist()


@pytest.mark.parametrize("noise", ["truncated", "optimal"])
def test_noise_that_ends_has_intervals_of_the_heading(noise: Any) -> None:
    """They are at 95 %, as of other noise, and not the bounds that always hold."""
    mechanism = dh.ThresholdHistogram(epsilon="0.5", delta="1e-6", noise=noise, max_labels=1)
    release = mechanism.release({"label": ["a", "b"], "count": [400, 300]})
    content = table_file(release, ".xlsx")
    assert isinstance(content, bytes)
    _, *rows = sheets_of(content)["Table"]
    found = mechanism.intervals(release, 0.95)
    assert found.upper.tolist() < mechanism.intervals(release, 1).upper.tolist()
    assert [(row["C"], row["D"]) for row in rows] == [*zip(found.lower, found.upper, strict=True)]
    lines = csv.DictReader(release.to_csv().splitlines())
    assert [(int(row["low"]), int(row["high"])) for row in lines] == [
        *zip(found.lower, found.upper, strict=True)
    ]


def test_each_table_has_a_sheet_without_what_it_does_not_use() -> None:
    release = tables()
    content = table_file(release, ".xlsx")
    assert isinstance(content, bytes)
    found = sheets_of(content)
    assert list(found) == ["sex", "sex+âge", "âge+day", "n", "all", spreadsheet.GUIDE]
    head, *rows = found["sex+âge"]
    numbers = ["count", "standard error", "low (95 %)", "high (95 %)"]
    assert list(head.values()) == ["sex", "âge_start", "âge_stop", *numbers]
    counts = release.value.table("sex", "âge").counts.ravel().tolist()
    assert [row["D"] for row in rows] == pytest.approx(counts, rel=1e-14)
    assert [row["A"] for row in found["n"][1:]] == [7.0, str(2**60)]  # floats would change it
    assert found["âge+day"][1]["C"] == 45292  # 2024-01-01 as spreadsheets count days


def test_how_to_read_it_is_what_the_page_says() -> None:
    content = table_file(labels(), ".xlsx")
    assert isinstance(content, bytes)
    said = [cell for row in sheets_of(content)[spreadsheet.GUIDE] for cell in row.values()]
    assert said[0] == "Drugs of patients"
    assert any("what anyone can learn about one patient" in str(text) for text in said)
    assert any("One patient adds at most 1 to at most one label" in str(text) for text in said)
    assert any("Each interval reaches" in str(text) for text in said)
    assert {"What is guaranteed", "What is not covered", "Owner", "Health office"} <= set(said)
    assert not any(re.search(r"\{\w+\}", str(text)) for text in said)  # every slot is filled


def test_a_sheet_says_nothing_of_pictures() -> None:
    content = table_file(labels(), ".xlsx", show_below=1000)
    assert isinstance(content, bytes)
    said = [str(cell) for row in sheets_of(content)[spreadsheet.GUIDE] for cell in row.values()]
    assert any("written <1000, as a rule asks" in text for text in said)
    assert not any("picture" in text for text in said)


def test_long_tables_go_on_on_the_next_sheet_and_names_are_excels(monkeypatch) -> None:
    monkeypatch.setattr(spreadsheet, "_ROWS", 3)
    content = table_file(ranges(), ".xlsx")
    assert isinstance(content, bytes)
    assert list(sheets_of(content)) == ["Table", "Table (2)", "Table (3)", spreadsheet.GUIDE]
    taken = {"history"}
    names = [spreadsheet._name_sheet(name, taken) for name in ("a/b", "A b", "[]", "'", "x" * 99)]
    assert names == ["a b", "A b (2)", "Table", "Table (2)", "x" * 24]
    assert spreadsheet._name_sheet("History", taken) == "History (2)"


@each_kind
def test_parquet_has_the_same_table_and_says_what_is_guaranteed(release, tmp_path: Path) -> None:
    release.to_parquet(tmp_path / "t.parquet")
    read = parquet.read_table(tmp_path / "t.parquet")
    assert read.equals(find_kind(release).table(release))
    said = json.loads(read.schema.metadata[b"dphist"])
    content = json.loads(release.to_json())
    for name in ("guarantee", "unit", "mechanism", "library_version", "kind"):
        assert said[name] == content[name]
    assert said["random_bits"] == content["random_bits"]
    assert said["said"].startswith("Noise limits")


@each_kind
def test_sdmx_csv_keeps_to_the_specification(release: dh.Release) -> None:
    text = release.to_sdmx_csv(structure="ESTAT:NA_MAIN(1.6.0)")
    head, *rows = csv.reader(io.StringIO(text))
    assert head[:3] == ["STRUCTURE", "STRUCTURE_ID", "ACTION"]
    assert len(set(head)) == len(head)
    assert all(re.fullmatch("[A-Z][A-Z0-9_]*", name) for name in head)
    assert all(len(row) == len(head) for row in rows)
    assert {tuple(row[:3]) for row in rows} == {("dataflow", "ESTAT:NA_MAIN(1.6.0)", "M")}
    keys = [tuple(row[3 : head.index("OBS_VALUE")]) for row in rows]
    assert all(all(key) for key in keys)  # no dimension is left out
    assert len(set(keys)) == len(keys) == len(find_kind(release).table(release))
    assert {row[head.index("OBS_STATUS")] for row in rows} == {"E"}
    table = find_kind(release).table(release)
    value = table["prevalence" if "prevalence" in table.column_names else "count"]
    numbers = [float(row[head.index("OBS_VALUE")]) for row in rows]
    assert numbers == pytest.approx(value.to_pylist(), abs=5e-4)
    assert {"LOW", "HIGH", "GUARANTEE", "PRIVACY_UNIT"} <= set(head)


def test_sdmx_marks_all_values_others_and_texts_that_would_be_taken_for_marks() -> None:
    keys = {"a": ["_T", "", "x"], "b": dh.Axis.regular(0, 40, 20)}
    rows = pa.table({"a": ["_T", "", "x"], "b": [1, 30, 99]})
    held = dh.KeyedCounts.from_table(rows, keys=keys, other=["b"])
    release = dh.Tables(rho=1, keys=held.keys, tables=["a", "b"]).release(held)
    _, *read = csv.reader(io.StringIO(release.to_sdmx_csv()))
    of_a = [(each, "_T", "_T") for each in ("__T", "_U", "x")]
    of_b = [("_T", "0", "20"), ("_T", "20", "40"), ("_T", "_O", "_O")]
    assert [tuple(row[3:6]) for row in read] == [*of_a, *of_b]


def test_a_ranking_has_no_observations_but_is_written() -> None:
    counts = dh.LabelCounts.from_counts(["a", "b"], [500, 400], max_labels=1, max_count=1)
    release = dh.TopLabels(epsilon=5, delta="1e-3", k=1).release(counts)
    head, *rows = csv.reader(io.StringIO(release.to_sdmx_csv()))
    assert head == ["STRUCTURE", "STRUCTURE_ID", "ACTION", "LABEL", "GUARANTEE", "PRIVACY_UNIT"]
    assert [row[3] for row in rows] == ["a"]


@pytest.mark.parametrize("structure", ["", "NA_MAIN", "A:B", "A:B(x)", "=A:B(1)", "A:B(1)\n"])
def test_a_structure_is_checked(structure: str, tmp_path: Path) -> None:
    with pytest.raises(dh.ParameterError, match="structure must be AGENCY:ID"):
        ranges().to_sdmx_csv(tmp_path / "t", structure=structure)
    assert not (tmp_path / "t").exists()


def test_files_are_whole_or_not_there(tmp_path: Path, monkeypatch) -> None:
    release = labels()
    release.to_xlsx(tmp_path / "t.xlsx")
    before = (tmp_path / "t.xlsx").read_bytes()
    monkeypatch.setattr(spreadsheet, "_write_guide", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        release.to_xlsx(tmp_path / "t.xlsx")
    assert (tmp_path / "t.xlsx").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["t.xlsx"]
    with pytest.raises(dh.OutputFileError, match="folder"):
        release.to_parquet(tmp_path / "none" / "t.parquet")


def test_the_ending_of_a_table_says_its_format(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    tables().save("r.json")
    for name in ("t.xlsx", "t.PARQUET", "t.sdmx.csv", "t.csv", "t.txt"):
        assert main(["show", "r.json", "--table", name, "--quiet"]) == 0
    assert Path("t.xlsx").read_bytes().startswith(b"PK")
    assert parquet.read_table("t.PARQUET").num_rows == 17
    assert ",DPHIST:TABLES(1.0.0),M,f," in Path("t.sdmx.csv").read_text()
    assert Path("t.txt").read_text() == Path("t.csv").read_text() == tables().to_csv()
    asked = ["show", "r.json", "--structure", "A:B(2)", "--quiet", "--table"]
    assert main([*asked, "u.sdmx.csv"]) == 0
    assert ",A:B(2),M,f," in Path("u.sdmx.csv").read_text()
    assert main([*asked, "u.csv"]) == 2
    assert "--structure needs a --table whose name ends in .sdmx.csv" in capsys.readouterr().err


def test_what_cannot_be_written_is_refused_before_data_are_read(
    tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text("label\na\n")
    labels = ["labels", "d.csv", "--label", "label", "--each-row-is-one-person"]
    asked = [*labels, "--epsilon", "1", "--delta", "1e-6", "--max-labels", "1", "--table"]
    monkeypatch.setattr(spreadsheet, "find_spec", lambda _: None)
    with dh.Ledger.create("a.ledger", epsilon=9, delta="1e-3", unit="row"):
        pass
    given = ["--ledger", "a.ledger", "--key", "k", "--by", "ana"]
    assert main([*asked, "t.xlsx", *given]) != 0
    assert "needs XlsxWriter: pip install 'dphist[excel]'" in capsys.readouterr().err
    assert main([*asked, "t.sdmx.csv", "--structure", "x", *given]) != 0
    assert "must be AGENCY:ID(VERSION)" in capsys.readouterr().err
    with dh.Ledger.open("a.ledger") as ledger:
        assert "charge" not in ledger.entries().to_arrow()["action"].to_pylist()
    for words in (["plan", "labels"], [*STREAM, "--state", "s"]):
        assert main([*words, "--table", "t.parquet"]) == 2
        assert "t.parquet must not end in .parquet" in capsys.readouterr().err


@pytest.mark.verify
def test_pysdmx_reads_it(tmp_path: Path) -> None:
    """The reader of an organization that maintains the standard."""
    from pysdmx.io import read_sdmx

    release = tables()
    release.to_sdmx_csv(tmp_path / "t.sdmx.csv", structure="ESTAT:NA_MAIN(1.6.0)")
    (found,) = read_sdmx(tmp_path / "t.sdmx.csv").get_datasets()
    assert found.short_urn == "Dataflow=ESTAT:NA_MAIN(1.6.0)"
    total = found.data[(found.data["SEX"] == "f") & (found.data["AGE_START"] == "_T")]
    (shown,) = total["OBS_VALUE"]
    assert float(shown) == pytest.approx(release.value.table("sex").counts[0], abs=5e-4)
