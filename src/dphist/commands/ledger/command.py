"""dphist ledger: one budget for all releases of a data set."""

import argparse
import json
import os
from pathlib import Path
from typing import Any

from dphist.atomic_files import check_output_path, staged_outputs
from dphist.commands.ledger.entries import entries_csv, entries_json, entries_parquet, entries_text
from dphist.commands.ledger.opening import keep_records_silent, opened
from dphist.commands.ledger.options import (
    LEDGER,
    PLACE,
    SIGNING,
    is_file,
    place_of,
    signing_key_of,
)
from dphist.commands.ledger.plan import PLAN
from dphist.commands.options import JSON, UsageError, overwrite, spreadsheet_safe
from dphist.commands.printing import say
from dphist.commands.publishing import refusal
from dphist.commands.user_unit import unit_of
from dphist.document.csv_field import MARK
from dphist.document.options import Command, Needs, OneOf, Option, Table, whole
from dphist.errors import OutputFileError
from dphist.ledger import Ledger
from dphist.ledger.book import Account
from dphist.ledger.charging import left_in_words
from dphist.ledger.entries import Entry
from dphist.render.text import content

_SAFE = "spreadsheet-safe .csv"
_MAKERS = {
    ".csv": lambda entries: entries_csv(entries).encode(),
    _SAFE: lambda entries: entries_csv(entries, spreadsheet_safe=True).encode("utf-8-sig"),
    ".json": lambda entries: (json.dumps(entries_json(entries), indent=1) + "\n").encode(),
    ".parquet": entries_parquet,
}


