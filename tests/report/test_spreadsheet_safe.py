"""A spreadsheet-safe table: no text runs as a formula or changes, and all of it can be had back."""

import csv
import io
import re
from pathlib import Path

import pyarrow as pa
import pytest

import dphist as dh
from dphist.cli import main
from dphist.document.csv_rows import MARK, safe_field
from tests.support.report.spreadsheets import OTHERS, PARTS, WORDS


def without_apostrophes(field: str) -> str:
    """As `docs/reference/release-format.md` says."""
    return re.sub(r"(^|[;\t\r\n])'", r"\1", field)


def cells_of(text: str, separator: str) -> list[list[str]]:
    """Return what a program with this separator puts into cells."""
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))


@pytest.mark.parametrize("separator", list(",;\t"))
@pytest.mark.parametrize("ahead", ["", "60,"])
def test_no_cell_begins_as_a_formula(ahead, separator) -> None:
    """Also where another separator is expected, and quotes inside a cell are no quotes."""
    for label in [*WORDS, *OTHERS, *PARTS]:
        [*rows, last] = cells_of(f"{ahead}{safe_field(label)},5\nend\n", separator)
        assert last == ["end"]
        numbers = {"60", "5"} if separator == "," else set()
        for cell in {cell for row in rows for cell in row} - numbers:
            assert re.match(r"[^\W\d_]|'|60,", cell), (label, cell)


def test_words_are_as_they_are_and_others_have_an_apostrophe() -> None:
    for label in [*WORDS, *OTHERS, *PARTS]:
        [[field]] = cells_of(safe_field(label), ",")
        assert safe_field(label).startswith('"')
        assert (field == label) == (label in WORDS), label
        assert without_apostrophes(field) == label
    assert safe_field(None) == ""


def test_a_table_of_labels_can_be_had_back(tmp_path: Path, capsys) -> None:
    labels = [*WORDS, *OTHERS, *PARTS]
    data = dh.LabelCounts.from_counts(labels, [9000] * len(labels), max_labels=1, max_count=1)
    release = dh.ThresholdHistogram(epsilon=9, delta="1e-3", max_labels=1).release(data)
    exact, safe = release.to_csv(), release.to_csv(spreadsheet_safe=True)
    assert [row[0] for row in cells_of(exact, ",")] == ["label", *release.value.labels]
    assert safe.startswith(MARK)
    fields = [row[0] for row in cells_of(safe.removeprefix(MARK), ",")]
    assert list(map(without_apostrophes, fields)) == ["label", *release.value.labels]
    release.save(tmp_path / "r.json")
    for words, text in ([], exact), (["--spreadsheet-safe"], safe):
        path = tmp_path / f"{len(words)}.csv"
        assert main(["show", str(tmp_path / "r.json"), "--table", str(path), *words]) == 0
        assert path.read_bytes().decode() == text
        release.to_csv(path, spreadsheet_safe=bool(words))
        assert path.read_bytes().decode() == text
    capsys.readouterr()
    assert main(["show", str(tmp_path / "r.json"), "--spreadsheet-safe"]) == 2
    assert "--spreadsheet-safe needs --table" in capsys.readouterr().err


def test_tables_of_every_kind() -> None:
    binned = dh.bin_counts(
        pa.table({"a;=x": [1], "y": [1]}), column=["a;=x", "y"], edges=[[0, 2]] * 2
    )
    ranges = dh.LeafCounts(epsilon=1, bins=(1, 1)).release(binned)
    header = '"start_a;\'=x","stop_a;\'=x","start_y","stop_y","count","error","low","high"\n'
    assert ranges.to_csv(spreadsheet_safe=True).startswith(MARK + header)
    profile = dh.SortedCounts(epsilon=1, labels=3).release(dh.Profile.from_counts([3]))
    rows = profile.to_csv().removeprefix("count,prevalence,low,high\n")
    safe = MARK + '"count","prevalence","low","high"\n' + rows
    assert profile.to_csv(spreadsheet_safe=True) == safe
    stream = dh.ContinualHistogram(epsilon=9, delta="0.1", horizon=99)
    stream.update_many([["=1"]] * 60)
    stream.counts()
    assert '60,"\'=1",' in stream.release().to_csv(spreadsheet_safe=True)


@pytest.mark.parametrize("again", [[], ["--spreadsheet-safe"]])
@pytest.mark.quick(every=2)
def test_a_table_of_a_stream_is_replaced_in_either_form(
    again, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["stream", "--state", "s.db", "--epsilon", "9", "--delta", "0.1", "--horizon", "999"]
    for form in (["--spreadsheet-safe"], again, ["--spreadsheet-safe"]):
        Path("events").write_text("=1\n" * 60)
        with Path("events").open() as file:
            monkeypatch.setattr("sys.stdin", file)
            assert main([*words, "--table", "t.csv", "--quiet", *form]) == 0, capsys.readouterr()
        assert ('"\'=1"' in Path("t.csv").read_text()) == bool(form)


def test_words_in_a_ledger_are_no_formulas(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    with dh.Ledger.create("a.ledger", epsilon=1, unit="record") as ledger:
        data = dh.Profile.from_counts([3])
        ledger.release(dh.AdaptiveScan(epsilon="0.1"), data, by="=ann", key="k", note="+1")
    assert main(["ledger", "log", "a.ledger", "--csv", "--spreadsheet-safe"]) == 0
    out = capsys.readouterr().out
    assert '"\'=ann"' in out
    assert '"\'+1"' in out
    assert main(["ledger", "export", "a.ledger", "e.csv", "--spreadsheet-safe"]) == 0
    assert Path("e.csv").read_text(encoding="utf-8") == out
    assert main(["ledger", "export", "a.ledger", "exact.csv"]) == 0
    exact, safe = (rows_of(name) for name in ("exact.csv", "e.csv"))
    assert [list(map(without_apostrophes, row)) for row in safe] == exact
    assert main(["ledger", "log", "a.ledger", "--spreadsheet-safe"]) == 2
    assert main(["ledger", "export", "a.ledger", "e.json", "--spreadsheet-safe"]) == 2


def rows_of(path: str) -> list[list[str]]:
    return cells_of(Path(path).read_bytes().decode("utf-8-sig"), ",")
