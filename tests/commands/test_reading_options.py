"""Options that say how FILE is read reach the gate, and are checked before a ledger pays."""

from pathlib import Path

import pytest

import dphist as dh
from tests.commands.ledgers import anonymize, made, run
from tests.counting.given_rows import write_csv, write_sqlite


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
