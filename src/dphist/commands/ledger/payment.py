"""Paying from a ledger: the price of a release, and the charge, which comes before the data."""

import argparse
import contextlib
import json
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from dphist import signals
from dphist.commands.ledger.options import Protected, check_exists, find_place, find_signing_key
from dphist.commands.presentation import get_named_unit, get_unit_name, read_presentation
from dphist.commands.printing import say
from dphist.data.axis.axis import Axis
from dphist.document.totals import guarantee_json
from dphist.errors import DphistError, LedgerError
from dphist.ledger import Deferred, Ledger, entries
from dphist.ledger.balance import Balance, Room
from dphist.ledger.book import admits, count_releases
from dphist.ledger.charging import (
    Largest,
    Price,
    describe_left,
    ends_epsilons,
    fitting_in_words,
    largest_fitting,
    readable_down,
)
from dphist.ledger.entries import canonical
from dphist.ledger.payments import UnfinishedError
from dphist.ledger.units import DataUnit
from dphist.ledger.words import ONLY_RHO, format_left_json
from dphist.release.presentation import WORDS
from dphist.release.release import Release
from dphist.streams import ContinualHistogram, ContinualMechanism
from dphist.tables.keys import Key


def open_ledger(
    options: argparse.Namespace, place: str | None = None, *, moved: bool = False
) -> Ledger:
    """Open the ledger at a place, or without one the ledger that a command is about."""
    keep_records_silent()
    signing_key = find_signing_key(options) if hasattr(options, "signing_key") else None
    found = check_exists(find_place(options)) if place is None else place
    return Ledger.open(found, moved=moved, signing_key=signing_key)


def keep_records_silent() -> None:
    """Have records of the ledger not printed beside our messages; handlers of others get them."""
    log = logging.getLogger("dphist.ledger")
    if not any(isinstance(handler, logging.NullHandler) for handler in log.handlers):
        log.addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class Part:
    """What one account, or a cap in it, would pay.

    Attributes
    ----------
    price : what the account would be charged.
    balance : of the account or cap, now.
    by : whose cap it is; None of the account itself.
    data : whom the data protect.
    """

    price: Price
    balance: Balance
    by: str | None
    data: DataUnit

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
        return fits and not account.closed

    @property
    def ends_epsilons(self) -> bool:
        """Whether epsilons are not added up any more once it is paid."""
        return ends_epsilons(self.balance.budget, self.balance.totals, self.price.cost)

    @property
    def after(self) -> Balance:
        """The balance with this release."""
        return replace(self.balance, totals=self.balance.totals.plus(self.price.cost))

    def to_lines(self, ledger: str, mechanism: Any) -> list[str]:
        """Return the price in lines of text; `ledger` is its name."""
        lines, account, budget = [], self.price.account, self.balance.budget
        if self.by is None:
            charged = f"{self.whose} would be charged {self.price.guarantee}, for {account.unit}"
            lines.append(f"Ledger {ledger!r}: {charged}.")
        if self.fits:
            left = f"{format_left(self.after)} left of {budget}"
            lines.append(f"It fits: {self.whose} would have {left}.")
            lines += [ONLY_RHO] if self.ends_epsilons else []
            more = count_releases(account, budget, self.after.totals, self.price.cost)
            lines.append(f"After it, {Room(more, None, self.balance.period)}.")
        elif account.closed:
            lines.append(f"It would be refused: {self.whose} is closed.")
        else:
            left = f"{format_left(self.balance)} left of {budget}"
            largest = self._find_largest(mechanism)
            fitting = fitting_in_words(largest, budget, self.price.cost)
            lines.append(f"It would be refused: {self.whose} has {left}; {fitting}.")
        return lines

    def to_json(self, mechanism: Any) -> dict[str, Any]:
        """Return the price for programs."""
        budget, totals = self.balance.budget, self.balance.totals
        largest = self._find_largest(mechanism)
        return {
            "account": self.price.account.name,
            **({} if self.by is None else {"cap_of": self.by}),
            "cost": guarantee_json(self.price.guarantee),
            "fits": self.fits,
            "ends_epsilons": self.ends_epsilons,
            "left": format_left_json(budget, totals),
            "left_after": format_left_json(budget, self.after.totals) if self.fits else None,
            "largest": None if largest is None else readable_down(largest.number),
            "largest_of": None if largest is None else largest.name,
            "releases_left": count_releases(self.price.account, budget, totals, self.price.cost),
        }

    def _find_largest(self, mechanism: Any) -> Largest | None:
        account, balance = self.price.account, self.balance
        return largest_fitting(account, balance.budget, balance.totals, mechanism, self.data)


