"""What the commands that release share: whom a release protects, public lists, and the dry run."""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from dphist.commands.ledger.options import PAYMENT, Protected, find_place_to_pay
from dphist.commands.options import FILE, UsageError, dry_run, guess, outputs
from dphist.commands.presentation import (
    PRESENTATION,
    get_named_unit,
    get_unit_name,
    read_presentation,
    unit_option,
)
from dphist.commands.printing import say
from dphist.commands.publishing import (
    describe_existing,
    exchange_lines,
    find_in_the_way,
    release_file,
)
from dphist.commands.resources import RESOURCES, estimate_space
from dphist.commands.users_look import (
    USERS_BY_RECORDS,
    UsersLook,
    read_whole_or_auto,
    with_key_of_users,
)
from dphist.counting import redact_errors
from dphist.counting.engine.progress import Report
from dphist.data.counting import state_treatment
from dphist.document.blocks import JSON, Block, Document, Fact, Note, Section
from dphist.document.kind import DataFacts, Kind, Releasing
from dphist.document.options import Command, Excludes, Needs, Option, Table, make_option
from dphist.document.reading_options import READING, get_files
from dphist.errors import InputFileError, phrase
from dphist.foreign import refuse_header
from dphist.privacy.unit import ONE_ROW, ONE_USER, PrivacyUnit
from dphist.render.text import content, text
from dphist.tables.keys import Key

NAMES_USERS = Needs(["user"], "it says what the users of that column are")
"""What --unit needs."""
EACH_ROW = Option(
    "each_row_is_one_person",
    "state that nobody has two rows in FILE; needed without --user, unless FILE has counts. Each "
    "row is protected, so someone with several rows is protected less",
    rules=[Excludes(["user"], "users may have several rows")],
)

EXCHANGED = Option(
    "exchanged",
    "the budget is for a unit that is exchanged for another, in data of equal size: an exchange "
    "costs twice what a unit that is added or removed costs, so that costs half of it",
)

_GUESSES = (10_000, 1_000_000, 100_000_000)  # records, where no guess was given


def unit_options(
    mechanism: type, user: str, bounded: Needs, *rules: Needs | Excludes
) -> list[Option]:
    """Return the options that say whom a release protects.

    Parameters
    ----------
    mechanism : class of the mechanism.
    user : meaning of ``--user``.
    bounded : what ``--max-records`` needs.
    rules : what ``--user`` needs, and does not go with.
    """
    most = (
        "maximum number of records of a user that are kept, chosen at random; auto, as --user "
        "without it, finds the number with the smallest expected error, for 1/20 of the budget"
    )
    sets_it = Excludes(["sensitivity"], "users are bounded to a number of records, which sets it")
    rules_of_most = (bounded, Excludes(["sensitivity"], "it sets that"))
    return [
        Option("user", user, "COLUMN", rules=(*rules, sets_it)),
        EACH_ROW,
        unit_option(' (default: "user")', NAMES_USERS),
        Option("max_records", most, "M", read_whole_or_auto, least=1, rules=rules_of_most),
        USERS_BY_RECORDS,
        make_option(mechanism, "sensitivity"),
        EXCHANGED,
    ]


def dry_run_options(
    *, other: str | None = "", states: str = "guarantee and error", total: Option | None = None
) -> Table:
    """Return the options of a dry run, of what a release needs and says, and of who pays.

    Parameters
    ----------
    other : what a release itself may use in place of a guess of the total; None if it has no total.
    states : what a dry run prints.
    total : the option of a public guess (default: of the number of records).
    """
    records = guess("expect_total", "the number of records, for the expected error of a dry run")
    if other is not None:
        known = f"a release knows its private total{other}"
        records = replace(records, parameter="total", least=0, dry_run=known)
    return [*dry_run(states, total or records), RESOURCES, PRESENTATION, PAYMENT]


def check_protected(options: argparse.Namespace) -> None:
    """Refuse rows of which nothing is said of whose they are; data are not looked at.

    Raises
    ------
    UsageError
        Without ``--user`` and ``--each-row-is-one-person``, unless the options say that the input
        is counts, or how many records of it one person has.
    """
    said = ("user", "each_row_is_one_person", "count", "sensitivity")
    if all(getattr(options, name, None) in (None, False) for name in said):
        needed = "{user} is needed, the column of the people who are protected; or, if nobody has "
        needed += "two rows in FILE, {each_row_is_one_person}"
        raise UsageError(phrase(needed, each_row_is_one_person=True))


