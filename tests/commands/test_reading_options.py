"""Options that say how FILE is read reach the gate, and are checked before a ledger pays."""

from pathlib import Path

import pytest

import dphist as dh
from tests.support.command_line import run
from tests.support.commands.ledgers import UNIT, anonymize, made
from tests.support.counting.given_rows import write_csv, write_sqlite


@pytest.mark.parametrize(
    "wrong",
    [
        ["--encoding", "utf-7"],
        ["--decimal", ";"],
        ["--date-format", "%d.%m"],
        ["--sheet", "2026"],
        ["--table-name", "given"],
        ["--query", "SELECT 1"],
    ],
)
def test_a_wrong_option_charges_nothing(wrong: list[str], tmp_path: Path) -> None:
    file, ledger = write_csv(tmp_path / "t.csv", [("a", "b", 1)]), made(tmp_path / "c.ledger")
    before = len(list(dh.Ledger.open(ledger).entries()))
    assert run(*anonymize(file, ledger, "k"), *wrong) not in (0, 3, 6)
    assert len(list(dh.Ledger.open(ledger).entries())) == before


def test_a_query_is_read(tmp_path: Path) -> None:
    rows = [(f"u{n}", "x" if n % 2 else "y", 1) for n in range(200)]
    file = write_sqlite(tmp_path / "t.db", rows)
    query = "SELECT * FROM given WHERE word = 'x'"
    said = ["--label", "word", "--user", "who", "--max-labels", 1, "--epsilon", 9]
    table = tmp_path / "t.csv"
    asked = ["--delta", "1e-6", "--query", query, "--table", table]
    assert run("labels", file, *said, *asked) == 0
    assert [line.split(",")[0] for line in table.read_text().splitlines()[1:]] == ["x"]


WIDE = ("who", "jan", "feb")
COST = ("--epsilon", "0.1", "--delta", "1e-9")
LABELS = ("labels", "--max-labels", 2, *COST)
TABLES = ("tables", "--max-rows", 9, *COST, "--tables", "label")


@pytest.mark.parametrize("asked", [LABELS, (*TABLES, "--axis", "label=jan,feb")])
def test_wide_rows_are_melted(asked: tuple[str, ...], tmp_path: Path) -> None:
    rows = [(f"u{n}", 1, None if n % 2 else 1) for n in range(8000)]
    file, table = write_csv(tmp_path / "t.csv", rows, WIDE), tmp_path / "out.csv"
    command, *said = asked
    who = ["--wide", "jan,feb", "--user", "who"]
    assert run(command, file, *said, *who, "--table", table) == 0
    lines = [line.split(",") for line in table.read_text().splitlines()]
    head = [name.strip('"') for name in lines[0]]
    places = head.index("label"), head.index("count")
    found = {line[places[0]].strip('"'): float(line[places[1]]) for line in lines[1:]}
    assert abs(found["jan"] - 8000) < 1500
    assert abs(found["feb"] - 4000) < 1500


@pytest.mark.parametrize(
    "wrong",
    [
        (*LABELS, "--wide", "jan,jan", "--user", "who"),
        (*LABELS, "--wide", "jan,who", "--user", "who"),
        (*LABELS, "--wide", "jan", "--user", "who", "--label", "jan"),
        (*LABELS, "--wide", "jan", "--user", "who", "--null-users", "separate"),
        (*LABELS, "--wide", "jan", "--user", "who", "--sum", "feb=0:5:1"),
        ("labels", *COST, "--wide", "jan", "--each-row-is-one-person"),
        ("labels", *COST, "--user", "who"),
        (*TABLES, "--wide", "jan", "--user", "who", "--axis", "who=a,b"),
        (*TABLES, "--wide", "jan", "--user", "who", "--axis", "label=a", "--axis", "jan=1"),
        (*TABLES, "--wide", "jan", "--axis", "label=jan"),
        (*TABLES, "--wide", "jan", "--user", "who", "--axis", "label=a", "--sum", "feb=0:1:1"),
        (*TABLES, "--wide", "jan", "--user", "who", "--axis", "label=a", "--weight", "feb=0:1:1"),
        (*TABLES, "--wide", "jan", "--user", "who", "--axis", "label=a", "--one-row-per", "label"),
    ],
)
def test_wrong_wide_options_charge_nothing(wrong: tuple[str, ...], tmp_path: Path) -> None:
    file, ledger = write_csv(tmp_path / "t.csv", [("a", 1, 2)], WIDE), budget(tmp_path)
    before = len(list(dh.Ledger.open(ledger).entries()))
    command, *said = wrong
    pay = ["--ledger", ledger, "--by", "ana", "--key", "k", *UNIT, "--output", tmp_path / "o.json"]
    assert run(command, file, *said, *pay) == 2
    assert len(list(dh.Ledger.open(ledger).entries())) == before
    assert not (tmp_path / "o.json").exists()


def test_a_wide_file_is_paid_for(tmp_path: Path) -> None:
    """What the wrong options above lack."""
    file, ledger = write_csv(tmp_path / "t.csv", [("a", 1, 2)], WIDE), budget(tmp_path)
    before = len(list(dh.Ledger.open(ledger).entries()))
    pay = ["--ledger", ledger, "--by", "ana", "--key", "k", *UNIT, "--output", tmp_path / "o.json"]
    said = ["--wide", "jan,feb", "--user", "who", "--max-labels", 2, "--epsilon", "0.1"]
    assert run("labels", file, *said, "--delta", "1e-9", *pay) == 0
    assert len(list(dh.Ledger.open(ledger).entries())) > before


def budget(folder: Path) -> Path:
    return made(folder / "c.ledger", "--epsilon", 1, "--delta", "1e-6")
