"""dphist stream, paid for from a ledger in full when it begins."""

import io
import json
import shutil
import sys
from pathlib import Path

import pytest

import dphist as dh
from tests.support.command_line import run
from tests.support.commands.ledgers import UNIT, actions, no_defaults
from tests.support.golden import text_of_html

__all__ = ["no_defaults"]  # a fixture of every test here

COST = ("--epsilon", "0.5", "--delta", "1e-6", "--horizon", 1000)
USERS = ("--format", "csv", "--user", "who", "--max-events-per-user", 2)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.ledger"
    budget = ("--epsilon", 1, "--delta", "1e-5")
    assert run("ledger", "create", path, *budget, *UNIT) == 0
    return path


@pytest.fixture
def type_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Return how to run the command with text on standard input."""

    def call(text: str, *arguments: object) -> int:
        file = tmp_path / "input.csv"
        file.write_text(text)
        with file.open() as given:
            monkeypatch.setattr(sys, "stdin", given)
            return run("stream", *arguments)

    return call


@pytest.mark.verify
def test_a_stream_is_charged_once_and_goes_on(ledger, type_in, tmp_path, capsys) -> None:
    state, saved = tmp_path / "s.state", tmp_path / "s.json"
    paying = ("--ledger", ledger, "--by", "ana", "--key", "visits", "--output", saved)
    rows = "label,who\n" + "".join(f"a,u{i}\n" for i in range(300))
    assert type_in(rows, "--state", state, *COST, *USERS, *UNIT, *paying) == 0
    said = capsys.readouterr().out
    assert "for all events of one patient, of which at most 2 count" in said
    first = dh.Release.load(saved)
    assert first.provenance["entry"] == "3"
    assert str(first.provenance["unit"]) == "all events of one patient, of which at most 2 count"
    # Without parameters, and again with them.
    assert type_in(rows, "--state", state, *USERS[:-2], *paying) == 0
    assert "for all events of one patient" in capsys.readouterr().out
    assert type_in(rows, "--state", state, *COST, *USERS, *UNIT, *paying) == 0
    last = dh.Release.load(saved)
    assert (last.value.times[-1], last.provenance) == (900, first.provenance)
    assert actions(ledger).count("charged") == 1
    assert dh.Ledger.open(ledger).verify() > 5
    page = tmp_path / "page.html"
    assert run("ledger", "show", ledger, "--report", page) == 0
    told = text_of_html(page.read_text()).splitlines()
    assert any("ContinualMechanism" in row and "stream" in row for row in told)


@pytest.mark.verify
def test_a_stream_that_does_not_fit_begins_nothing(ledger, type_in, tmp_path, capsys) -> None:
    state = tmp_path / "s.state"
    cost = ("--epsilon", "3", *COST[2:])
    paying = ("--ledger", ledger, "--by", "ana", "--key", "visits")
    assert type_in("label,who\n", "--state", state, *cost, *USERS, *UNIT, *paying) == 3
    assert "the largest epsilon that fits is" in capsys.readouterr().err
    assert not state.exists()
    assert actions(ledger) == ["opened", "account"]


def test_events_do_not_pass_for_patients(ledger, type_in, tmp_path, capsys) -> None:
    state = tmp_path / "s.state"
    paying = ("--ledger", ledger, "--by", "ana", "--key", "visits")
    assert type_in("a\n", "--state", state, *COST, *paying) == 1
    assert "the release protects one event" in capsys.readouterr().err
    assert type_in("a\n", "--state", state, *COST, *UNIT, *paying) == 2
    assert "--unit needs --user" in capsys.readouterr().err
    with pytest.raises(dh.ParameterError, match="unit needs max_events_per_user"):
        dh.Ledger.open(ledger).open_stream(
            state, epsilon="0.01", delta="1e-8", horizon=9, by="ana", key="k", unit="one patient"
        )
    assert not state.exists()
    assert actions(ledger) == ["opened", "account"]


def test_a_stream_without_events_keeps_its_state(ledger, type_in, tmp_path, capsys) -> None:
    """Another state of the same key would draw other noise."""
    state = tmp_path / "s.state"
    paying = ("--ledger", ledger, "--by", "ana", "--key", "visits")
    command = ("--state", state, *COST, *USERS, *UNIT, *paying)
    assert type_in("wrong,who\na,u\n", *command) == 2
    assert state.exists()
    assert type_in("label,who\na,u\n", *command) == 0
    assert actions(ledger).count("charged") == 1


@pytest.mark.verify
def test_a_lost_or_older_state_is_noticed(ledger, type_in, tmp_path, capsys) -> None:
    state, older = tmp_path / "s.state", tmp_path / "older.state"
    paying = ("--ledger", ledger, "--by", "ana", "--key", "visits")
    command = ("--state", state, *COST, *USERS, *UNIT, *paying)
    assert type_in("label,who\na,u\n", *command) == 0
    shutil.copy(state, older)
    assert type_in("label,who\na,u\n", *command) == 0
    state.unlink()
    assert type_in("label,who\na,u\n", *command) == 1
    assert "the stream of the key 'visits' has begun" in capsys.readouterr().err
    shutil.copy(older, state)
    assert type_in("label,who\na,u\n", *command, "--moved") == 1
    assert "holds an older content than entry" in capsys.readouterr().err


@pytest.mark.verify
def test_a_dry_run_and_a_reservation_of_a_stream(ledger, type_in, tmp_path, capsys) -> None:
    state = tmp_path / "s.state"
    paying = ("--ledger", ledger, "--by", "ana", "--key", "visits")
    command = ("--state", state, *COST, *USERS, *UNIT, *paying)
    assert run("stream", *command, "--dry-run") == 0
    said = capsys.readouterr().out
    assert "all events of one patient" in said
    assert "It fits: the account 'main' would have" in said
    assert run("stream", *command, "--dry-run", "--json") == 0
    assert json.loads(capsys.readouterr().out)["ledger"]["fits"] is True
    assert type_in("", *command, "--reserve") == 0
    assert "Reserved for the key 'visits'" in capsys.readouterr().out
    assert not state.exists()
    assert type_in("label,who\na,u\n", *command) == 0
    assert actions(ledger)[2:4] == ["reserved", "charged"]


def test_the_unit_is_named_without_a_ledger_too(type_in, tmp_path, capsys) -> None:
    saved = tmp_path / "s.json"
    command = ("--state", tmp_path / "s.state", *COST, *USERS, *UNIT, "--output", saved)
    assert type_in("label,who\na,u\n", *command) == 0
    assert "for all events of one patient" in capsys.readouterr().out
    assert dh.Release.load(saved).guarantee.unit == dh.PrivacyUnit("patient")


def test_a_closed_input_is_told_before_anything_is_charged(ledger, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    paying = ("--ledger", ledger, "--by", "ana", "--key", "visits")
    assert run("stream", "--state", tmp_path / "s.state", *COST, *USERS, *UNIT, *paying) == 2
    assert actions(ledger) == ["opened", "account"]
    monkeypatch.setattr(sys, "stdin", io.StringIO())
