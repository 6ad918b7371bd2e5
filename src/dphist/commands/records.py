"""What the commands over records share: whom a release protects, and what a dry run says."""

import argparse
import json
from pathlib import Path

from dphist.commands.ledger.options import PAYMENT
from dphist.commands.ledger.quoting import quote
from dphist.commands.options import UsageError, dry_run, guess
from dphist.commands.presenting import PRESENTATION, check_presentation, unit_option
from dphist.commands.printing import say
from dphist.commands.publishing import Protected, in_the_way, refusal
from dphist.commands.resources import RESOURCES, space_of
from dphist.commands.user_unit import user_unit
from dphist.document.blocks import JSON, Document, Fact, Note, Section
from dphist.document.options import Excludes, Needs, Option, Table, option_of, whole
from dphist.errors import Argument, join_arguments
from dphist.privacy.unit import ONE_ROW
from dphist.release.maker import Maker
from dphist.render.text import content, text

NAMES_USERS = Needs(["user"], "it says what the users of that column are")
"""What --unit needs."""

_GUESSES = (10_000, 1_000_000, 100_000_000)  # records, where no guess was given


def unit_options(mechanism: type, user: str, *rules: Needs | Excludes) -> list[Option]:
    """Return the options that say whom a release protects.

    Parameters
    ----------
    mechanism : class of the mechanism.
    user : meaning of ``--user``.
    rules : what it needs, and does not go with.
    """
    return [
        Option("user", user, "COLUMN", rules=rules),
        unit_option(' (default: "user")', NAMES_USERS),
        Option(
            "max_records",
            "maximum number of records of a user that are kept, chosen at random; needed with "
            "--user",
            "M",
            whole,
            least=1,
        ),
        option_of(mechanism, "sensitivity"),
    ]


def dry_run_options(other: str = "") -> Table:
    """Return the options of a dry run, of what a release needs and says, and of who pays.

    Parameters
    ----------
    other : what else there is, for a release itself.
    """
    total = guess(
        "expect_total",
        "the number of records, for the expected error of a dry run",
        parameter="total",
        least=0,
        dry_run=f"a release knows its private total{other}",
    )
    return [*dry_run("guarantee and error", total), RESOURCES, PRESENTATION, PAYMENT]


def check_unit(options: argparse.Namespace, *, of_rows: bool = False) -> None:
    """Refuse options of the unit that do not go together.

    Parameters
    ----------
    of_rows : whether the records of a row may be bounded, where there are no users.
    """
    both = "user", "max_records"
    given = [name for name in both if getattr(options, name) is not None]
    if given == ["user"] or (given == ["max_records"] and not of_rows):
        raise UsageError(join_arguments(both) + " go together: name both or neither")
    if options.max_records is not None and options.sensitivity is not None:
        raise UsageError(
            Argument("sensitivity")
            + " is set by "
            + Argument("max_records")
            + ": leave one of them out"
        )
    user_unit(options)
    check_presentation(options)


def sensitivity_of(options: argparse.Namespace) -> int:
    """Return how many records one unit changes at most."""
    bound = options.max_records if options.sensitivity is None else options.sensitivity
    return 1 if bound is None else int(bound)


def protected_of(options: argparse.Namespace) -> Protected:
    """Return whom the data will protect, as they will say themselves."""
    if options.user is not None:
        return Protected(user_unit(options), options.max_records)
    if options.max_records is not None:
        return Protected(ONE_ROW, options.max_records)
    return Protected(None, 1)


def guesses_of(options: argparse.Namespace) -> tuple[int, ...]:
    """Return the numbers of records that a dry run states the error for."""
    return _GUESSES if options.expect_total is None else (options.expect_total,)


def say_dry_run(
    document: Document,
    mechanism: Maker,
    options: argparse.Namespace,
    protected: Protected,
    unread: str = "FILE was not opened.",
) -> None:
    """Print what is to be said of a release that is not made, its price and what it needs.

    Parameters
    ----------
    protected : whom the data will protect.
    unread : says that no data were read.
    """
    quoted = quote(mechanism, options, protected)
    if options.quiet:
        return
    lines, space = space_of(options, _way_of(options))
    # A stream that goes on may replace its outputs.
    there = [] if Path(getattr(options, "state", "")).is_file() else in_the_way(options)
    refused = [f"It would be refused: {refusal(there)}."] if there else []
    shown = {**quoted.shown, **space, "refused_outputs": there}
    said = [Note(line) for line in (*lines, *quoted.said, *refused, unread)]
    facts = [Fact("", "", key, value, on=frozenset({JSON})) for key, value in shown.items()]
    whole = document.with_section(Section("run", "", [*said, *facts]))
    say(json.dumps(content(whole)) if options.json else text(whole).rstrip())


def _way_of(options: argparse.Namespace) -> str:
    """Return how FILE is counted, for the resources that this needs; empty for few rows."""
    given = vars(options)
    user = given.get("user") is not None
    if "column" in given:
        return "bins, user" if user or given.get("count") is not None else "bins"
    if "file" not in given or given.get("label") is None:
        return ""
    return "label, user" if user else "label"
