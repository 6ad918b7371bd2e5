"""dphist anonymize: how many labels have each count."""

import argparse
import json
from collections.abc import Callable

from dphist.anonymized import AdaptiveScan, best_mechanism
from dphist.commands.options import Commands, UsageError, add_delimiter, add_outputs, whole
from dphist.commands.publishing import (
    check_paths,
    check_purpose,
    in_the_way,
    progress_bar,
    publish,
    say_in_the_way,
)
from dphist.data.profile import Profile
from dphist.errors import ParameterError
from dphist.report import words
from dphist.report.guarantees import guarantee_for, records_json

_GUESSES = (10_000, 1_000_000, 100_000_000)  # records, where no guess was given
_USER = "one user"


def add_anonymize(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "anonymize",
        help="release how many labels have each count",
        description=(
            "Release an anonymized histogram: how many labels have each count, such as how many "
            "passwords are used by exactly 7 people."
        ),
        epilog=(
            "FILE is a profile with columns count,prevalence; or, with --label and --count, "
            "labels with their counts; or, with --label alone, raw records, one a row. "
            "With --user and --max-records too, all records of a user are protected together. "
            "CSV, TSV (also gzip) and Parquet are read."
        ),
        allow_abbrev=False,
    )
    command.set_defaults(run=_anonymize)
    command.add_argument("file", metavar="FILE", help="the data; not opened by --dry-run")
    add_delimiter(command)
    command.add_argument("--epsilon", required=True, metavar="E", help="for example 1, 0.1, 1/3")
    command.add_argument("--label", metavar="COLUMN", help="column of labels")
    command.add_argument("--count", metavar="COLUMN", help="column of counts, beside --label")
    command.add_argument("--user", metavar="COLUMN", help="column of users, beside --label")
    command.add_argument(
        "--max-records",
        type=whole,
        metavar="M",
        help="records that a user keeps at most, chosen at random; needed with --user",
    )
    command.add_argument(
        "--sensitivity",
        type=whole,
        metavar="M",
        help="records that one unit (a user, an edge) can change in all; 1 unless given",
    )
    command.add_argument("--dry-run", action="store_true", help="state guarantee and error only")
    command.add_argument(
        "--expect-total",
        type=whole,
        metavar="N",
        help="a public guess of the number of records, for the expected error of a dry run",
    )
    command.add_argument(
        "--expect-shape",
        metavar="S",
        default="1",
        help="a public guess that the i-th count falls like 1 / i^S, for the same; 1 unless given",
    )
    command.add_argument("--output", metavar="JSON", help="write the release here")
    add_outputs(command, "count,prevalence")


def _anonymize(options: argparse.Namespace) -> None:
    _check_options(options)
    if options.max_records is not None and options.max_records < 1:
        raise ParameterError("max_records must be at least 1")
    bound = options.sensitivity if options.sensitivity is not None else options.max_records
    mechanism = best_mechanism(epsilon=options.epsilon, sensitivity=1 if bound is None else bound)
    if options.dry_run:
        _print_dry_run(mechanism, options)
        return
    check_paths(options)
    check_purpose(options)
    with progress_bar(shown=not (options.quiet or options.json)) as progress:
        profile = _read(options, progress)
    publish(mechanism.release(profile), options)


def _check_options(options: argparse.Namespace) -> None:
    if options.count is not None and options.label is None:
        raise UsageError("--count needs --label: the column of labels that are counted")
    if (options.user is None) != (options.max_records is None):
        raise UsageError("--user and --max-records go together: name both or neither")
    if options.user is not None:
        if options.label is None:
            raise UsageError("--user needs --label: the column of labels that users have")
        if options.count is not None:
            raise UsageError("--user needs raw records, one a row: leave --count out")
        if options.sensitivity is not None:
            raise UsageError("--sensitivity is set by --max-records: leave one of them out")
    if options.expect_total is not None and not options.dry_run:
        raise UsageError("--expect-total is for --dry-run; a release knows its private total")
    if options.expect_shape != "1" and not options.dry_run:
        raise UsageError("--expect-shape is for --dry-run")


def _read(options: argparse.Namespace, progress: Callable[[float], None] | None) -> Profile:
    if options.label is None:
        return Profile.read(options.file, delimiter=options.delimiter)
    return Profile.from_table(
        options.file,
        label=options.label,
        count=options.count,
        user=options.user,
        max_records=options.max_records,
        progress=progress,
        delimiter=options.delimiter,
    )


def _print_dry_run(mechanism: AdaptiveScan, options: argparse.Namespace) -> None:
    guesses = _GUESSES if options.expect_total is None else (options.expect_total,)
    errors = {guess: mechanism.expected_error(guess, options.expect_shape) for guess in guesses}
    if options.quiet:
        return
    unit = words.privacy_unit(mechanism.sensitivity, _USER if options.user else None)
    guarantee = guarantee_for(mechanism.guarantee, _USER if options.user else None)
    if options.json:
        print(
            json.dumps(
                {
                    "guarantee": records_json(mechanism, guarantee),
                    "mechanism": type(mechanism).__name__,
                    "expected_error": {str(guess): error for guess, error in errors.items()},
                    "refused_outputs": in_the_way(options),
                }
            )
        )
        return
    print(f"Guarantee: {guarantee}, for {unit}.")
    print(words.guarantee_in_words(guarantee, unit))
    print(mechanism.description)
    for guess, error in errors.items():
        print(f"If there are {guess:,} records: {words.error_in_words(error, guess)}.")
    say_in_the_way(options)
    print("FILE was not opened.")
