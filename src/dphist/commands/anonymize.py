"""dphist anonymize: how many labels have each count."""

import argparse
from functools import partial

from dphist.anonymized import AdaptiveScan
from dphist.anonymized.kind import KIND
from dphist.commands.meanings import help_of
from dphist.commands.options import Commands, UsageError, add_file, add_outputs
from dphist.commands.presenting import presentation_of
from dphist.commands.publishing import release_file
from dphist.commands.records import (
    add_records_dry_run,
    add_unit,
    check_unit,
    guesses_of,
    protected_of,
    say_dry_run,
    sensitivity_of,
)
from dphist.data.profile import Profile
from dphist.document.kind import DataFacts
from dphist.errors import ColumnError
from dphist.tables.engine.progress import Progress

_CALLED = {"total": "--expect-total", "shape": "--expect-shape"}


def add_anonymize(commands: Commands, summary: str) -> None:
    """Add the command; the list of commands shows the summary."""
    command = commands.add_parser(
        "anonymize",
        help=summary,
        description=(
            "Release an anonymized histogram: how many labels have each count, such as how many "
            "passwords are used by exactly 7 people."
        ),
        epilog=(
            "FILE is a profile with columns count,prevalence. With --label and --count, it has "
            "labels with their counts. With --label alone, it has one row per record. "
            "With --user and --max-records too, all records of a user are protected together. "
            "CSV, TSV (also gzip) and Parquet are read."
        ),
        allow_abbrev=False,
    )
    command.set_defaults(run=_anonymize, called=_CALLED)
    add_file(command)
    command.add_argument(
        "--epsilon",
        required=True,
        metavar="E",
        help=help_of(AdaptiveScan, "epsilon", " (such as 1, 0.1 or 1/3)"),
    )
    command.add_argument("--label", metavar="COLUMN", help="column of labels")
    command.add_argument("--count", metavar="COLUMN", help="column of counts; needs --label")
    add_unit(
        command,
        AdaptiveScan,
        user="column of users: who is protected; needs --label",
    )
    add_records_dry_run(command)
    command.add_argument(
        "--expect-shape",
        metavar="S",
        default="1",
        help="a public guess that the i-th largest count is proportional to 1 / i^S, also for the "
        "expected error of a dry run (default: 1)",
    )
    add_outputs(command, "count,prevalence")


def _anonymize(options: argparse.Namespace) -> None:
    _check_options(options)
    mechanism = AdaptiveScan(epsilon=options.epsilon, sensitivity=sensitivity_of(options))
    if options.dry_run:
        say_dry_run(KIND.document(mechanism, _data_of(options), None), mechanism, options)
        return
    release_file(mechanism, options, partial(_read, options), protected_of(options))


def _check_options(options: argparse.Namespace) -> None:
    if options.count is not None and options.label is None:
        raise UsageError("--count needs --label: the column of labels that are counted")
    if options.user is not None:
        if options.label is None:
            raise UsageError("--user needs --label: the column of labels that users have")
        if options.count is not None:
            raise UsageError("--user needs raw records, one a row: leave --count out")
    check_unit(options)
    if options.expect_shape != "1" and not options.dry_run:
        raise UsageError("--expect-shape is for --dry-run")


def _read(options: argparse.Namespace, progress: Progress | None) -> Profile:
    if options.label is None:
        try:
            return Profile.read(options.file, delimiter=options.delimiter)
        except ColumnError as error:
            raise error.within(
                "",
                ". If FILE has a row per record, or per label, give --label, the column of labels",
            ) from None
    return Profile.from_table(
        options.file,
        label=options.label,
        count=options.count,
        user=options.user,
        max_records=options.max_records,
        unit=options.unit,
        progress=progress,
        delimiter=options.delimiter,
    )


def _data_of(options: argparse.Namespace) -> DataFacts:
    """Return what the options say of data that are not read."""
    bounds = {} if options.max_records is None else {"max_records": options.max_records}
    return DataFacts(
        unit=protected_of(options).unit,
        bounds=bounds,
        presentation=presentation_of(options),
        guesses=guesses_of(options),
        shape=options.expect_shape,
    )
