"""dphist ledger log: the entries."""

import argparse
import json

from dphist.commands.ledger.entries import entries_csv, entries_json, entries_text
from dphist.commands.ledger.opening import opened
from dphist.commands.ledger.options import add_place
from dphist.commands.options import UsageError, add_spreadsheet_safe, whole
from dphist.commands.printing import say
from dphist.document.csv_field import MARK
from dphist.ledger.entries import Entry


def add(command: argparse.ArgumentParser) -> None:
    """Add options and what the action does."""
    command.epilog = (
        "A release that several accounts paid for has a line for each. Numbers in tables are "
        "rounded; those in JSON are exact."
    )
    command.set_defaults(run=_log)
    add_place(command)
    command.add_argument("--account", metavar="NAME", help="only entries of this account")
    command.add_argument("--by", metavar="NAME", help="only entries of this person or team")
    command.add_argument("--key", metavar="KEY", help="only entries of this key")
    command.add_argument("--last", type=whole, metavar="N", help="only the last N of them")
    how = command.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print a list of the entries as JSON")
    how.add_argument("--csv", action="store_true", help="print CSV")
    add_spreadsheet_safe(command, "with --csv")


def _log(options: argparse.Namespace) -> None:
    if options.last is not None and options.last < 1:
        raise UsageError("--last must be at least 1")
    if options.spreadsheet_safe and not options.csv:
        raise UsageError("--spreadsheet-safe needs --csv, which it is about")
    with opened(options) as ledger:
        entries = [entry for entry in ledger.entries() if _is_wanted(entry, options)]
    entries = entries[-options.last :] if options.last else entries
    if options.json:
        say(json.dumps(entries_json(entries)))
    elif options.csv:
        if options.spreadsheet_safe:
            print(MARK, end="")
        say(entries_csv(entries, spreadsheet_safe=options.spreadsheet_safe), end="")
    elif entries:
        say(entries_text(entries), end="")
    else:
        say("There are no such entries.")


def _is_wanted(entry: Entry, options: argparse.Namespace) -> bool:
    content = entry.content
    accounts = [content.get("account"), content.get("name") if entry.action == "account" else None]
    accounts += [part["account"] for part in content.get("costs", [])]
    return (
        (options.account is None or options.account in accounts)
        and (options.by is None or content.get("by") == options.by)
        and (options.key is None or content.get("key") == options.key)
    )
