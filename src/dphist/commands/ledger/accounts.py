"""dphist ledger open: open a further account."""

import argparse
import json

from dphist.commands.ledger.opening import opened
from dphist.commands.ledger.options import add_budget, add_place, budget_of
from dphist.commands.ledger.words import account_in_words
from dphist.commands.printing import say
from dphist.commands.user_unit import unit_of


def add(command: argparse.ArgumentParser) -> None:
    """Add options and what the action does."""
    command.set_defaults(run=_open)
    add_place(command)
    command.add_argument("--account", required=True, metavar="NAME", help="name of the account")
    add_budget(command)
    command.add_argument("--json", action="store_true", help="print JSON")


def _open(options: argparse.Namespace) -> None:
    with opened(options) as ledger:
        ledger.open_account(
            options.account,
            **budget_of(options),
            unit=unit_of(options.unit),
            dataset=options.dataset,
        )
        (account,) = [each for each in ledger.accounts if each.name == options.account]
    if options.json:
        say(json.dumps({"account": account.to_content()}))
        return
    say(f"{account_in_words(account)}.")
