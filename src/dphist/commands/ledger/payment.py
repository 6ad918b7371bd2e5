"""Paying from a ledger: the price of a release, and the charge, which comes before the data."""

import argparse
import contextlib
import json
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dphist.commands import signals
from dphist.commands.ledger.options import existing, place_of, signing_key_of
from dphist.commands.presentation import presentation_of, unit_name, user_unit
from dphist.commands.printing import say
from dphist.commands.publishing import Protected
from dphist.document.totals import guarantee_json
from dphist.errors import DphistError, LedgerError
from dphist.ledger import Deferred, Ledger
from dphist.ledger.amounts import Totals
from dphist.ledger.balance import Balance
from dphist.ledger.book import admits
from dphist.ledger.budget import Budget
from dphist.ledger.charging import (
    Price,
    ends_epsilons,
    fitting_in_words,
    largest_fitting,
    left_in_words,
    readable_down,
)
from dphist.ledger.entries import canonical
from dphist.parameters import decimal_text
from dphist.privacy import PrivacyUnit
from dphist.release.presentation import WORDS
from dphist.release.release import Release
from dphist.streams import ContinualHistogram, ContinualMechanism


@contextlib.contextmanager
def opened(options: argparse.Namespace, *, moved: bool = False) -> Iterator[Ledger]:
    """Open the ledger that a command is about."""
    with opened_at(existing(place_of(options)), options, moved=moved) as ledger:
        yield ledger


@contextlib.contextmanager
def opened_at(place: str, options: argparse.Namespace, *, moved: bool = False) -> Iterator[Ledger]:
    """Open the ledger at a place."""
    keep_records_silent()
    signing_key = signing_key_of(options) if hasattr(options, "signing_key") else None
    with Ledger.open(place, moved=moved, signing_key=signing_key) as ledger:
        yield ledger


def keep_records_silent() -> None:
    """Have records of the ledger not printed beside our messages; handlers of others get them."""
    log = logging.getLogger("dphist.ledger")
    if not any(isinstance(handler, logging.NullHandler) for handler in log.handlers):
        log.addHandler(logging.NullHandler())


ONLY_RHO = (
    "It states no epsilon, as with Gaussian noise. Once it is charged, epsilons are not added up "
    "any more: only rho and delta count, also for pure releases."
)


@dataclass(frozen=True, slots=True)
class Part:
    """What one account, or a cap in it, would pay.

    Attributes
    ----------
    price : what the account would be charged.
    balance : of the account or cap, now.
    by : whose cap it is; None of the account itself.
    """

    price: Price
    balance: Balance
    by: str | None

    @property
    def whose(self) -> str:
        """The account, or the cap, in words."""
        name = f"the account {self.price.account.name!r}"
        return name if self.by is None else f"the cap of {self.by!r} in {name}"

    @property
    def fits(self) -> bool:
        """Whether it would be paid."""
        account, budget = self.price.account, self.balance.budget
        fits = admits(account, budget, self.balance.totals, self.price.cost)
        return fits and not self.price.account.closed

    @property
    def ends_epsilons(self) -> bool:
        """Whether epsilons are not added up any more once it is paid."""
        return ends_epsilons(self.balance.budget, self.balance.totals, self.price.cost)

    @property
    def after(self) -> Totals:
        """The sums with this release."""
        return self.balance.totals.plus(self.price.cost)