def quote_price(
    ledger: Ledger, mechanism: Any, options: argparse.Namespace, protected: Protected
) -> tuple[list[str], dict[str, Any]]:
    """Return what a release would cost, in lines and for programs.

    No data are opened, and nothing is charged. Numbers for programs are exact texts, or rounded to
    claim less.
    """
    data = Deferred(lambda: None, *protected)
    (prices,) = ledger.plan([mechanism], by=options.by, account=options.account, data=data).prices
    parts = []
    for price in prices:
        parts.append(Part(price, ledger.balance(price.account.name), None, data.protected))
        with contextlib.suppress(LedgerError):  # without a cap
            if options.by is not None:
                cap = ledger.balance(price.account.name, by=options.by)
                parts.append(Part(price, cap, options.by, data.protected))
    known, refused = _describe_key(ledger, options.key)
    said = {
        "name": ledger.name,
        "id": ledger.id,
        "fits": all(part.fits for part in parts) and not refused,
        "charges": [part.to_json(mechanism) for part in parts],
        **({"key": known} if known else {}),
    }
    lines = [line for part in parts for line in part.to_lines(ledger.name, mechanism)]
    lines = [] if refused else lines
    return [*lines, *([known] if known else [])], {"ledger": said}


def format_left(balance: Balance) -> str:
    """Return what is left in words."""
    return describe_left(balance.budget, balance.totals)


def _describe_key(ledger: Ledger, key: str | None) -> tuple[str, bool]:
    """Say what the ledger knows of a key, and whether its command would be refused for that."""
    if key is None:
        return "", False
    try:
        charge = ledger.find(key)
    except LedgerError:
        return "", False
    if charge.state == "canceled":
        return "", False
    try:
        ledger.check_reservation(key)
    except LedgerError as error:
        return f"It would be refused: {error}.", True
    said = {
        "reserved": "its cost is set aside already, and would not be charged again",
        "finished": "the same command returns its release, and costs nothing",
        "charged": "it is running, or failed, or is a stream; only a stream goes on",
    }[charge.state]
    return f"The key {key!r} is {charge.state} (entry {charge.entry}): {said}.", False


def is_paid(ledger: Ledger, key: str, *, again: bool) -> bool:
    """Whether a key has paid already, so that its command costs nothing more.

    Parameters
    ----------
    again : whether a key that was charged and has not finished goes on: of a stream.

    Raises
    ------
    UnfinishedError
        If it draws no more.
    LedgerError
        If it was reserved in a month that is over.
    """
    try:
        state = ledger.find(key).state
    except DphistError:
        return False
    ledger.check_reservation(key)
    if state == entries.CHARGED and not again:
        raise UnfinishedError(
            f"the key {key!r} was charged and has not finished: it is running, or failed. If it "
            "failed, choose another key, which costs again. Nothing was charged now"
        )
    return state != entries.CANCELED


# Options that do not say which data are released, or that the mechanism has.
_NOT_ABOUT = {
    *("output", "table", "report", "overwrite", "quiet", "json", "dry_run", "reserve", "again"),
    *("ledger", "account", "by", "key", "signing_key"),
    *("command", "config", "section", "configuration", "priced", "checked", "write"),
    *("dataset_file", "described", "largest", "filled", "lifted", "may_be_given", "dataset_name"),
    "described_lists",
    *(name for name in WORDS if name != "unit"),
    *("epsilon", "delta", "rho", "known_labels", "expected_total"),
    *("expect_total", "expect_users", "expect_shape", "expect_rows"),
    *("memory", "threads", "temp", "each_row_is_one_person"),
}


KEPT = "the ledger keeps the release: the same command with the same key writes it, at no cost"


