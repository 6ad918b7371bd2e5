"""dphist ledger create: make a ledger with one account."""

import argparse
import json

from dphist.commands.ledger.opening import keep_records_silent
from dphist.commands.ledger.options import (
    LEDGER,
    add_budget,
    add_place,
    budget_of,
    place_of,
    signing_key_of,
)
from dphist.commands.ledger.words import account_in_words
from dphist.commands.printing import say
from dphist.commands.user_unit import unit_of
from dphist.ledger import Ledger


def add(command: argparse.ArgumentParser) -> None:
    """Add options and what the action does."""
    command.epilog = (
        "--epsilon alone allows pure releases, with --delta all; --rho alone allows zCDP, with "
        "--delta approximate zCDP. The budget is never renewed: new data with a unit of their own "
        "get an account of their own ('dphist ledger open')."
    )
    command.set_defaults(run=_create)
    add_place(command)
    add_budget(command)
    command.add_argument(
        "--account", default="main", metavar="NAME", help="name of the account (default: main)"
    )
    command.add_argument(
        "--name", metavar="TEXT", help="name of the ledger (default: that of the file or database)"
    )
    command.add_argument("--json", action="store_true", help="print JSON")


def _create(options: argparse.Namespace) -> None:
    keep_records_silent()
    ledger = Ledger.create(
        place_of(options),
        **budget_of(options),
        unit=unit_of(options.unit),
        account=options.account,
        dataset=options.dataset,
        name=options.name,
        signing_key=signing_key_of(options),
    )
    with ledger:
        (account,) = ledger.accounts
        if options.json:
            made = {"ledger": ledger.name, "id": ledger.id, "place": ledger.place}
            say(json.dumps({**made, "account": account.to_content()}))
            return
        say(f"Made the ledger {ledger.name!r} at {ledger.place}.")
        say(f"{account_in_words(account)}.")
        say(f"Pay from it with --ledger {ledger.place}, or set {LEDGER}.")
