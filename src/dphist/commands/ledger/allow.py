"""dphist ledger allow: a cap for a person or team."""

import argparse

from dphist.commands.ledger.opening import opened
from dphist.commands.ledger.options import add_cap, add_place, add_signing_key, budget_of
from dphist.commands.options import UsageError
from dphist.commands.printing import say
from dphist.ledger.charging import left_in_words


def add(command: argparse.ArgumentParser) -> None:
    """Add options and what the action does."""
    command.epilog = (
        "A cap lies below the account's total, and takes nothing from it: caps of several people "
        "may add up to more. Names are not checked: a ledger does not know who calls it."
    )
    command.set_defaults(run=_allow)
    add_place(command)
    command.add_argument("by", metavar="NAME", help="as in --by of a release")
    add_cap(command)
    command.add_argument("--remove", action="store_true", help="remove the cap")
    command.add_argument("--account", metavar="NAME", help="(default: the only one)")
    add_signing_key(command)


def _allow(options: argparse.Namespace) -> None:
    amounts = budget_of(options)
    given = [name for name, amount in amounts.items() if amount is not None]
    if options.remove and given:
        raise UsageError(f"--remove and --{given[0]} do not go together: leave one of them out")
    if not options.remove and options.epsilon is None and options.rho is None:
        raise UsageError("--epsilon or --rho must be given: the cap; or --remove")
    with opened(options) as ledger:
        ledger.allow(options.by, account=options.account, **amounts)
        if options.remove:
            say(f"{options.by!r} has no cap any more.")
            return
        balance = ledger.balance(options.account, by=options.by)
    left = left_in_words(balance.budget, balance.totals)
    say(f"{options.by!r} may spend {balance.budget} of {balance.account!r}; {left} is left.")
