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
