"""dphist ledger close: close an account for good."""

import argparse

from dphist.commands.ledger.opening import opened
from dphist.commands.ledger.options import add_place, add_signing_key
from dphist.commands.printing import say


def add(command: argparse.ArgumentParser) -> None:
    """Add options and what the action does."""
    command.epilog = "Nothing more can be charged to a closed account, and none is opened again."
    command.set_defaults(run=_close)
    add_place(command)
    command.add_argument("--account", required=True, metavar="NAME", help="to close")
    command.add_argument("--note", default="", metavar="TEXT", help="why, in your words")
    add_signing_key(command)


def _close(options: argparse.Namespace) -> None:
    with opened(options) as ledger:
        ledger.close_account(options.account, options.note)
    say(f"The account {options.account!r} is closed: nothing more can be charged to it.")
