"""The command line with a ledger in PostgreSQL: the same, and no password is shown."""

from pathlib import Path

import pytest

import dphist as dh
from tests.support.command_line import run
from tests.support.commands.ledgers import UNIT, anonymize, no_defaults, written
from tests.support.postgres import running_server

__all__ = ["no_defaults"]  # a fixture of every test here


@pytest.mark.verify
def test_a_year_in_postgres(tmp_path: Path, capsys, monkeypatch) -> None:
    file, saved, page = written(tmp_path / "rows.csv"), tmp_path / "r.json", tmp_path / "p.html"
    with running_server() as server:
        place = server.new()
        made = ("ledger", "create", place, "--epsilon", 1, *UNIT, "--name", "clinic")
        assert run(*made) == 0
        assert run(*made) == 1
        assert run(*anonymize(file, place, "k"), "--output", saved) == 0
        assert run(*anonymize(file, place, "k"), "--output", saved, "--overwrite") == 6
        assert "nothing was charged" in capsys.readouterr().out
        assert dh.Release.load(saved).provenance["entry"] == "3"
        assert run(*anonymize(file, place, "l"), "--dry-run") == 0
        assert run(*anonymize(file, place, "l"), "--quiet", "--table", tmp_path / "t.csv") == 0
        assert run(*anonymize(file, place, "m")) == 3
        monkeypatch.setenv("DPHIST_LEDGER", place)
        assert run("ledger", "show", "--report", page) == 0
        assert "Spent           ε = 0.8, by 2 releases" in capsys.readouterr().out
        assert "2 releases" in page.read_text()
        assert run("show", "--key", "k", "--quiet", "--table", tmp_path / "again.csv") == 0
        assert run("ledger", "log", "--last", 1) == 0
        assert run("ledger", "export", tmp_path / "e.json") == 0
        assert run("ledger", "verify") == 0
        assert "6 entries." in capsys.readouterr().out
        server.kill()
        assert run("ledger", "show") == 1
        assert "Traceback" not in capsys.readouterr().err


def test_a_password_is_never_shown(tmp_path: Path, capsys) -> None:
    address = "postgresql://ana:S3NTINEL@localhost:1/clinic"
    file = written(tmp_path / "rows.csv")
    for command in (
        ("ledger", "create", address, "--epsilon", 1, *UNIT),
        ("ledger", "show", address),
        ("ledger", "show", "--ledger", address, address),
        anonymize(file, address, "k"),
        ("show", "--ledger", address, "--key", "k"),
    ):
        assert run(*command) != 0
        captured = capsys.readouterr()
        assert "S3NTINEL" not in captured.out + captured.err, command
