"""Releasing what was paid for from a ledger: the charge comes before the data."""

import argparse
import json
import os
from dataclasses import dataclass
from typing import Any

from dphist import signals
from dphist.commands.ledger.opening import opened_at
from dphist.commands.presenting import presentation_of, unit_name
from dphist.commands.printing import say
from dphist.errors import DphistError
from dphist.ledger import Deferred, Ledger
from dphist.ledger.charging import left_in_words
from dphist.ledger.entries import canonical
from dphist.release.presentation import WORDS
from dphist.release.release import Release

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
        signals.set_note(
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
        signals.set_note(f"'dphist ledger log' says whether the key {key!r} was charged")
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
                signals.set_note("")
            raise
        signals.set_note(
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
