"""What tests of ledgers share: data, mechanisms of somebody else's, and how a refusal looks."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

import dphist as dh
from dphist.errors import LedgerError
from dphist.ledger import Ledger
from dphist.ledger.entries import Entry, canonical
from dphist.privacy import Guarantee, PureDP

PROFILE = dh.Profile.from_counts([5, 5, 1])
SCAN = dh.AdaptiveScan(epsilon="0.1")
TENTH = PureDP("0.1")


@dataclass(frozen=True)
class Promise:
    """A mechanism of somebody else's: it satisfies the protocol and knows nothing of ledgers."""

    guarantee: Guarantee = TENTH
    fails: bool = False

    def release(self, data: Any) -> dh.Release:
        if callable(data):
            data = data()
        if self.fails:
            raise RuntimeError("it failed after it looked at the data")
        return replace(SCAN.release(PROFILE), guarantee=self.guarantee)


def actions(ledger: Ledger) -> list[str]:
    return [entry.action for entry in ledger.entries()][2:]


def refused(
    ledger: Ledger, call: Callable[[], object], match: str, error: type = LedgerError
) -> None:
    """Check that a call is refused, and that the refusal cost nothing and left no entry."""
    before = len(ledger.entries()), ledger.accounts
    with pytest.raises(error, match=match):
        call()
    assert (len(ledger.entries()), ledger.accounts) == before
    ledger.verify()


def rewritten(ledger: Ledger, change: Callable[[list[Entry]], list[Entry]]) -> list[Any]:
    """Return statements that put changed entries in place, with hashes that fit."""
    entries, previous = [], "0" * 64
    for entry in change(list(ledger.entries())):
        made = Entry(len(entries) + 1, entry.time, entry.action, entry.content, previous)
        entries.append(made)
        previous = made.hash
    rows = [
        ("INSERT INTO dphist_entries VALUES (?, ?, ?, ?, ?, NULL)", row)
        for row in (
            (each.number, each.time, each.action, canonical(each.content), each.previous)
            for each in entries
        )
    ]
    head = ("UPDATE dphist_ledger SET entries = ?, head = ?", (len(entries), previous))
    return ["DELETE FROM dphist_entries", *rows, head]
