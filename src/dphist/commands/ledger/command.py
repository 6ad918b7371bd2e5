"""dphist ledger: one budget for all releases of a data set."""

from importlib import import_module

from dphist.commands.options import CommandParser, Commands

# Each action with its line of the help and its module, whose function `add` adds it.
_ACTIONS = {
    "create": ("make a ledger with one account", "create"),
    "open": ("open a further account in a ledger", "accounts"),
    "show": ("what was spent, by whom, and what is left", "show"),
    "plan": ("whether releases would fit, before anything runs", "plan"),
    "allow": ("set a cap for a person or team", "allow"),
    "log": ("print the entries", "log"),
    "verify": ("recompute everything, and name the first entry that is wrong", "verify"),
    "cancel": ("give back what was reserved", "cancel"),
    "close": ("close an account for good", "close"),
    "export": ("write the entries to a file", "export"),
}


def add_ledger(commands: Commands, summary: str) -> None:
    """Add the command; the list of commands shows the summary."""
    command = commands.add_parser(
        "ledger",
        help=summary,
        description=(
            "Keep a ledger: accounts of privacy budget that hold across releases, people and "
            "years. A release with --ledger is charged before its data are opened."
        ),
        epilog=(
            "A ledger is a file on a local disk, or a PostgreSQL database. DPHIST_LEDGER names the "
            "one that is meant where none is given. See 'dphist ledger ACTION --help'."
        ),
        allow_abbrev=False,
    )
    actions = command.add_subparsers(required=True, metavar="ACTION", parser_class=CommandParser)
    for name, (line, module) in _ACTIONS.items():
        add = import_module(f"dphist.commands.ledger.{module}").add
        add(actions.add_parser(name, help=line, description=f"{line[0].upper()}{line[1:]}.",
                               allow_abbrev=False))  # fmt: skip
