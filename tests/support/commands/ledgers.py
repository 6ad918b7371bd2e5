"""What the tests of ledgers on the command line share: files as a user has them."""

import random
from pathlib import Path

import pytest

import dphist as dh
from tests.support.command_line import run

UNIT = ("--unit", "one patient")
WHO = ("--user", "who", *UNIT)


def written(path: Path, users: int = 300) -> Path:
    """Write rows of users; the rows of a smaller number are the first ones of a larger one."""
    draw = random.Random(7)
    lines = ["who,label,age"]
    for user in range(users):
        lines.append(f"u{user},d{draw.randrange(4)},{draw.randrange(90)}")
    path.write_text("\n".join(lines) + "\n")
    return path


def made(path: Path, *options: object) -> Path:
    """Make a ledger of epsilon 1, for patients."""
    given = options or ("--epsilon", 1)
    assert run("ledger", "create", path, *given, *UNIT) == 0
    return path


def anonymize(file: Path, ledger: Path | str, key: str, *options: object) -> list[object]:
    """Return a command that costs epsilon 0.4."""
    bounded = ("--label", "label", *WHO, "--max-records", 2)
    paying = ("--ledger", ledger, "--by", "ana", "--key", key)
    return ["anonymize", file, *bounded, "--epsilon", "0.4", *paying, *options]


@pytest.fixture(autouse=True)
def no_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DPHIST_LEDGER", "DPHIST_BY", "DPHIST_SIGNING_KEY"):
        monkeypatch.delenv(name, raising=False)


def actions(ledger: Path) -> list[str]:
    return [entry.action for entry in dh.Ledger.open(ledger).entries()]
