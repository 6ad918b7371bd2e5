"""dphist dataset check: keys, files and columns, and no row."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dphist as dh
from dphist.cli import main

FACTS = 'files = "visits.csv"\nuser = "patient"\nmax_labels = 2\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # Rows that every reader would refuse: they are not looked at.
    Path("visits.csv").write_bytes(b'patient,drug\n1\nsecret,"\xff\n')
    Path("clinic.toml").write_text(FACTS)


def check(*more: str) -> int:
    return main(["dataset", "check", "clinic.toml", *more])


def test_what_is_there_and_what_is_missing(capsys) -> None:
    assert check() == 0
    said = capsys.readouterr().out
    assert "visits.csv: patient (text), drug (text)" in said
    assert dh.Dataset.open("clinic.toml").digest in said
    for key in ("unit", "ledger", "max_records", "max_rows"):
        assert f"Without {key}, " in said
    assert "Without max_labels" not in said
    assert "secret" not in said


def test_for_programs(capsys) -> None:
    pq.write_table(pa.table({"patient": [1], "drug": ["a"]}), "more.parquet")
    Path("clinic.toml").write_text(FACTS.replace("visits.csv", "more.parquet"))
    assert check("--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["files"] == {"more.parquet": {"patient": "int64", "drug": "string"}}
    assert said["missing"] == ["unit", "ledger", "max_records", "max_rows"]
    assert said["description"] == dh.Dataset.open("clinic.toml").digest


@pytest.mark.parametrize("name", ["a.jsonl", "a.xlsx", "a.sqlite", "a.zip", "a.csv.ZIP"])
def test_where_rows_would_be_read_nothing_is(name, capsys) -> None:
    Path(name).write_bytes(b"no such format")
    Path("clinic.toml").write_text(FACTS.replace("visits.csv", name))
    assert check() == 0
    assert f"{name}: not opened" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"patient"', '"patiend"', "'visits.csv': there is no column 'patiend'"),
        ("visits", "none", "none.csv"),
        ("visits.csv", "visits.txt.exe", "visits.txt.exe"),
        ("max_labels", "max_lables", "did you mean max_labels"),
        ("max_labels = 2", 'ledger = "none.ledger"', "there is no ledger at none.ledger"),
        ('"visits.csv"', '["visits.csv", "b.csv"]', "must have the same columns as"),
        ("visits.csv", "c.parquet", "must be a Parquet file"),
        ("visits.csv", "d.parquet", "column 'patient'"),
        ("visits.csv", "e.csv", "there is more than one column 'patient'"),
    ],
)
def test_a_fault_is_a_wrong_command(old, new, says, capsys) -> None:
    Path("b.csv").write_text("patient,age\n")
    Path("c.parquet").write_bytes(b"PAR1")
    pq.write_table(pa.table({"patient": [1.5]}), "d.parquet")
    Path("e.csv").write_text("patient,patient\n")
    Path("clinic.toml").write_text(FACTS.replace(old, new))
    assert check() == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert says in captured.err


def test_listed_values_are_columns(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("codes.txt").write_text("x\ny\nz\n")
    Path("v.csv").write_text("patient,town\n1,A\n")
    facts = 'files = "v.csv"\nuser = "patient"\n[keys]\ntown = ["A", "B"]\n'
    Path("clinic.toml").write_text(facts)
    assert main(["dataset", "check", "clinic.toml"]) == 0
    assert "Public values: town (2)." in capsys.readouterr().out
    assert main(["dataset", "check", "clinic.toml", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["keys"] == {"town": {"values": ["A", "B"], "other": False}}
    Path("clinic.toml").write_text(facts + 'code = "@codes.txt"\n')
    assert main(["dataset", "check", "clinic.toml"]) == 2
    assert "'v.csv'" in (said := capsys.readouterr().err)
    assert "'code'" in said
    Path("v.csv").write_text("patient,town,code\n1,A,x\n")
    assert main(["dataset", "check", "clinic.toml"]) == 0
    Path("codes.txt").unlink()
    assert main(["dataset", "check", "clinic.toml"]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_files_are_checked_as_they_are_read(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("v.csv").write_bytes("wer;größe;a;b\n1;2;3;4\n".encode("latin-1"))
    facts = 'files = "v.csv"\nuser = "wer"\nwide = ["a", "b"]\n[keys]\nlabel = ["a", "b"]\n'
    Path("clinic.toml").write_text('delimiter = ";"\nencoding = "latin-1"\n' + facts)
    assert main(["dataset", "check", "clinic.toml"]) == 0
    assert "größe (text)" in capsys.readouterr().out
    Path("clinic.toml").write_text('encoding = "latin-1"\n' + facts)
    assert main(["dataset", "check", "clinic.toml"]) == 2
    Path("clinic.toml").write_text('delimiter = ";"\n' + facts)
    assert main(["dataset", "check", "clinic.toml"]) == 2
    assert "is not text in UTF-8" in capsys.readouterr().err
    wide = facts.replace('["a", "b"]\n[', '["a", "c"]\n[')
    Path("clinic.toml").write_text('delimiter = ";"\nencoding = "latin-1"\n' + wide)
    assert main(["dataset", "check", "clinic.toml"]) == 2
    assert "'c'" in capsys.readouterr().err
    Path("clinic.toml").write_text('sheet = "a"\n' + facts)
    assert main(["dataset", "check", "clinic.toml"]) == 2
    assert "sheet applies to spreadsheets only" in capsys.readouterr().err


def test_rows_that_are_people_need_no_words_on_users(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("v.csv").write_text("town\nA\n")
    Path("clinic.toml").write_text('files = "v.csv"\neach_row_is_one_person = true\n')
    assert main(["dataset", "check", "clinic.toml"]) == 0
    said = capsys.readouterr().out
    assert "Without ledger" in said
    assert "Without unit" not in said
    assert "Without max" not in said
