"""dphist ledger: one budget for all releases of a data set."""

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from dphist.commands.described import with_dataset
from dphist.commands.ledger.options import LEDGER, PLACE, SIGNING, find_place, find_signing_key
from dphist.commands.ledger.payment import format_left, keep_records_silent, open_ledger
from dphist.commands.ledger.plan import PLAN
from dphist.commands.options import JSON, OVERWRITE, UsageError, argument, spreadsheet_safe
from dphist.commands.presentation import read_unit
from dphist.commands.printing import say
from dphist.commands.publishing import check_outputs
from dphist.document.csv_rows import MARK
from dphist.document.options import Command, Needs, OneOf, Option, Table, whole
from dphist.files import stage_outputs
from dphist.ledger import Ledger
from dphist.ledger.book import Account
from dphist.ledger.document import document_of_entries, make_document
from dphist.ledger.entries import Entry
from dphist.ledger.periods import MONTHLY
from dphist.ledger.spending import EACH_MONTH
from dphist.ledger.table import ENDINGS, to_csv, to_file, to_json
from dphist.ledger.words import how_many_entries
from dphist.privacy import PrivacyUnit
from dphist.render.text import content, text


def _create(options: argparse.Namespace) -> None:
    keep_records_silent()
    ledger = Ledger.create(
        find_place(options),
        **_read_amounts(options),
        unit=_read_unit(options),
        account=options.account or "main",
        dataset=options.dataset_name or "",
        renew=options.renew,
        name=options.name,
        signing_key=find_signing_key(options),
    )
    with ledger:
        (account,) = ledger.accounts
        if options.json:
            made = {"ledger": ledger.name, "id": ledger.id, "place": ledger.place}
            say(json.dumps({**made, "account": account.to_content()}))
            return
        say(f"Made the ledger {ledger.name!r} at {ledger.place}.")
        say(f"{_describe(account)}.")
        say(f"Pay from it with --ledger {ledger.place}, or set {LEDGER}.")


def _read_unit(options: argparse.Namespace) -> PrivacyUnit:
    unit = read_unit(options.unit)
    return replace(unit, exchanged=True) if options.exchanged else unit


def _open(options: argparse.Namespace) -> None:
    with open_ledger(options) as ledger:
        ledger.open_account(
            options.account,
            **_read_amounts(options),
            unit=_read_unit(options),
            dataset=options.dataset_name or "",
            renew=options.renew,
        )
        (account,) = [each for each in ledger.accounts if each.name == options.account]
    if options.json:
        say(json.dumps({"account": account.to_content()}))
    else:
        say(f"{_describe(account)}.")


def _show(options: argparse.Namespace) -> None:
    check_outputs([options.report], [find_place(options)], overwrite=options.overwrite)
    with open_ledger(options) as ledger:
        document = make_document(ledger)
    wrote = {}
    if options.report is not None:
        from dphist.render.html import page  # draws, which is slow to import

        _write(options.report, page(document).encode(), options)
        wrote = {"wrote": {"report": options.report}}
    if options.json:
        say(json.dumps({**content(document), **wrote}))
        return
    say(text(document), end="")
    if wrote:
        say(f"\nwrote {options.report} (report)")


def _allow(options: argparse.Namespace) -> None:
    with open_ledger(options) as ledger:
        ledger.allow(options.by, account=options.account, **_read_amounts(options))
        if options.remove:
            say(f"{options.by!r} has no cap any more.")
            return
        balance = ledger.balance(options.account, by=options.by)
    each = EACH_MONTH if balance.period else ""
    of, now = f"{balance.budget}{each} of {balance.account!r}", " now" if balance.period else ""
    say(f"{options.by!r} may spend {of}; {format_left(balance)} is left{now}.")


def _log(options: argparse.Namespace) -> None:
    with open_ledger(options) as ledger:
        entries = [each for each in ledger.entries() if _asks(options, each)]
        entries = entries[-options.last :] if options.last else entries
        document = document_of_entries(ledger, entries)
    if options.json:
        say(json.dumps(to_json(entries)))
    elif options.csv:
        if options.spreadsheet_safe:
            print(MARK, end="")
        say(to_csv(entries, spreadsheet_safe=options.spreadsheet_safe), end="")
    else:
        say(text(document), end="")


def _asks(options: argparse.Namespace, entry: Entry) -> bool:
    """Whether the options ask for an entry."""
    said = entry.content
    accounts = [said.get("account"), said.get("name") if entry.action == "account" else None]
    accounts += [part["account"] for part in said.get("costs", [])]
    return (
        (options.account is None or options.account in accounts)
        and (options.by is None or said.get("by") == options.by)
        and (options.key is None or said.get("key") == options.key)
    )


def _verify(options: argparse.Namespace) -> None:
    with open_ledger(options, moved=options.moved) as ledger:
        entries = ledger.verify(options.public_key)
        last = list(ledger.entries())[entries - 1]
    signed = options.public_key is not None
    if options.json:
        found = {"ledger": ledger.name, "id": ledger.id, "entries": entries, "hash": last.hash}
        say(json.dumps({**found, "signed": signed}))
        return
    signatures = ", signatures included" if signed else " (signatures were not checked)"
    say(f"Everything is right{signatures}: {how_many_entries(entries)}.")
    say(f"The last is of {last.time} with the hash {last.hash}.")


def _cancel(options: argparse.Namespace) -> None:
    with open_ledger(options) as ledger:
        ledger.cancel(options.key)
    say(f"The reservation {options.key!r} was canceled.")


