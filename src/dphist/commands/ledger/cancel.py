"""dphist ledger cancel: give back what was reserved."""

import argparse

from dphist.commands.ledger.opening import opened
from dphist.commands.ledger.options import add_place, add_signing_key
from dphist.commands.printing import say


def add(command: argparse.ArgumentParser) -> None:
    """Add options and what the action does."""
    command.epilog = "A charge is never given back: what it paid for may have looked at data."
    command.set_defaults(run=_cancel)
    add_place(command)
    command.add_argument("key", metavar="KEY", help="of the reservation")
    add_signing_key(command)


def _cancel(options: argparse.Namespace) -> None:
    with opened(options) as ledger:
        ledger.cancel(options.key)
    say(f"The reservation {options.key!r} was canceled.")