def get_sensitivity(options: argparse.Namespace, look: UsersLook | None = None) -> int:
    """Return how many records one unit changes at most; with a look, the largest such number."""
    if look is not None:
        return look.largest
    bound = options.max_records if options.sensitivity is None else options.sensitivity
    return 1 if bound is None else int(bound)


def get_protected(
    options: argparse.Namespace, look: UsersLook | None = None
) -> tuple[PrivacyUnit | None, int]:
    """Return whom the data will protect, as they will say themselves, and with how many records."""
    if look is None and options.max_records is None:
        return None, 1
    records = options.max_records if look is None else look.largest
    return _name_protected(options), records


def _name_protected(options: argparse.Namespace) -> PrivacyUnit:
    """Return whom data protect that are bounded: users, or rows of several records."""
    if options.user is None:
        return ONE_ROW
    unit = get_named_unit(options) or ONE_USER
    return replace(unit, or_rows=getattr(options, "null_users", None) == "separate")


def get_missing(options: argparse.Namespace) -> dict[str, str]:
    """Return what records state of rows without a user: nothing if they are refused."""
    said = state_treatment(options.null_users or "refuse")
    return {} if said is None else {"null_users": said}


def get_guesses(options: argparse.Namespace) -> tuple[int, ...]:
    """Return the numbers of records that a dry run states the error for."""
    return _GUESSES if options.expect_total is None else (options.expect_total,)


def release_or_quote(
    kind: Kind,
    mechanism: Any,
    options: argparse.Namespace,
    data: DataFacts,
    read: Callable[[Report | None], Any],
    *,
    records: int | None,
    more: Sequence[Block] = (),
    look: UsersLook | None = None,
) -> None:
    """Release what a file says, or print what that would cost: a dry run reads nothing.

    Parameters
    ----------
    data : what is known of the data before they are read.
    read : returns the data; called with what is to be told of the progress.
    records : maximum number of records of one unit of the data, if bounded.
    more : what a dry run says beyond the document of the kind.
    look : what is released first, of the same users.
    """
    known = replace(data, presentation=read_presentation(options))
    protected = data.unit, records
    if look is not None:
        known = replace(known, users=look.mechanism)
    if not options.dry_run:
        get_files(options).check_names(getattr(options, "delimiter", None))  # before a ledger pays
        release_file(mechanism, options, read, protected, look)
        return
    if look is not None and not options.quiet:
        more = [*look.describe(mechanism, known.guesses[0] if known.guesses else 0), *more]
        # Of a bound that is to be found, the errors are those that the look states.
        known = replace(known, guesses=() if look.bound is None else known.guesses)
    document = kind.document(mechanism, known, None)
    say_dry_run(document, mechanism, options, protected, more, look=look)


def say_dry_run(
    document: Document,
    mechanism: Any,
    options: argparse.Namespace,
    protected: Protected,
    more: Sequence[Block] = (),
    *,
    unread: str = "FILE was not opened.",
    look: UsersLook | None = None,
) -> None:
    """Print what is to be said of a release that is not made, its price and what it needs.

    Parameters
    ----------
    protected : whom the data will protect.
    more : what is to be said beyond the document.
    unread : says that no data were read.
    look : what is released first, of the same users.
    """
    price, quoted = _quote(mechanism, options, protected, look)
    if options.quiet:
        return
    lines, space = estimate_space(options, _find_way(options))
    # A stream that goes on may replace its outputs.
    there = [] if Path(getattr(options, "state", "")).is_file() else find_in_the_way(options)
    refused = [f"It would be refused: {describe_existing(there)}."] if there else []
    costs = exchange_lines(document, options)
    said = [Note(line) for line in (*costs, *lines, *price, *refused, unread)]
    shown = {**quoted, **space, "refused_outputs": there}
    facts = [Fact("", "", key, value, on=frozenset({JSON})) for key, value in shown.items()]
    whole = document.with_section(Section("run", "", [*more, *said, *facts]))
    say(json.dumps(content(whole)) if options.json else text(whole).rstrip())