def _create(options: argparse.Namespace) -> None:
    keep_records_silent()
    ledger = Ledger.create(
        place_of(options),
        **_amounts(options),
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
        say(f"{_in_words(account)}.")
        say(f"Pay from it with --ledger {ledger.place}, or set {LEDGER}.")


def _open(options: argparse.Namespace) -> None:
    with opened(options) as ledger:
        ledger.open_account(
            options.account,
            **_amounts(options),
            unit=unit_of(options.unit),
            dataset=options.dataset,
        )
        (account,) = [each for each in ledger.accounts if each.name == options.account]
    if options.json:
        say(json.dumps({"account": account.to_content()}))
        return
    say(f"{_in_words(account)}.")


def _show(options: argparse.Namespace) -> None:
    _check_output(options.report, options)
    from dphist.ledger.document import document_of
    from dphist.render.text import text

    with opened(options) as ledger:
        document = document_of(ledger)
    if options.report is not None:
        from dphist.render.html import page  # draws, which is slow to import

        _write(options.report, page(document).encode(), options)
    if options.json:
        wrote = {} if options.report is None else {"wrote": {"report": options.report}}
        say(json.dumps({**content(document), **wrote}))
        return
    say(text(document), end="")
    if options.report is not None:
        say(f"\nwrote {options.report} (report)")


def _allow(options: argparse.Namespace) -> None:
    amounts = _amounts(options)
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


def _log(options: argparse.Namespace) -> None:
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


def _verify(options: argparse.Namespace) -> None:
    with opened(options, moved=options.moved) as ledger:
        entries = ledger.verify(options.public_key)
        last = list(ledger.entries())[entries - 1]
    signed = options.public_key is not None
    if options.json:
        found = {"ledger": ledger.name, "id": ledger.id, "entries": entries, "hash": last.hash}
        say(json.dumps({**found, "signed": signed}))
        return
    signatures = ", signatures included" if signed else " (signatures were not checked)"
    say(f"Everything is right{signatures}: {_how_many(entries)}.")
    say(f"The last is of {last.time} with the hash {last.hash}.")


def _cancel(options: argparse.Namespace) -> None:
    with opened(options) as ledger:
        ledger.cancel(options.key)
    say(f"The reservation {options.key!r} was canceled.")


def _close(options: argparse.Namespace) -> None:
    with opened(options) as ledger:
        ledger.close_account(options.account, options.note)
    say(f"The account {options.account!r} is closed: nothing more can be charged to it.")


def _export(options: argparse.Namespace) -> None:
    form = Path(options.file).suffix.lower()
    if form not in _MAKERS:
        raise UsageError(f"{options.file} must end in .csv, .json or .parquet")
    if options.spreadsheet_safe and form != ".csv":
        raise UsageError("--spreadsheet-safe needs a file that ends in .csv, which it is about")
    make = _MAKERS[_SAFE if options.spreadsheet_safe else form]
    _check_output(options.file, options)
    with opened(options) as ledger:
        entries: list[Entry] = list(ledger.entries())
    _write(options.file, make(entries), options)
    say(f"wrote {options.file} ({_how_many(len(entries))})")


def _amounts(options: argparse.Namespace) -> dict[str, str | None]:
    """Return the numbers of a budget or cap as they were typed."""
    names = ("epsilon", "delta", "rho", "delta_of_entries")
    return {name: getattr(options, name) for name in names if hasattr(options, name)}


def _how_many(entries: int) -> str:
    return f"{entries:,} {'entry' if entries == 1 else 'entries'}"


def _in_words(account: Account) -> str:
    about = f"; data: {account.dataset}" if account.dataset else ""
    return f"Account {account.name!r}: {account.budget}, for {account.unit}{about}"


def _check_output(path: str | None, options: argparse.Namespace) -> None:
    """Find what is wrong with an output before the ledger is read."""
    if path is None:
        return
    place = place_of(options)
    if is_file(place) and os.path.realpath(path) == os.path.realpath(place):
        raise UsageError(f"{path} is the ledger; writing there would destroy it")
    try:
        check_output_path(path)
    except OutputFileError as error:
        raise UsageError(*error.args) from None
    if not options.overwrite and os.path.lexists(os.path.realpath(path)):
        raise UsageError(refusal([path]))


def _write(path: str, content: bytes, options: argparse.Namespace) -> None:
    """Write a file whole or not at all, for its owner: it has names and purposes."""
    with staged_outputs() as staged:
        staged.write_private(path, content, replace=options.overwrite)


_REPLACED = overwrite("replace an output that already exists (default: refuse it)")
_ACCOUNT = Option("account", "the account (default: the only one)", "NAME")


def _amount(of: str, no_delta: str, *, required: bool) -> Table:
    """Return the options of a budget or a cap."""
    rho = f"rho of the {of}, in place of epsilon: for zero-concentrated privacy"
    return [
        OneOf(
            [
                Option("epsilon", f"epsilon of the {of}, such as 2, 0.5 or 1/3", "E"),
                Option("rho", rho, "R"),
            ],
            required,
        ),
        Option("delta", f"delta of the {of}, such as 1e-6 (default: {no_delta})", "D"),
    ]


_BUDGET = [
    *_amount("budget", "none", required=True),
    Option(
        "delta_of_entries",
        "the part of delta that the releases' own deltas may add up to (default: half)",
        "D",
    ),
    Option("unit", 'whom it protects, such as "one patient"', "TEXT", required=True),
    Option("dataset", "what the data are", "TEXT", default=""),
    SIGNING,
]

_ACTIONS: dict[str, tuple[str, Any, str | None, Table]] = {
    "create": (
        "make a ledger with one account",
        _create,
        "--epsilon alone allows pure releases, with --delta all; --rho alone allows zCDP, with "
        "--delta approximate zCDP. The budget is never renewed: new data with a unit of their own "
        "get an account of their own ('dphist ledger open').",
        [
            *_BUDGET,
            Option("account", "name of the account (default: main)", "NAME", default="main"),
            Option("name", "name of the ledger (default: that of the file or database)", "TEXT"),
            JSON,
        ],
    ),
    "open": (
        "open a further account in a ledger",
        _open,
        None,
        [Option("account", "name of the account", "NAME", required=True), *_BUDGET, JSON],
    ),
    "show": (
        "what was spent, by whom, and what is left",
        _show,
        "What is shown is computed from the entries. 'dphist show' shows a release.",
        [Option("report", "write a page with tables and a chart here", "HTML"), _REPLACED, JSON],
    ),
    "plan": PLAN,
    "allow": (
        "set a cap for a person or team",
        _allow,
        "A cap lies below the account's total, and takes nothing from it: caps of several people "
        "may add up to more. Names are not checked: a ledger does not know who calls it.",
        [
            Option(
                "by",
                "the person or team, as in --by of a release",
                typed="NAME",
                positional=True,
                required=True,
            ),
            *_amount("cap", "the account's", required=False),
            Option("remove", "remove the cap"),
            _ACCOUNT,
            SIGNING,
        ],
    ),
    "log": (
        "print the entries",
        _log,
        "A release that several accounts paid for has a line for each. Numbers in tables are "
        "rounded; those in JSON are exact.",
        [
            Option("account", "only entries of this account", "NAME"),
            Option("by", "only entries of this person or team", "NAME"),
            Option("key", "only entries of this key", "KEY"),
            Option("last", "only the last N of them", "N", whole, least=1),
            OneOf(
                [
                    Option("json", "print a list of the entries as JSON"),
                    Option("csv", "print CSV"),
                ]
            ),
            spreadsheet_safe("with --csv", Needs(["csv"], "what it changes")),
        ],
    ),
    "verify": (
        "recompute everything, and name the first entry that is wrong",
        _verify,
        "The hash chain, sums, caps, keys and stored releases are recomputed from the entries. The "
        "exit code is 1 if something is wrong, and the message names the first wrong entry. An "
        "older copy of a whole ledger is not wrong in itself: compare the number of entries, and "
        "the last hash, with a copy that you trust.",
        [
            Option("public_key", "public key (Ed25519) that all entries are signed for", "PEM"),
            Option(
                "moved",
                "accept a file that was copied here; its original must never be used again",
            ),
            JSON,
        ],
    ),
    "cancel": (
        "give back what was reserved",
        _cancel,
        "A charge is never given back: what it paid for may have looked at data.",
        [
            Option("key", "key of the reservation", typed="KEY", positional=True, required=True),
            SIGNING,
        ],
    ),
    "close": (
        "close an account for good",
        _close,
        "Nothing more can be charged to a closed account, and none is opened again.",
        [
            Option("account", "the account to close", "NAME", required=True),
            Option("note", "why, in your words", "TEXT", default=""),
            SIGNING,
        ],
    ),
    "export": (
        "write the entries to a file",
        _export,
        "The ending of FILE says what is written: .json has all of an entry, its hash and "
        "signature, with exact numbers; .csv and .parquet have a row for each account that an "
        "entry charges, with rounded numbers. Stored releases are not exported.",
        [
            Option(
                "file",
                "what is written: .csv, .json or .parquet",
                typed="FILE",
                positional=True,
                required=True,
            ),
            spreadsheet_safe("in .csv"),
            _REPLACED,
        ],
    ),
}


def _action(line: str, run: Any, epilog: str | None, table: Table) -> tuple[str, Command]:
    text = f"{line[0].upper()}{line[1:]}."
    return line, Command(text=text, epilog=epilog, table=[*PLACE, *table], run=run)


COMMAND = Command(
    text="Keep a ledger: accounts of privacy budget that hold across releases, people and years. A "
    "release with --ledger is charged before its data are opened.",
    epilog="A ledger is a file on a local disk, or a PostgreSQL database. DPHIST_LEDGER names the "
    "one that is meant where none is given. See 'dphist ledger ACTION --help'.",
    actions={name: _action(*each) for name, each in _ACTIONS.items()},
)
