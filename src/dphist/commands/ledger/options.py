"""Options that name a ledger, and say who pays for what.

Nothing here imports the ledger: a command that uses none starts as fast as before.
"""

import argparse
import os
from pathlib import Path

from dphist.commands.options import UsageError
from dphist.durable.address import is_address

LEDGER, BY, SIGNING_KEY = "DPHIST_LEDGER", "DPHIST_BY", "DPHIST_SIGNING_KEY"
"""Environment variables that stand in for --ledger, --by and --signing-key."""

_PAYING = ("account", "by", "key", "signing_key", "reserve")


def add_payment(command: argparse.ArgumentParser) -> None:
    """Add the options with which a release is paid for from a ledger."""
    group = command.add_argument_group(
        "ledger",
        "With a ledger, what the release costs is charged durably before FILE is opened, and "
        "refused with exit code 3 if it does not fit. The same command with the same key returns "
        "the first release again, at no cost.",
    )
    group.add_argument(
        "--ledger",
        metavar="FILE|URL",
        help=f"pay from this ledger: a file, or a postgresql:// address (default: ${LEDGER})",
    )
    group.add_argument(
        "--account",
        action="append",
        metavar="NAME",
        help="account to charge; give it several times to charge several, all or none (default: "
        "the only one)",
    )
    group.add_argument(
        "--by",
        metavar="NAME",
        help=f"the person or team that pays; needed with a ledger (default: ${BY})",
    )
    group.add_argument(
        "--key",
        metavar="KEY",
        help="a name that you choose for this release; needed with a ledger",
    )
    group.add_argument(
        "--reserve",
        action="store_true",
        help="only set the cost aside; the same command without --reserve uses it, and 'dphist "
        "ledger cancel KEY' gives it back",
    )
    add_signing_key(group)


def add_place(command: argparse.ArgumentParser) -> None:
    """Add the ledger that a command is about."""
    text = f"a file, or a postgresql:// address (default: ${LEDGER})"
    command.add_argument("place", metavar="LEDGER", nargs="?", help=text)
    command.add_argument("--ledger", metavar="FILE|URL", help="the same, as an option")


def add_signing_key(command: "argparse.ArgumentParser | argparse._ArgumentGroup") -> None:
    """Add the option that names the key which signs new entries."""
    command.add_argument(
        "--signing-key",
        metavar="PEM",
        help=f"private key (Ed25519) that signs the entry (default: ${SIGNING_KEY})",
    )


def add_budget(command: argparse.ArgumentParser) -> None:
    """Add the options that state the budget of an account, and whom it protects."""
    _add_epsilon_or_rho(command, required=True)
    command.add_argument(
        "--delta-of-entries",
        metavar="D",
        help="the part of delta that the releases' own deltas may add up to (default: half)",
    )
    command.add_argument(
        "--unit", required=True, metavar="TEXT", help='whom it protects, such as "one patient"'
    )
    command.add_argument("--dataset", default="", metavar="TEXT", help="what the data are")
    add_signing_key(command)


def add_cap(command: argparse.ArgumentParser) -> None:
    """Add the options that state a cap."""
    _add_epsilon_or_rho(command, required=False)


def _add_epsilon_or_rho(command: argparse.ArgumentParser, *, required: bool) -> None:
    cost = command.add_mutually_exclusive_group(required=required)
    cost.add_argument("--epsilon", metavar="E", help="such as 2, 0.5 or 1/3")
    cost.add_argument("--rho", metavar="R", help="or, for zero-concentrated privacy, rho")
    command.add_argument(
        "--delta", metavar="D", help="such as 1e-6 (default: none, or the account's for a cap)"
    )


def budget_of(options: argparse.Namespace) -> dict[str, str | None]:
    """Return the numbers of a budget as they were typed."""
    names = ("epsilon", "delta", "rho", "delta_of_entries")
    return {name: getattr(options, name) for name in names if hasattr(options, name)}


def place_to_pay(options: argparse.Namespace) -> str | None:
    """Return the ledger that a release is paid from, None for none, and check what goes with it.

    Raises
    ------
    UsageError
        If an option of the payment has no ledger, or the ledger lacks one.
    """
    if options.ledger == "":
        raise UsageError(f"--ledger must name a ledger; to release without one, unset {LEDGER}")
    place = options.ledger or os.environ.get(LEDGER) or None
    if place is None:
        given = [name for name in _PAYING if getattr(options, name)]
        if given:
            raise UsageError(f"{_option(given[0])} needs --ledger: the ledger to pay from")
        return None
    options.by = options.by if options.by is not None else os.environ.get(BY) or None
    missing = [_option(name) for name in ("by", "key") if getattr(options, name) is None]
    if missing and not options.dry_run:
        whence = "" if options.ledger else f", and {LEDGER} names one"
        raise UsageError(
            f"{' and '.join(missing)} must be given with a ledger{whence}: who pays, and a name "
            "for the release, such as --by ana --key ages-2026-11"
        )
    if options.reserve and options.dry_run:
        raise UsageError("--reserve and --dry-run do not go together: leave one of them out")
    options.ledger = place
    return existing(place)


def place_of(options: argparse.Namespace) -> str:
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


def existing(place: str) -> str:
    """Return the place of a ledger; UsageError if it is a file that is not there."""
    if not is_address(place) and not Path(place).exists():
        raise UsageError(f"there is no ledger at {place}; 'dphist ledger create' makes one")
    return place


def is_file(place: str) -> bool:
    """Whether a ledger is kept in a file."""
    return not is_address(place)


def signing_key_of(options: argparse.Namespace) -> str | None:
    """Return the file of the key that signs new entries, None for none."""
    given: str | None = options.signing_key
    return given or os.environ.get(SIGNING_KEY) or None


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