def _quote(
    mechanism: Any, options: argparse.Namespace, protected: Protected, look: UsersLook | None
) -> tuple[list[str], dict[str, Any]]:
    """Return what a release would cost the ledger that the options name, in lines and for JSON."""
    place = find_place_to_pay(options)
    if place is None:
        return [], {}
    priced = getattr(options, "priced", None)
    if priced is not None and look is not None:
        priced.append((place, look.mechanism, (protected[0], 1), with_key_of_users(options).key))
    if priced is not None:  # several releases are added up before the first is made
        own = mechanism if look is None else look.price(mechanism)
        priced.append((place, own, protected, options.key))
        return [], {}
    from dphist.commands.ledger.payment import open_ledger, quote_price  # slow to import

    with open_ledger(options, place) as ledger:
        if look is not None:
            from dphist.commands.ledger.paid_look import quote_both

            return quote_both(ledger, look, mechanism, options, protected)
        return quote_price(ledger, mechanism, options, protected)


def _find_way(options: argparse.Namespace) -> str:
    """Return how FILE is counted, for the resources that this needs; empty for few rows."""
    given = vars(options)
    user = given.get("user") is not None
    if "column" in given:
        return "bins, user" if user or given.get("count") is not None else "bins"
    if "file" not in given or given.get("label") is None:
        return ""
    return "label, user" if user else "label"


def make_kind_command(kind: Kind, said: Releasing) -> Command:
    """Return a command that a kind declares."""

    bound = said.bound

    def run(options: argparse.Namespace) -> None:
        if bound is not None:
            check_protected(options)
            options.unit_name = get_unit_name(options)
        mechanism, data, records = (
            said.mechanism(options),
            said.data(options),
            said.records(options),
        )
        guesses = () if options.expect_total is None else (options.expect_total,)
        if bound is not None and getattr(options, bound.name) is not None:
            records = getattr(options, bound.name)
            data = replace(data, unit=_name_protected(options))
        known = replace(data, guesses=guesses)

        def read(_progress: Report | None) -> Any:
            return said.read(options)

        release_or_quote(kind, mechanism, options, known, read, records=records)

    users = [] if bound is None else [*READING, *_user_options(bound)]
    written = outputs(said.columns, below=[] if kind.may_hide_small else None)
    table = [FILE, *said.options, *users, *dry_run_options(other=None), *written]
    return Command(text=said.text, epilog=said.epilog, table=table, run=run)


def _user_options(bound: Option) -> list[Option]:
    """Return the options of a kind's command that say whom a release protects."""
    needs = Needs([bound.name], "how many rows of each user are kept at most")
    return [
        Option("user", "column of users: who is protected", "COLUMN", rules=[needs]),
        EACH_ROW,
        unit_option(' (default: "user")', NAMES_USERS),
        bound,
    ]


def read_known_labels(path: str | Key, column: str | None = None) -> list[Any]:
    """Read public labels: lines of text, the one column of a Parquet file, or of a description.

    Parameters
    ----------
    column : that holds the labels; a first line that is its name is a header.

    Raises
    ------
    InputFileError
        If the file is not that, or has a header.
    """
    if isinstance(path, Key):
        return [*path.values]
    if not Path(path).exists():
        raise UsageError(f"{path} does not exist")
    problem = InputFileError(
        f"{path} must hold known labels: a text file (UTF-8), one label a line, or a Parquet file "
        "of one column"
    )

    def read() -> list[Any]:
        if Path(path).suffix.lower() == ".parquet":
            table = pq.read_table(path)
            if table.num_columns != 1:
                raise problem
            return list(table.column(0).to_pylist())
        text = Path(path).read_text(encoding="utf-8-sig")
        return [line for line in (each.removesuffix("\r") for each in text.split("\n")) if line]

    labels: list[Any] = redact_errors(read, problem)
    if labels and Path(path).suffix.lower() != ".parquet":
        refuse_header(path, labels[0], column)
    if not labels or len({repr(label) for label in labels}) < len(labels):
        raise InputFileError(f"{path} must list at least one label, and each once")
    return labels