def _close(options: argparse.Namespace) -> None:
    with open_ledger(options) as ledger:
        ledger.close_account(options.account, options.note)
    say(f"The account {options.account!r} is closed: nothing more can be charged to it.")


def _export(options: argparse.Namespace) -> None:
    ending = Path(options.output).suffix.lower()
    if ending not in ENDINGS:
        raise UsageError(f"{options.output} must end in .csv, .json or .parquet")
    if options.spreadsheet_safe and ending != ".csv":
        raise UsageError("--spreadsheet-safe is for a file that ends in .csv")
    check_outputs([options.output], [find_place(options)], overwrite=options.overwrite)
    with open_ledger(options) as ledger:
        entries = list(ledger.entries())
    made = to_file(entries, ending, spreadsheet_safe=options.spreadsheet_safe)
    _write(options.output, made, options)
    say(f"wrote {options.output} ({how_many_entries(len(entries))})")


def _read_amounts(options: argparse.Namespace) -> dict[str, str | None]:
    """Return the numbers of a budget or cap as they were typed."""
    names = ("epsilon", "delta", "rho", "delta_of_entries")
    return {name: getattr(options, name) for name in names if hasattr(options, name)}


def _describe(account: Account) -> str:
    about = f"; data: {account.dataset}" if account.dataset else ""
    budget = f"{account.budget}{EACH_MONTH if account.renew else ''}"
    return f"Account {account.name!r}: {budget}, for {account.unit}{about}"


def _write(path: str, made: bytes, options: argparse.Namespace) -> None:
    """Write a file whole or not at all, for its owner: it has names and purposes."""
    with stage_outputs() as staged:
        staged.write(path, made, replace=options.overwrite, private=True)


_ACCOUNT = Option("account", "the account (default: the only one)", "NAME")


def _amounts(of: str, no_delta: str, *others: Option) -> Table:
    """Return the options of a budget or a cap, one of which is required, or one of `others`."""
    epsilon = Option("epsilon", f"epsilon of the {of}, such as 2, 0.5 or 1/3", "E")
    rho = f"rho of the {of}, in place of epsilon: for zero-concentrated privacy"
    delta = f"delta of the {of}, such as 1e-6 (default: {no_delta})"
    return [
        OneOf([epsilon, Option("rho", rho, "R"), *others], required=True),
        Option("delta", delta, "D"),
    ]


_BUDGET = [
    *_amounts("budget", "none"),
    Option(
        "delta_of_entries",
        "the part of delta that the releases' own deltas may add up to (default: half)",
        "D",
    ),
    Option("unit", 'whom it protects, such as "one patient"', "TEXT", required=True),
    Option(
        "exchanged",
        "protect units that are exchanged for another, in data of equal size: the account charges "
        "what an exchange costs (default: units that are added or removed)",
    ),
    Option("dataset_name", "name of the data", "TEXT", parameter="dataset"),
    Option(
        "renew",
        "renew the budget in each calendar month (UTC): a promise per month, which adds up; "
        "after 12 months it is 12 times as much (default: one budget for all time)",
        choices=(MONTHLY,),
    ),
    SIGNING,
]


_ACTIONS: dict[str, tuple[str, Callable[[Any], None], str | None, Table]] = {
    "create": (
        "make a ledger with one account",
        _create,
        "--epsilon alone allows pure releases, with --delta all; --rho alone allows zCDP, with "
        "--delta approximate zCDP. Without --renew the budget is never renewed. New data with a "
        "unit of their own get an account of their own ('dphist ledger open').",
        [
            *_BUDGET,
            Option("account", "name of the account (default: main)", "NAME"),
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
        [Option("report", "write a page with tables and a chart here", "HTML"), OVERWRITE, JSON],
    ),
    "plan": PLAN,
    "allow": (
        "set a cap for a person or team",
        _allow,
        "A cap lies below the account's total, and takes nothing from it: caps of several people "
        "may add up to more. Names are not checked: a ledger does not know who calls it.",
        [
            argument("by", "the person or team, as in --by of a release", "NAME"),
            *_amounts("cap", "the account's", Option("remove", "remove the cap")),
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
                [Option("json", "print a list of the entries as JSON"), Option("csv", "print CSV")]
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
                "moved", "accept a file that was copied here; its original must never be used again"
            ),
            JSON,
        ],
    ),
    "cancel": (
        "give back what was reserved",
        _cancel,
        "A charge is never given back: what it paid for may have looked at data.",
        [argument("key", "key of the reservation", "KEY"), SIGNING],
    ),
    "close": (
        "close an account for good",
        _close,
        "Nothing more can be charged to a closed account, and none is opened again. With "
        "--dataset it is the account that the description names, or --account if it names none.",
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
            argument("output", "what is written: .csv, .json or .parquet", "FILE"),
            spreadsheet_safe("in .csv"),
            OVERWRITE,
        ],
    ),
}


def _action(
    line: str, run: Callable[[Any], None], epilog: str | None, table: Table
) -> tuple[str, Command]:
    text = f"{line[0].upper()}{line[1:]}."
    command = Command(text=text, epilog=epilog, table=[*PLACE, *table], run=run)
    return line, with_dataset(command)


COMMAND = Command(
    text="Keep a ledger: accounts of privacy budget that hold across releases, people and years. A "
    "release with --ledger is charged before its data are opened.",
    epilog="A ledger is a file on a local disk, or a PostgreSQL database. DPHIST_LEDGER names the "
    "one that is meant where none is given. See 'dphist ledger ACTION --help'.",
    actions={name: _action(*each) for name, each in _ACTIONS.items()},
)
