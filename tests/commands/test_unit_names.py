"""The commands speak of accounts if --unit names a user so, and a ledger pays for the same unit."""

from pathlib import Path

import pytest

import dphist as dh
from dphist.cli import main

BOTH = "one account, or one row without an account"
MECHANISM = ("--max-labels", "1", "--epsilon", "0.5", "--delta", "1e-3")


@pytest.fixture
def orders(tmp_path: Path) -> str:
    path = tmp_path / "orders.csv"
    path.write_text("who,what\n" + "".join(f"{i},a\n" for i in range(90)) + ",a\n")
    return str(path)


def labels(table: str, *more: object) -> int:
    of = ("--label", "what", "--user", "who", "--unit", "one account", "--null-users", "separate")
    return main(["labels", table, *of, *MECHANISM, *map(str, more)])


def test_a_dry_run_speaks_of_accounts(orders: str, capsys) -> None:
    assert labels(orders, "--dry-run", "--expect-users", 10_000) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"differential privacy in all, for {BOTH} " in said
    assert "If an account has more" in said
    assert "Rows without an account each count as a separate account." in said
    assert "of 10,000 accounts are" in said
    assert "δ times the number of accounts, 10,000, is " in said


def test_a_ledger_pays_for_rows_without_an_account(orders: str, tmp_path: Path) -> None:
    place = tmp_path / "shop.ledger"
    with dh.Ledger.create(place, epsilon=2, delta="0.1", unit=BOTH):
        pass
    output = tmp_path / "out.json"
    paid = ("--ledger", place, "--by", "ana", "--key", "first", "--output", output)
    assert labels(orders, *paid) == 0
    assert str(dh.Release.load(output).guarantee.unit) == BOTH


def test_a_dry_run_of_a_stream_speaks_of_accounts(tmp_path: Path, capsys) -> None:
    of = ("--format", "csv", "--user", "who", "--unit", "one account", "--max-events-per-user", "3")
    total = ("--epsilon", "1", "--delta", "1e-6", "--horizon", "1000")
    assert main(["stream", "--state", str(tmp_path / "s"), *of, *total, "--dry-run"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "all events of one account, of which at most 3 count" in said
    assert "At most 3 events of an account count" in said
    assert "10,000 accounts: δ times their number" in said
