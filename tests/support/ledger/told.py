"""Ledgers by what they show: rules of budgets, people, reservations, words of all sorts."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import dphist as dh

EVIL = "</td><script>alert('x')</script> & \"q\" 界"
PROFILE = dh.Profile.from_counts([3])


@dataclass(frozen=True)
class Costs:
    """A mechanism that says what it costs, and releases nothing of interest."""

    guarantee: Any

    def release(self, profile: dh.Profile) -> dh.Release:
        return dh.AdaptiveScan(epsilon=1).release(profile)


def pay(ledger: dh.Ledger, guarantee: Any, key: str, **paying: Any) -> None:
    said: dict[str, Any] = {"by": "ana", "note": "", **paying}
    ledger.release(Costs(guarantee), PROFILE, key=key, **said)


def pure(epsilon: object) -> dh.PureDP:
    return dh.PureDP(epsilon, unit="patient")  # type: ignore[arg-type]


def _nothing(place: Path) -> dh.Ledger:
    return dh.Ledger.create(place, epsilon=2, unit="one patient")


def _clinic(place: Path) -> dh.Ledger:
    ledger = dh.Ledger.create(place, epsilon=2, delta="1e-6", unit="one patient", dataset="wards")
    ledger.allow("ben", epsilon="0.5")
    for number in range(3):
        by = "ana" if number else "ben"
        pay(ledger, pure("0.25"), f"k{number}", by=by, note=f"For the board, {number}")
    return ledger


def _mixed(place: Path) -> dh.Ledger:
    """The sum of epsilons is void after the second release."""
    ledger = dh.Ledger.create(place, epsilon=2, delta="1e-6", unit="one patient", dataset="wards")
    pay(ledger, pure("0.2"), "before it")
    pay(ledger, dh.ApproxZCDP("0.01", "1e-7", unit="patient"), "no epsilon")
    pay(ledger, pure("1/30"), "after it")
    return ledger


def _accounts(place: Path) -> dh.Ledger:
    ledger = dh.Ledger.create(place, rho="0.5", delta="1e-7", unit="one patient", name="Clinic")
    ledger.open_account("nov", rho="0.5", unit="one patient", dataset="November")
    ledger.open_account("old", epsilon=1, unit="one row")
    ledger.allow("ben", rho="0.1", account="nov")
    pay(ledger, pure("0.1"), "both", by="ben", account=["main", "nov"])
    ledger.close_account("old")
    return ledger


def _reserved(place: Path) -> dh.Ledger:
    ledger = _nothing(place)
    for key in ("used", "canceled", "kept"):
        ledger.reserve(Costs(pure("0.25")), by="ana", key=key)
    ledger.cancel("canceled")
    pay(ledger, pure("0.25"), "used")
    pay(ledger, pure("0.5"), "canceled", by="ben")
    return ledger


def _spent(place: Path) -> dh.Ledger:
    ledger = _nothing(place)
    pay(ledger, pure(2), "all")
    return ledger


def _renewed(place: Path) -> dh.Ledger:
    """A monthly budget, of which two earlier months spent something, and this one too."""
    monthly: dict[str, Any] = {"unit": "one patient", "renew": "monthly"}
    with patch("dphist.ledger.entries.now", lambda _: "2026-09-01T08:00:00.000+00:00"):
        ledger = dh.Ledger.create(place, epsilon=2, delta="1e-6", **monthly)
        ledger.allow("ben", epsilon="0.5")
        pay(ledger, pure(2), "september")
    with patch("dphist.ledger.entries.now", lambda _: "2026-10-31T23:59:59.999+00:00"):
        pay(ledger, dh.ApproxZCDP("0.01", "1e-7", unit="patient"), "october")
    pay(ledger, pure("0.25"), "november", by="ben")
    return ledger


def _odd(place: Path) -> dh.Ledger:
    named = {"unit": EVIL, "name": EVIL, "account": EVIL, "dataset": EVIL}
    ledger = dh.Ledger.create(place, epsilon=2, **named)
    ledger.allow(EVIL, epsilon=1)
    pay(ledger, dh.PureDP("0.1", unit=EVIL), EVIL, by=EVIL, note=EVIL)
    ledger.reserve(Costs(dh.PureDP("0.1", unit=EVIL)), by=EVIL, key="r", note=EVIL)
    return ledger


MADE: dict[str, Callable[[Path], dh.Ledger]] = {
    "nothing": _nothing,
    "clinic": _clinic,
    "mixed": _mixed,
    "accounts": _accounts,
    "reserved": _reserved,
    "spent": _spent,
    "renewed": _renewed,
    "odd words": _odd,
}
"""Functions that make a ledger in a file."""
