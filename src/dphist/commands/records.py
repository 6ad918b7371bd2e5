"""What the commands over records share: whom a release protects, and what a dry run says."""

import argparse
import json

from dphist.commands.ledger.options import add_payment
from dphist.commands.ledger.quoting import Quote, quote
from dphist.commands.meanings import help_of
from dphist.commands.options import UsageError, add_dry_run, whole
from dphist.commands.presenting import add_presentation, add_unit_option, check_presentation
from dphist.commands.printing import say
from dphist.commands.publishing import Protected, in_the_way, refusal
from dphist.commands.resources import add_resources, space_of
from dphist.commands.user_unit import user_unit
from dphist.document.blocks import JSON, Document, Fact, Note, Section
from dphist.errors import ParameterError
from dphist.privacy.unit import ONE_ROW
from dphist.release.maker import Maker
from dphist.render.as_json import content
from dphist.render.text import text

_GUESSES = (10_000, 1_000_000, 100_000_000)  # records, where no guess was given


def add_unit(command: argparse.ArgumentParser, mechanism: type, user: str) -> None:
    """Add the options that say whom a release protects.

    Parameters
    ----------
    mechanism : class of the mechanism.
    user : help of ``--user``.
    """
    command.add_argument("--user", metavar="COLUMN", help=user)
    add_unit_option(command)
    command.add_argument(
        "--max-records",
        type=whole,
        metavar="M",
        help="maximum number of records of a user that are kept, chosen at random; needed with "
        "--user",
    )
    command.add_argument(
        "--sensitivity",
        type=whole,
        metavar="M",
        help=help_of(mechanism, "sensitivity", " (default: 1)"),
    )


def add_records_dry_run(command: argparse.ArgumentParser) -> None:
    """Add the options of a dry run, and where the release is written."""
    guess = "the number of records, for the expected error of a dry run"
    add_dry_run(command, "guarantee and error", "--expect-total", guess)
    add_resources(command)
    add_presentation(command)
    add_payment(command)


def check_unit(options: argparse.Namespace, *, of_rows: bool = False) -> None:
    """Refuse options of the unit that do not go together.

    Parameters
    ----------
    of_rows : whether the records of a row may be bounded, where there are no users.
    """
    alone = options.max_records is None or of_rows
    if options.user is None and not alone:
        raise UsageError("--user and --max-records go together: name both or neither")
    if options.user is not None and options.max_records is None:
        raise UsageError("--user and --max-records go together: name both or neither")
    if options.max_records is not None and options.sensitivity is not None:
        raise UsageError("--sensitivity is set by --max-records: leave one of them out")
    if options.max_records is not None and options.max_records < 1:
        raise ParameterError("max_records", "must be at least 1")
    user_unit(options)
    check_presentation(options)
    if options.expect_total is not None and not options.dry_run:
        tuned = hasattr(options, "expected_total")
        other = "; --expected-total divides the budget by a guess" if tuned else ""
        raise UsageError(
            f"--expect-total is for --dry-run; a release knows its private total{other}"
        )


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


def say_dry_run(document: Document, mechanism: Maker, options: argparse.Namespace) -> None:
    """Print what is to be said of a release that is not made; FILE is not opened."""
    say_planned(
        document, quote(mechanism, options, protected_of(options)), _way_of(options), options
    )


def say_planned(document: Document, quoted: Quote, way: str, options: argparse.Namespace) -> None:
    """Print a document of a release that is not made, its price and the resources it needs.

    Parameters
    ----------
    way : how FILE is counted.
    """
    if options.quiet:
        return
    lines, space = space_of(options, way)
    there = in_the_way(options)
    refused = [f"It would be refused: {refusal(there)}."] if there else []
    shown = {**quoted.shown, **space, "refused_outputs": there}
    said = [Note(line) for line in (*lines, *quoted.said, *refused, "FILE was not opened.")]
    facts = [Fact("", "", key, value, on=frozenset({JSON})) for key, value in shown.items()]
    whole = document.with_section(Section("run", "", [*said, *facts]))
    say(json.dumps(content(whole)) if options.json else text(whole).rstrip())


def _way_of(options: argparse.Namespace) -> str:
    """Return how FILE is counted, for the resources that this needs; empty for a profile."""
    if hasattr(options, "column"):
        bounded = options.user is not None or options.count is not None
        return "bins, user" if bounded else "bins"
    if options.label is None:
        return ""
    return "label" if options.user is None else "label, user"
