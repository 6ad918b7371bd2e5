"""dphist anonymize: how many labels have each count."""

import argparse
from functools import partial

from dphist.anonymized import AdaptiveScan
from dphist.anonymized.kind import KIND
from dphist.commands.options import DELIMITER, FILE, guess, outputs
from dphist.commands.presentation import presentation_of, unit_name
from dphist.commands.publishing import release_file
from dphist.commands.records import (
    check_unit,
    dry_run_options,
    guesses_of,
    protected_of,
    say_dry_run,
    sensitivity_of,
    unit_options,
)
from dphist.data.profile import Profile
from dphist.document.kind import DataFacts
from dphist.document.options import Command, Excludes, Needs, Option, option_of
from dphist.errors import Argument, ColumnError
from dphist.tables.engine.progress import Progress

_TABLE = [
    FILE,
    DELIMITER,
    option_of(AdaptiveScan, "epsilon", " (such as 1, 0.1 or 1/3)", required=True),
    Option("label", "column of labels", "COLUMN"),
    Option(
        "count",
        "column of counts; needs --label",
        "COLUMN",
        rules=(Needs(["label"], "the column of labels that are counted"),),
    ),
    *unit_options(
        AdaptiveScan,
        "column of users: who is protected; needs --label",
        Needs(["label"], "the column of labels that users have"),
        Excludes(["count"], "users need raw records, one a row"),
    ),
    *dry_run_options(),
    guess(
        "expect_shape",
        "how fast counts fall: the i-th largest is proportional to 1 / i^S (default: 1)",
        value="S",
        read=str,
        default="1",
        parameter="shape",
    ),
    *outputs("count,prevalence"),
]


def _anonymize(options: argparse.Namespace) -> None:
    check_unit(options)
    mechanism = AdaptiveScan(epsilon=options.epsilon, sensitivity=sensitivity_of(options))
    if options.dry_run:
        document = KIND.document(mechanism, _data_of(options), None)
        say_dry_run(document, mechanism, options, protected_of(options))
        return
    release_file(mechanism, options, partial(_read, options), protected_of(options))


def _read(options: argparse.Namespace, progress: Progress | None) -> Profile:
    if options.label is None:
        try:
            return Profile.read(options.file, delimiter=options.delimiter)
        except ColumnError as error:
            raise error.within(
                "",
                ". If FILE has a row per record, or per label, give "
                + Argument("label")
                + ", the column of labels",
            ) from None
    return Profile.from_table(
        options.file,
        label=options.label,
        count=options.count,
        user=options.user,
        max_records=options.max_records,
        unit=unit_name(options),
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


COMMAND = Command(
    text="Release an anonymized histogram: how many labels have each count, such as how many "
    "passwords are used by exactly 7 people.",
    epilog="FILE is a profile with columns count,prevalence. With --label and --count, it has "
    "labels with their counts. With --label alone, it has one row per record. With --user and "
    "--max-records too, all records of a user are protected together. CSV, TSV (also gzip) and "
    "Parquet are read.",
    table=_TABLE,
    run=_anonymize,
)