@dataclass(frozen=True, slots=True)
class Found:
    """The price of a release, for each account and each cap in it.

    Attributes
    ----------
    mechanism : that would release.
    parts : in the order in which they would be checked.
    known : what the ledger knows of the key already, in words; empty if nothing.
    """

    mechanism: Any
    parts: list[Part]
    known: str

    @property
    def fits(self) -> bool:
        """Whether all of them would pay."""
        return all(part.fits for part in self.parts)

    def said(self, name: str) -> list[str]:
        """Return the price in lines of text."""
        lines = []
        for part in self.parts:
            budget, totals = part.balance.budget, part.balance.totals
            if part.by is None:
                unit = part.price.account.unit
                lines.append(
                    f"Ledger {name!r}: {part.whose} would be charged {part.price.guarantee}, for "
                    f"{unit}."
                )
            if part.fits:
                left = left_in_words(budget, part.after)
                lines.append(f"It fits: {part.whose} would have {left} left of {budget}.")
                if part.ends_epsilons:
                    lines.append(ONLY_RHO)
            elif part.price.account.closed:
                lines.append(f"It would be refused: {part.whose} is closed.")
            else:
                lines.append(
                    f"It would be refused: {part.whose} has {left_in_words(budget, totals)} left "
                    f"of {budget}; {fitting_in_words(budget, totals, part.price, self.mechanism)}."
                )
        return [*lines, *([self.known] if self.known else [])]

    def shown(self, ledger: Ledger) -> dict[str, Any]:
        """Return the price for programs; numbers are exact texts, or rounded to claim less."""
        return {
            "name": ledger.name,
            "id": ledger.id,
            "fits": self.fits,
            "charges": [self._part_shown(part) for part in self.parts],
            **({"key": self.known} if self.known else {}),
        }

    def _part_shown(self, part: Part) -> dict[str, Any]:
        budget, totals = part.balance.budget, part.balance.totals
        largest = largest_fitting(budget, totals, part.price, self.mechanism)
        return {
            "account": part.price.account.name,
            **({} if part.by is None else {"cap_of": part.by}),
            "cost": guarantee_json(part.price.guarantee),
            "fits": part.fits,
            "ends_epsilons": part.ends_epsilons,
            "left": left_json(budget, totals),
            "left_after": left_json(budget, part.after) if part.fits else None,
            "largest_epsilon": None if largest is None else readable_down(largest),
        }


def price_of(
    ledger: Ledger, mechanism: Any, options: argparse.Namespace, protected: Protected
) -> Found:
    """Return what a release would cost; no data are opened, and nothing is charged."""
    data = Deferred(lambda: None, protected.unit, protected.records)
    (prices,) = ledger.plan([mechanism], by=options.by, account=options.account, data=data).prices
    parts = []
    for price in prices:
        parts.append(Part(price, ledger.balance(price.account.name), None))
        with contextlib.suppress(LedgerError):  # without a cap
            if options.by is not None:
                cap = ledger.balance(price.account.name, by=options.by)
                parts.append(Part(price, cap, options.by))
    return Found(mechanism, parts, _known(ledger, options.key))


def left_json(budget: Budget, totals: Totals) -> dict[str, str]:
    """Return what is left, each number by itself, as exact text."""
    zero = Fraction(0)
    left: dict[str, Fraction] = {}
    if budget.epsilon is not None and not totals.mixed:
        left["epsilon"] = max(budget.epsilon - totals.epsilon, zero)
    if budget.most_rho:
        left["rho"] = max(budget.most_rho - totals.rho, zero)
    if budget.delta_of_entries:
        left["delta"] = max(budget.delta_of_entries - totals.delta, zero)
    return {name: decimal_text(number, digits=150) for name, number in left.items()}


def _known(ledger: Ledger, key: str | None) -> str:
    """Say what the ledger knows of a key."""
    if key is None:
        return ""
    try:
        charge = ledger.find(key)
    except LedgerError:
        return ""
    if charge.state == "canceled":
        return ""
    said = {
        "reserved": "its cost is set aside already, and would not be charged again",
        "finished": "the same command returns its release, and costs nothing",
        "charged": "it is running, or failed, or is a stream; only a stream goes on",
    }[charge.state]
    return f"The key {key!r} is {charge.state} (entry {charge.entry}): {said}."


# Options that do not say which data are released, or that the mechanism has.
_NOT_ABOUT = {
    *("output", "table", "report", "overwrite", "quiet", "json", "dry_run", "reserve"),
    *("ledger", "account", "by", "key", "signing_key"),
    *("command", "config", "section", "configuration", "priced", "checked", "write"),
    *(name for name in WORDS if name != "unit"),
    *("epsilon", "delta", "rho", "known_labels", "expected_total"),
    *("expect_total", "expect_users", "expect_shape", "expect_rows"),
    *("memory", "threads", "temp"),
}


@dataclass(frozen=True, slots=True)
class Paid:
    """A release that a ledger paid for, now or earlier.

    Attributes
    ----------
    charged : whether it was paid for now; otherwise it is the first release of its key again.
    said : about the payment, in lines.
    """

    release: Release
    charged: bool
    said: list[str]


