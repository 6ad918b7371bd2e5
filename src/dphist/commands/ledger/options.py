"""Options that name a ledger, and say who pays for what.

Nothing here imports the ledger: a command that uses none starts as fast as before.
"""

import argparse
import os
from pathlib import Path
from typing import TypeAlias

from dphist.commands.options import UsageError, argument
from dphist.document.options import Group, Option
from dphist.durable.address import is_address
from dphist.errors import Argument, join_arguments, phrase
from dphist.privacy import PrivacyUnit

Protected: TypeAlias = tuple[PrivacyUnit | None, int | None]
"""Whom data will protect that are not read yet, None if they name no unit, and the maximum
number of records of one such unit, if bounded: what they will say of themselves."""

LEDGER, BY, SIGNING_KEY = "DPHIST_LEDGER", "DPHIST_BY", "DPHIST_SIGNING_KEY"
"""Environment variables that stand in for --ledger, --by and --signing-key."""

_PAYING = ("account", "by", "key", "signing_key", "reserve", "again")
_NEEDED = {"by": "who pays", "key": "a name for the release"}
_EXAMPLES = {"by": "ana", "key": "ages-2026-11"}

_WHERE = f"a file, or a postgresql:// address (default: ${LEDGER})"
PLACE = [
    argument("place", _WHERE, "LEDGER", required=False),
    Option("ledger", "the same, as an option", "FILE|URL"),
]
"""The ledger that a command is about."""

SIGNING = Option(
    "signing_key", f"private key (Ed25519) that signs the entry (default: ${SIGNING_KEY})", "PEM"
)
PAYMENT = Group(
    "ledger",
    "With a ledger, what the release costs is charged durably before FILE is opened, and refused "
    "with exit code 3 if it does not fit. The same command with the same key returns the first "
    "release again, reads no data, and ends with exit code 6 unless --again is given.",
    [
        Option("ledger", f"pay from this ledger: {_WHERE}", "FILE|URL", parameter="place"),
        Option(
            "account",
            "account to charge; give it several times to charge several, all or none (default: the "
            "only one)",
            "NAME",
            repeats=True,
        ),
        Option(
            "by", f"the person or team that pays; needed with a ledger (default: ${BY})", "NAME"
        ),
        Option("key", "a name that you choose for this release; needed with a ledger", "KEY"),
        Option(
            "reserve",
            "only set the cost aside; the same command without --reserve uses it, and 'dphist "
            "ledger cancel KEY' gives it back",
        ),
        Option(
            "again",
            "returning the stored release of a key that was used before is meant: exit code 0",
        ),
        SIGNING,
    ],
)


def find_place_to_pay(options: argparse.Namespace) -> str | None:
    """Return the ledger that a release is paid from, None for none, and check what goes with it.

    Raises
    ------
    UsageError
        If an option of the payment has no ledger, or the ledger lacks one.
    """
    if options.ledger == "":
        other = phrase("{ledger} must name a ledger; to release without one, unset ")
        raise UsageError(other + LEDGER)
    place = options.ledger or os.environ.get(LEDGER) or None
    if place is None:
        for name in _PAYING:
            if getattr(options, name):
                raise UsageError(Argument(name) + phrase(" needs {ledger}: the ledger to pay from"))
        return None
    options.by = options.by if options.by is not None else os.environ.get(BY) or None
    missing = [name for name in ("by", "key") if getattr(options, name) is None]
    if missing and not options.dry_run:
        whence = "" if options.ledger else f", and {LEDGER} names one"
        meanings = ", and ".join(_NEEDED[name] for name in missing)
        needed = f" must be given with a ledger{whence}: {meanings}, such as "
        such = phrase(" and ".join(f"{{{name}}}" for name in missing), **_EXAMPLES)
        raise UsageError(join_arguments(missing) + needed + such)
    if options.reserve and options.dry_run:
        raise UsageError("--reserve and --dry-run do not go together: leave one of them out")
    options.ledger = place
    return check_exists(place)


def find_place(options: argparse.Namespace) -> str:
    """Return the ledger that a command is about.

    Raises
    ------
    UsageError
        If none is named, or two are.
    """
    if options.place is not None and options.ledger is not None:
        raise UsageError("name the ledger once: as LEDGER, or with --ledger")
    place = options.place or options.ledger or os.environ.get(LEDGER)
    if not place:
        raise UsageError(f"name the ledger: as LEDGER, with --ledger, or in {LEDGER}")
    return place


def check_exists(place: str) -> str:
    """Return the place of a ledger; UsageError if it is a file that is not there."""
    if not is_address(place) and not Path(place).exists():
        raise UsageError(f"there is no ledger at {place}; 'dphist ledger create' makes one")
    return place


def is_file(place: str) -> bool:
    """Whether a ledger is kept in a file."""
    return not is_address(place)


def find_signing_key(options: argparse.Namespace) -> str | None:
    """Return the file of the key that signs new entries, None for none."""
    given: str | None = options.signing_key
    return given or os.environ.get(SIGNING_KEY) or None
