"""Commands that first release how many users have how many records: what both state and cost."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.commands.users_look import UsersLook
from dphist.report import make_json
from tests.support.command_line import run

BINS = ("ranges", "--column", "age", "--edges", "0,3,6,9")
KINDS: dict[str, tuple[Any, ...]] = {
    "ranges": (*BINS, "--epsilon", 1),
    "ranges of rho": (*BINS, "--rho", 1),
    "anonymize": ("anonymize", "--label", "age", "--epsilon", 1),
}
LOOKS: dict[str, tuple[Any, ...]] = {
    "found": ("--users-by-records", 60),
    "known": ("--max-records", 2, "--users-by-records", 9),
}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    path.write_text("who,age\n" + "".join(f"{n % 37},{n % 9}\n" for n in range(400)))
    return path


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("kind", KINDS)
def test_both_releases_together_cost_what_was_given(
    kind: str, look: str, rows: Path, tmp_path: Path
) -> None:
    """Without a ledger: nothing but the file says what was looked at."""
    (command, *options), path = KINDS[kind], tmp_path / "r.json"
    asked = (command, rows, "--user", "who", *options, *LOOKS[look])
    assert run(*asked, "--output", path, "--quiet") == 0
    release, name = dh.Release.load(path), options[-2].removeprefix("--")
    users = release.users
    assert users is not None
    assert users.counts_users
    shares = [getattr(part.guarantee, name) for part in release.parts]
    assert [float(share) for share in shares] == [0.05, 0.95]
    assert getattr(release.guarantee, name) == 1
    assert users.mechanism.sensitivity == 1
    bound = int(release.provenance["max_records"])
    assert release.mechanism.sensitivity == bound
    assert bound == 2 if look == "known" else 1 <= bound < users.value.edges[0][-2]
    assert float(make_json(release)["guarantee"][name]) == 1


def test_rows_without_a_user_are_separate_users_of_a_ledger_too(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An account of users refuses them before it is charged; one of both pays, and has no look."""
    options = [BINS[0], rows, *BINS[1:], "--user", "who", "--null-users", "separate"]
    options += ["--epsilon", 1]
    rows.write_text(rows.read_text() + ",1\n,5\n")
    both = "user, or one row without a user"
    for unit, status, entries in (("user", 1, 2), (both, 0, 4)):
        place = tmp_path / f"{status}.ledger"
        assert run("ledger", "create", place, "--epsilon", 2, "--unit", unit) == 0
        path = tmp_path / f"{status}.json"
        paid = ("--ledger", place, "--by", "ana", "--key", "k", "--output", path, "--quiet")
        assert run(*options, "--max-records", 3, *paid) == status
        assert len(list(dh.Ledger.open(place).entries())) == entries
        assert path.exists() == (status == 0)
    assert str(dh.Release.load(path).guarantee.unit) == f"one {both}"
    for look in ((), ("--max-records", "auto"), ("--max-records", 3, "--users-by-records", 9)):
        assert run(*options, *look, "--dry-run") == 2
        assert "separate rows are no users" in capsys.readouterr().err


def test_it_is_said_how_many_more_of_both_together_fit(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the counts alone, three of 0.285 would fit into 0.9."""
    place = tmp_path / "own.ledger"
    assert run("ledger", "create", place, "--epsilon", "1.19", "--unit", "user") == 0
    asked = (BINS[0], rows, *BINS[1:], "--user", "who", "--epsilon", "0.3", "--ledger", place)
    capsys.readouterr()
    for key, left in enumerate(("2 more releases like this one fit", "1 more", "no more")):
        assert run(*asked, "--by", "ana", "--key", key) == 0
        assert f"From now on, {left}" in capsys.readouterr().out
    assert run(*asked, "--by", "ana", "--key", 0, "--again") == 0
    assert "From now on" not in capsys.readouterr().out
    assert run(*asked, "--by", "ana", "--key", 3) == 3


def test_a_command_that_was_interrupted_between_its_looks_goes_on(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said beforehand what that still costs, and it fits though both do not."""
    place, path = tmp_path / "own.ledger", tmp_path / "r.json"
    assert run("ledger", "create", place, "--epsilon", "1.02", "--unit", "user") == 0
    asked = {"epsilon": 1, "users-by-records": 9, "max-records": 2, "column": "age"}
    asked |= {"edges": "0,3,6,9", "user": "who", "by": "ana", "key": "k"}
    asked |= {"ledger": place, "output": path}
    options = [part for name, value in asked.items() for part in (f"--{name}", value)]

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(UsersLook, "follow", interrupt)
        assert run("ranges", rows, *options) == 130
    said = " ".join(capsys.readouterr().err.split())
    assert "goes on, and is charged for the counts alone" in said
    assert "at no cost" not in said
    assert dh.Ledger.open(place).balance().totals.epsilon == Fraction("0.05")
    assert run("ranges", rows, *options, "--dry-run", "--json") == 0
    assert json.loads(capsys.readouterr().out)["ledger"]["fits"] is True
    text = "".join(f"{name} = {json.dumps(str(value))}\n" for name, value in asked.items())
    config = tmp_path / "releases.toml"
    config.write_text(f'[a]\ncommand = "ranges"\nfile = "{rows}"\n{text}')
    assert run("run", config, "--quiet") == 0
    assert dh.Ledger.open(place).balance().totals.epsilon == 1
    assert dh.Release.load(path).guarantee.epsilon == 1
    assert run("ranges", rows, *options, "--dry-run") == 0
    assert "not fit together" not in " ".join(capsys.readouterr().out.split())