def release_paid(
    mechanism: Any,
    options: argparse.Namespace,
    place: str,
    data: Deferred,
    *,
    alone: bool = True,
    kept: str = KEPT,
) -> tuple[Release, bool, list[str]]:
    """Charge what a release costs, and make it; return the first one where the key has one.

    Parameters
    ----------
    alone : whether no other release belongs to it; else how many more fit is not told.
    kept : what is said if the command is interrupted once the ledger has the release.

    Returns
    -------
    The release, whether it was charged now, and lines about the payment.
    """
    key: str = options.key
    charged = False

    def open_data() -> Any:
        nonlocal charged
        charged = True
        signals.set_note(
            f"the key {key!r} stays charged and does not draw again; a further attempt needs "
            "another key, which is charged again"
        )
        return data.open()

    with open_ledger(options, place) as ledger:
        signals.set_note(f"'dphist ledger log' says whether the key {key!r} was charged")
        try:
            release = ledger.release(
                mechanism,
                replace(data, open=open_data),
                presentation=read_presentation(options),
                configuration=getattr(options, "configuration", None),
                description=getattr(options, "described", None),
                **_paying(options),
            )
        except DphistError:
            if not charged:  # it was refused
                signals.set_note("")
            raise
        signals.set_note(kept)
        said = _tell_payment(ledger, release, mechanism, data, options, charged, alone)
        return release, charged, said


def describe_data(options: argparse.Namespace) -> str:
    """Return which data a command releases, as its options say; it goes into the key's hash.

    Without it, a command that was copied with its key would return the release of other data.
    """
    said = {name: value for name, value in vars(options).items() if name not in _NOT_ABOUT}
    paths = [os.path.realpath(name) for name in options.file]
    said["file"] = paths[0] if len(paths) == 1 else paths
    said["unit"] = get_unit_name(options)
    # Keys of earlier versions stand for this too.
    typed = options.command.name_options(options)
    names = {name: typed.get(name) for name in ("shape", "total")}
    said["called"] = {name: option for name, option in names.items() if option} or None
    return canonical({k: _plain(v) for k, v in said.items() if v is not None and v is not False})


def _plain(value: Any) -> Any:
    """Return what JSON holds of an option: of keys and bins of a description, their content."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value.to_content() if isinstance(value, Axis | Key) else value


def _tell_payment(
    ledger: Ledger,
    release: Release,
    mechanism: Any,
    data: Deferred,
    options: argparse.Namespace,
    charged: bool,
    alone: bool,
) -> list[str]:
    """Say what was charged, and what is left; or that nothing was."""
    stated = release.provenance
    entry = f"as entry {stated['entry']}"
    if not charged:
        made = release.presentation.date
        date = "" if made is None else f" of {made}"
        meant = "" if options.again else "; --again says that this is meant"
        return [
            f"The key {options.key!r} was released before, {entry}: this is that release{date}. No "
            f"data were read, and nothing was charged{meant}."
        ]
    lines = [f"Charged to {stated['account']!r} {entry} of the ledger {ledger.name!r}."]
    if alone:
        room = ledger.find_room(mechanism, by=options.by, account=options.account, data=data)
        lines.append(f"From now on, {room}.")
    for name in options.account or [None]:
        balance = ledger.balance(name)
        lines.append(f"Left in {balance.account!r}: {format_left(balance)}, of {balance.budget}.")
    return lines


def reserve(mechanism: Any, options: argparse.Namespace, place: str, data: Deferred) -> None:
    """Set aside what a release or a stream will cost, and print that; no data are opened."""
    with open_ledger(options, place) as ledger:
        ledger.reserve(mechanism, data=data, **_paying(options))
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
    unit = get_named_unit(options)
    with open_ledger(options, place) as ledger:
        signals.set_note(f"'dphist ledger log' says whether the key {options.key!r} was charged")
        try:
            stream = ledger.open_stream(
                options.state, mechanism, moved=options.moved, unit=unit, **_paying(options)
            )
        except DphistError:
            signals.set_note("")
            raise
        signals.set_note("")
        with stream:
            yield stream


def _paying(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "by": options.by,
        "key": options.key,
        "note": options.note or "",
        "account": options.account,
    }
