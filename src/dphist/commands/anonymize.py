"""dphist anonymize: how many labels have each count."""

import argparse
from functools import partial

from dphist.anonymized import AdaptiveScan
from dphist.anonymized.kind import KIND
from dphist.commands.options import DELIMITER, FILE, guess, outputs
from dphist.commands.presentation import get_unit_name
from dphist.commands.records import (
    check_protected,
    dry_run_options,
    get_guesses,
    get_missing,
    get_protected,
    get_sensitivity,
    release_or_quote,
    unit_options,
)
from dphist.commands.users_look import check_found, make_users_look
from dphist.counting.engine.progress import Progress
from dphist.data.profile import Profile
from dphist.document.kind import DataFacts
from dphist.document.options import NULL_USERS, Command, Excludes, Needs, Option, option_of
from dphist.errors import ColumnError, phrase


def _anonymize(options: argparse.Namespace) -> None:
    if options.label is not None:
        check_protected(options)
    check_found(options)
    look, budget = make_users_look(options, partial(_read_bounded, options))
    mechanism = AdaptiveScan(**budget, sensitivity=get_sensitivity(options, look))
    unit, records = get_protected(options, look)
    data = DataFacts(
        unit=unit,
        bounds={} if unit is None else {"max_records": records, **get_missing(options)},
        guesses=get_guesses(options),
        shape=options.expect_shape,
    )
    read = partial(_read, options)
    release_or_quote(KIND, mechanism, options, data, read, records=records, look=look)


def _read(options: argparse.Namespace, progress: Progress | None) -> Profile:
    if options.label is None:
        try:
            return Profile.read(options.file, delimiter=options.delimiter)
        except ColumnError as error:
            remedy = ". If FILE has a row per record or label, give {label}, the column of labels"
            raise error.within("", phrase(remedy)) from None
    return _read_bounded(options, progress, options.max_records)


def _read_bounded(
    options: argparse.Namespace, progress: Progress | None, max_records: int | None
) -> Profile:
    return Profile.from_table(
        options.file,
        label=options.label,
        count=options.count,
        user=options.user,
        null_users=options.null_users or "refuse",
        max_records=max_records,
        unit=get_unit_name(options),
        progress=progress,
        delimiter=options.delimiter,
    )


COMMAND = Command(
    text="Release an anonymized histogram: how many labels have each count, such as how many "
    "passwords are used by exactly 7 people.",
    epilog="FILE is a profile with columns count,prevalence. With --label and --count, it has "
    "labels with their counts. With --label and "
    "--each-row-is-one-person, it has one row per record. With --label and --user, all records of "
    "a user are protected together. CSV, TSV (also gzip) and "
    "Parquet are read.",
    table=[
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
            Needs(["user"], "whose records are kept"),
            Needs(["label"], "the column of labels that users have"),
            Excludes(["count"], "users need raw records, one a row"),
        ),
        NULL_USERS,
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
    ],
    run=_anonymize,
)
