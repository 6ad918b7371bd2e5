"""dphist ledger export: the entries as a file."""

import argparse
import json
from pathlib import Path

from dphist.commands.ledger.entries import entries_csv, entries_json, entries_parquet
from dphist.commands.ledger.opening import opened
from dphist.commands.ledger.options import add_place
from dphist.commands.ledger.writing import add_overwrite, check_output, write_output
from dphist.commands.options import UsageError, add_spreadsheet_safe
from dphist.commands.printing import say
from dphist.ledger.entries import Entry

_SAFE = "spreadsheet-safe .csv"
_MAKERS = {
    ".csv": lambda entries: entries_csv(entries).encode(),
    _SAFE: lambda entries: entries_csv(entries, spreadsheet_safe=True).encode("utf-8-sig"),
    ".json": lambda entries: (json.dumps(entries_json(entries), indent=1) + "\n").encode(),
    ".parquet": entries_parquet,
}


def add(command: argparse.ArgumentParser) -> None:
    """Add options and what the action does."""
    command.epilog = (
        "The ending of FILE says what is written: .json has all of an entry, its hash and "
        "signature, with exact numbers; .csv and .parquet have a row for each account that an "
        "entry charges, with rounded numbers. Stored releases are not exported."
    )
    command.set_defaults(run=_export)
    add_place(command)
    command.add_argument("file", metavar="FILE", help="what is written: .csv, .json or .parquet")
    add_spreadsheet_safe(command, "in .csv")
    add_overwrite(command)


def _export(options: argparse.Namespace) -> None:
    form = Path(options.file).suffix.lower()
    if form not in _MAKERS:
        raise UsageError(f"{options.file} must end in .csv, .json or .parquet")
    if options.spreadsheet_safe and form != ".csv":
        raise UsageError("--spreadsheet-safe needs a file that ends in .csv, which it is about")
    make = _MAKERS[_SAFE if options.spreadsheet_safe else form]
    check_output(options.file, options)
    with opened(options) as ledger:
        entries: list[Entry] = list(ledger.entries())
    write_output(options.file, make(entries), options)
    say(f"wrote {options.file} ({len(entries):,} {'entry' if len(entries) == 1 else 'entries'})")
