"""dphist dataset check: whether a description fits its files; no row is read."""

import argparse
import json

from dphist.commands.ledger.options import check_exists
from dphist.commands.options import JSON, UsageError, argument
from dphist.commands.printing import say
from dphist.counting.reading.given_files import Files
from dphist.counting.reading.schema import read_schemas
from dphist.description import BOUNDS, Description
from dphist.document.options import Command
from dphist.errors import DphistError
from dphist.tables.keys import Keys

_WITHOUT = {
    "unit": 'a release says "one user"; add, for example, unit = "one patient"',
    "ledger": "nothing adds up what releases cost; add the path of one",
    "max_labels": "each program chooses the bound of labels; add a number",
    "max_records": "each program chooses the bound of records; add a number",
    "max_rows": "each program chooses the bound of rows; add a number",
}
"""What follows if a key is missing, and the remedy."""


def _check(options: argparse.Namespace) -> None:
    try:
        said = Description.read(options.description)
        schemas = _read_schemas(said)
        if said.ledger is not None:
            check_exists(said.ledger)
    except DphistError as error:
        raise UsageError(str(error)) from None
    advised = ("ledger",) if said.has_no_users else ("unit", "ledger", *BOUNDS)
    missing = [key for key in advised if key in _WITHOUT.keys() - said.facts]
    if options.json:
        found = {
            name: None if columns is None else dict(columns) for name, columns in schemas.items()
        }
        keys = {name: key.to_content() for name, key in said.keys.items()}
        facts = {"description": said.digest, "files": found, "keys": keys, "missing": missing}
        say(json.dumps(facts))
        return
    say(f"{said.path}: {said.digest}")
    for name, columns in schemas.items():
        listed = ", ".join(f"{column} ({kind})" for column, kind in columns or [])
        say(f"{name}: {listed or _say_unopened(said)}")
    for size in Keys(tuple(said.keys.values())).sizes():
        say(f"Public values: {size}.")
    for key in missing:
        say(f"Without {key}, {_WITHOUT[key]}.")
    say("No rows were read.")


def _say_unopened(said: Description) -> str:
    """Say what a file that was not opened leaves open."""
    if "query" in said.facts:
        return "not opened, so the query was not tried"
    return "not opened, for its columns stand among its rows"


def _read_schemas(said: Description) -> dict[str, list[tuple[str, str]] | None]:
    """Return the columns of the files, which have users, wide columns and those with keys."""
    facts, wide = said.facts, said.facts.get("wide", [])
    given = Files(said.files, **said.reading, wide=wide)
    made = (given.wide_label, given.wide_count) if wide else ()
    needed = [*wide, *(name for name in said.keys if name not in made)]
    return read_schemas(given, facts.get("user"), needed, facts.get("delimiter"))


_CHECK = Command(
    text="Check a description of a data set: its keys, that its ledger exists, and that each file "
    "has the column of users and those whose values are listed. Of files only header or footer are "
    "read, no rows. The exit code is 2 if something is wrong.",
    table=[argument("description", "the description", "TOML"), JSON],
    run=_check,
)
COMMAND = Command(
    text="Check what --dataset and dh.Dataset.open use.",
    epilog="The guide is docs/guides/dataset.md.",
    actions={"check": ("whether a description fits its files; no rows are read", _CHECK)},
)
