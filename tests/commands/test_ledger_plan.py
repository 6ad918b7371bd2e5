"""dphist ledger plan: what a command would be charged is what it is charged."""

import itertools
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.support.command_line import run
from tests.support.commands.ledgers import no_defaults

__all__ = ["no_defaults"]  # a fixture of every test here

USER = "--user who"
RELEASES = {
    "gaussian labels": f"labels FILE --label item {USER} --max-labels 3 --epsilon 1 --delta 1e-6 "
    "--noise gaussian",
    "labels": f"labels FILE --label item {USER} --epsilon 1/2 --delta 1e-6",
    "ranges": f"ranges FILE --column age --edges 0,9,99 {USER} --max-records 2 --epsilon 1/2",
    "found ranges": f"ranges FILE --column age --edges 0,9,99 {USER} --epsilon 1/2",
    "concentrated ranges": f"ranges FILE --column age --edges 0,9 {USER} --max-records 1 --rho .01",
    "anonymized": f"anonymize FILE --label item {USER} --max-records 3 --epsilon 1",
    "top": f"top FILE --label item {USER} --max-labels 2 -k 3 --epsilon 1/4 --delta 1e-7",
}
HISTORIES: dict[str, list[str]] = {
    "none": [],
    "labels": ["gaussian labels"],
    "pure": ["ranges", "anonymized"],
    "mixed": ["concentrated ranges", "gaussian labels"],
}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    frame = pd.DataFrame({"who": range(60), "item": list("abc") * 20, "age": [7, 8, 50] * 20})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv"


def planned(ledger: Path, command: str, file: Any) -> bool:
    code = run("ledger", "plan", ledger, "--release", command.replace("FILE", str(file)))
    assert code in (0, 3)
    return code == 0


def charged(ledger: Path, command: str, file: Path, key: str) -> bool:
    words = command.replace("FILE", str(file)).split()
    out = file.with_name(f"{key}.json")
    code = run(*words, "--ledger", ledger, "--key", key, "--by", "ana", "--output", out, "--quiet")
    assert code in (0, 3)
    return code == 0


@pytest.mark.long(every=6)
@pytest.mark.quick("[labels-gaussian labels]")
@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.parametrize("history", HISTORIES)
def test_a_plan_is_affordable_exactly_if_the_command_is_paid(
    history: str, name: str, tmp_path: Path, rows: Path, capsys: Any
) -> None:
    ledger, keys = tmp_path / "l.ledger", map(str, itertools.count())
    unit = ("--unit", "one user")
    assert run("ledger", "create", ledger, "--epsilon", 2, "--delta", "1e-5", *unit) == 0
    for before in HISTORIES[history]:
        assert charged(ledger, RELEASES[before], rows, next(keys))
    for _ in range(9):
        fits = planned(ledger, RELEASES[name], tmp_path / "no such file.csv")
        assert charged(ledger, RELEASES[name], rows, next(keys)) == fits
        if not fits:
            break
    capsys.readouterr()


def test_all_releases_of_a_configuration_are_planned(tmp_path: Path, capsys: Any) -> None:
    ledger, file = tmp_path / "l.ledger", tmp_path / "c.toml"
    assert run("ledger", "create", ledger, "--epsilon", 1, "--unit", "one user") == 0
    section = 'command = "anonymize"\nfile = "none.csv"\nlabel = "a"\nuser = "b"\nmax-records = 2\n'
    file.write_text(f"[one]\n{section}epsilon = 0.5\n[two]\n{section}epsilon = 0.4\n")
    capsys.readouterr()
    assert run("ledger", "plan", ledger, "--config", file) == 0
    assert capsys.readouterr().out.count(" yes ") == 2
    assert run("ledger", "plan", ledger, "--config", file, "--epsilon", "0.2") == 3
    assert "from number 3 on" in capsys.readouterr().err


def test_what_a_key_has_paid_costs_nothing_more(tmp_path: Path, rows: Path, capsys: Any) -> None:
    ledger = tmp_path / "l.ledger"
    assert run("ledger", "create", ledger, "--epsilon", 1, "--unit", "one user") == 0
    command = RELEASES["anonymized"]
    assert charged(ledger, command, rows, "paid")
    assert not planned(ledger, command, rows)
    assert planned(ledger, f"{command} --key paid", rows)
    assert planned(ledger, f"dphist {command} --key paid", rows)
    capsys.readouterr()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--release", "lebels x"], "must be a command in quotes"),
        (["--release", "'"], "must be a command in quotes"),
        (["--release", "labels --help"], "must be a command in quotes"),
        (["--release", "labels x --label a"], "--epsilon"),
        (["--release", "labels x --label a --user b --epsilon 1 --delta 0"], "delta"),
        (["--release", "anonymize x --label a --user b --max-records 1 --epsilon 1", "--delta", 1],
         "--delta must follow --epsilon or --rho"),
        (["--config", "no such file"], "cannot be read"),
        (["--times", 2], "--times must follow"),
        ([], "a release must be named"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_planned(words: list[Any], said: str, tmp_path: Path, capsys: Any) -> None:
    ledger = tmp_path / "l.ledger"
    assert run("ledger", "create", ledger, "--epsilon", 1, "--unit", "one user") == 0
    assert run("ledger", "plan", ledger, *words) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "bare", "gaussian"),
    [
        (["--epsilon", "1/2"], True, False),
        (["--rho", "0.01"], True, False),
        (["--epsilon", "1/2", "--delta", "1e-7"], True, True),
        (["--release", "RANGES"], False, False),
    ],
)
def test_a_bare_cost_is_said_to_be_of_no_mechanism(
    asked: list[str], bare: bool, gaussian: bool, tmp_path: Path, rows: Path, capsys: Any
) -> None:
    ledger = tmp_path / "l.ledger"
    run("ledger", "create", ledger, "--epsilon", "2", "--delta", "1e-6", "--unit", "one user")
    capsys.readouterr()
    command = RELEASES["ranges"].replace("FILE", str(rows))
    assert run("ledger", "plan", ledger, *[a.replace("RANGES", command) for a in asked]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert ("price that guarantee alone, of no particular mechanism" in said) is bare
    assert ("One with Gaussian noise" in said) is gaussian