def release_paid(
    mechanism: Any, options: argparse.Namespace, place: str, data: Deferred
) -> Paid | None:
    """Charge what a release costs, and make it; return the first one where the key has one.

    With --reserve, only the cost is set aside, and None is returned.
    """
    key: str = options.key
    charged = False

    def open_data() -> Any:
        nonlocal charged
        charged = True
        signals.note(
            f"the key {key!r} stays charged and does not draw again; a further attempt needs "
            "another key, which is charged again"
        )
        return data.open()

    deferred = Deferred(open_data, data.unit, data.records, data.about or about_of(options))
    paying = {
        "by": options.by,
        "key": key,
        "note": options.note or "",
        "account": options.account,
    }
    with opened_at(place, options) as ledger:
        if options.reserve:
            ledger.reserve(mechanism, data=deferred, **paying)
            say_reserved(ledger, options)
            return None
        signals.note(f"'dphist ledger log' says whether the key {key!r} was charged")
        try:
            presentation = presentation_of(options)
            release = ledger.release(
                mechanism,
                deferred,
                presentation=presentation,
                configuration=getattr(options, "configuration", None),
                **paying,
            )
        except DphistError:
            if not charged:  # it was refused
                signals.note("")
            raise
        signals.note(
            "the ledger keeps the release: the same command with the same key writes it, at no cost"
        )
        return Paid(release, charged, _said(ledger, release, options, charged))


def about_of(options: argparse.Namespace) -> str:
    """Return which data a command releases, as its options say; it goes into the key's hash.

    Without it, a command that was copied with its key would return the release of other data.
    """
    said = {name: value for name, value in vars(options).items() if name not in _NOT_ABOUT}
    said["file"] = os.path.realpath(options.file)
    said["unit"] = unit_name(options)
    # Keys of earlier versions stand for this too.
    names = {name: options.command.names.get(name) for name in ("shape", "total")}
    said["called"] = {name: option for name, option in names.items() if option} or None
    return canonical({k: v for k, v in said.items() if v is not None and v is not False})


def _said(
    ledger: Ledger, release: Release, options: argparse.Namespace, charged: bool
) -> list[str]:
    """Say what was charged, and what is left; or that nothing was."""
    stated = release.provenance
    if not charged:
        return [
            f"The key {options.key!r} was released before, as entry {stated['entry']}: this is "
            "that release, and nothing was charged."
        ]
    lines = [
        f"Charged to {stated['account']!r} as entry {stated['entry']} of the ledger "
        f"{ledger.name!r}."
    ]
    for name in options.account or [None]:
        balance = ledger.balance(name)
        left = left_in_words(balance.budget, balance.totals)
        lines.append(f"Left in {balance.account!r}: {left}, of {balance.budget}.")
    return lines


def say_reserved(ledger: Ledger, options: argparse.Namespace) -> None:
    """Print that a cost was set aside."""
    if options.quiet:
        return
    entry = ledger.find(options.key).entry
    if options.json:
        say(json.dumps({"reserved": options.key, "entry": entry}), flush=True)
        return
    say(f"Reserved for the key {options.key!r} as entry {entry} of the ledger {ledger.name!r}.")
    say("No data were read. The same command without --reserve releases.", flush=True)


@contextlib.contextmanager
def open_paid_stream(
    mechanism: ContinualMechanism | None, options: argparse.Namespace, place: str
) -> Iterator[ContinualHistogram]:
    """Begin a stream that is charged in full, or go on with the one that the key paid for."""
    from dphist.commands.ledger.payment import opened_at  # slow to import, and seldom needed

    unit = _unit(options)
    with opened_at(place, options) as ledger:
        signals.note(f"'dphist ledger log' says whether the key {options.key!r} was charged")
        try:
            stream = ledger.open_stream(
                options.state, mechanism, moved=options.moved, unit=unit, **_paying(options)
            )
        except DphistError:
            signals.note("")
            raise
        signals.note("")
        with stream:
            yield stream


def reserve_stream(mechanism: ContinualMechanism, options: argparse.Namespace, place: str) -> None:
    """Set aside what a stream will cost; nothing is read or made."""
    from dphist.commands.ledger.payment import opened_at, say_reserved
    from dphist.ledger import Deferred

    with opened_at(place, options) as ledger:
        data = Deferred(lambda: None, _unit(options))
        ledger.reserve(mechanism, data=data, **_paying(options))
        say_reserved(ledger, options)


def _paying(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "by": options.by,
        "key": options.key,
        "note": options.note or "",
        "account": options.account,
    }


def _unit(options: argparse.Namespace) -> PrivacyUnit | None:
    """Return what a user is; None where the stream protects events, or the name is left out."""
    return None if options.unit is None else user_unit(options)
