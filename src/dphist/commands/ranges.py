"""dphist ranges: how many records lie in any range of a column."""

import argparse
import json
import math
import re
from typing import Any

from dphist.commands.options import Commands, UsageError, add_delimiter, add_outputs, whole
from dphist.commands.publishing import (
    check_paths,
    check_purpose,
    in_the_way,
    progress_bar,
    publish,
    say_in_the_way,
)
from dphist.data.axis.axis import Axis
from dphist.data.binned_counts import bin_counts
from dphist.errors import ParameterError
from dphist.ranges import (
    AdaptiveTree,
    HierarchicalTree,
    LeafCounts,
    RangesMechanism,
    best_range_mechanism,
)
from dphist.report import words
from dphist.report.delta_words import Number
from dphist.report.guarantees import guarantee_for, records_json
from dphist.report.ranges import words as ranges_words

EDGE_OPTIONS = ("--edges", "--start", "--stop")
_GUESSES = (10_000, 1_000_000, 100_000_000)  # records, where no guess was given
_WHOLE = re.compile(r"[+-]?[0-9]{1,300}")
_PUBLIC = (
    "edges are published with the release, so they must be fixed without looking at the data: "
    "give --edges 0,18,65,120, or --start 2024-01-01 --stop 2025-01-01 --width 1d"
)


def add_ranges(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "ranges",
        help="release how many records lie in any range",
        description=(
            "Release a histogram over one ordered column or several, such as records by hour, by "
            "age or by place, from which the records in any range can be told."
        ),
        epilog=(
            "FILE has one row a record; columns hold numbers, dates or times. A value is in a bin "
            "if it is at least its lower edge and below its upper one; what is in no bin, and "
            "missing values, are counted apart. Several columns are divided together: give "
            "--column, and then --edges, or --start, --stop and --width, once for each, in the "
            "same order. With --user and --max-records, all records of a user are protected "
            "together. CSV, TSV (also gzip) and Parquet are read."
        ),
        allow_abbrev=False,
    )
    command.set_defaults(run=_ranges)
    command.add_argument("file", metavar="FILE", help="the data; not opened by --dry-run")
    add_delimiter(command)
    command.add_argument(
        "--column", required=True, action="append", metavar="COLUMN", help="what is divided"
    )
    command.add_argument(
        "--edges",
        action="append",
        metavar="E0,E1,...",
        help="public edges of the bins: numbers, of which the first may be -inf and the last inf, "
        "or ISO dates or times",
    )
    command.add_argument("--start", action="append", metavar="A", help="or bins of one width: from")
    command.add_argument("--stop", action="append", metavar="B", help="to (met exactly)")
    command.add_argument(
        "--width",
        action="append",
        metavar="W",
        help="a number; of dates and times such as 15m, 1h, 1d, 1w",
    )
    cost = command.add_mutually_exclusive_group(required=True)
    cost.add_argument("--epsilon", metavar="E", help="for pure privacy; such as 1, 0.1, 1/3")
    cost.add_argument("--rho", metavar="R", help="for zero-concentrated privacy; such as 0.01")
    command.add_argument(
        "--sensitivity",
        type=whole,
        metavar="M",
        help="records that one unit (a person) can add or remove in all; 1 unless given",
    )
    command.add_argument("--user", metavar="COLUMN", help="column of users")
    command.add_argument(
        "--max-records",
        type=whole,
        metavar="M",
        help="records that a user keeps at most, chosen at random; needed with --user",
    )
    command.add_argument(
        "--mechanism",
        choices=("auto", "adaptive", "tree", "leaves"),
        default="auto",
        help="auto, unless given: what serves best, by the other options alone",
    )
    command.add_argument(
        "--workload",
        choices=("ranges", "prefix"),
        help="what is asked most: any ranges (unless given), or those from the first bin on",
    )
    command.add_argument("--dry-run", action="store_true", help="state guarantee and error only")
    command.add_argument(
        "--expect-total",
        type=whole,
        metavar="N",
        help="a public guess of the number of records, for the expected error of a dry run",
    )
    command.add_argument("--output", metavar="JSON", help="write the release here")
    add_outputs(command, "start,stop,count,error")


def _ranges(options: argparse.Namespace) -> None:
    if options.expect_total is not None and not options.dry_run:
        raise UsageError("--expect-total is for --dry-run; a release knows its private total")
    if (options.user is None) != (options.max_records is None):
        raise UsageError("--user and --max-records go together: name both or neither")
    if options.user is not None and options.sensitivity is not None:
        raise UsageError("--sensitivity is set by --max-records: leave one of them out")
    if options.max_records is not None and options.max_records < 1:
        raise ParameterError("max_records must be at least 1")
    bins = _bins_of(options)
    mechanism = _mechanism(options, tuple(axis.bins for axis in _axes(bins)))
    if options.dry_run:
        _print_dry_run(mechanism, options)
        return
    check_paths(options)
    check_purpose(options)
    asked: dict[str, Any] = {"column": options.column, **bins}
    if len(options.column) == 1:
        asked = {name: each[0] for name, each in asked.items()}
    asked |= {"user": options.user, "max_records": options.max_records}
    asked["delimiter"] = options.delimiter
    with progress_bar(shown=not (options.quiet or options.json)) as progress:
        counts = bin_counts(options.file, progress=progress, **asked)
    publish(mechanism.release(counts), options)


def _bins_of(options: argparse.Namespace) -> dict[str, list[Any]]:
    """Return the edges of each column, or start, stop and width of each."""
    given = {name: getattr(options, name) for name in ("edges", "start", "stop", "width")}
    given = {name: texts for name, texts in given.items() if texts is not None}
    if not given:
        raise UsageError(_PUBLIC)
    if "edges" in given and len(given) > 1:
        raise UsageError("--edges must be given alone, without --start, --stop and --width")
    if "edges" not in given:
        missing = [f"--{name}" for name in ("start", "stop", "width") if name not in given]
        if missing:
            raise UsageError(f"{' and '.join(missing)} needed too: {_PUBLIC}")
    for name, texts in given.items():
        if len(texts) != len(options.column):
            raise UsageError(
                f"--{name} must be given once for each --column, in the same order: "
                f"{len(options.column)} in all"
            )
    read = {"edges": _edges_of, "start": _value_of, "stop": _value_of, "width": _value_of}
    return {name: [read[name](text) for text in texts] for name, texts in given.items()}


def _edges_of(text: str) -> list[Any]:
    """Read edges: all of them numbers, or all of them as text."""
    texts = [part.strip() for part in text.split(",")]
    values = [_value_of(part) for part in texts]
    return texts if any(isinstance(value, str) for value in values) else values


def _value_of(text: str) -> int | float | str:
    """Read a number; leave everything else, dates and times, as text."""
    if _WHOLE.fullmatch(text):
        return int(text)
    try:
        number = float(text)
    except ValueError:
        return text
    too_large = math.isinf(number) and "inf" not in text.lower()
    return text if too_large or "_" in text else number


def _axes(bins: dict[str, list[Any]]) -> list[Axis]:
    """Return what is public of the data, so that everything is checked before a file is opened."""
    if "edges" in bins:
        return [Axis.from_edges(edges) for edges in bins["edges"]]
    parts = zip(bins["start"], bins["stop"], bins["width"], strict=True)
    return [Axis.regular(*part) for part in parts]


def _mechanism(options: argparse.Namespace, bins: tuple[int, ...]) -> RangesMechanism:
    """Return the mechanism; the choice looks at the options alone."""
    chosen: str = options.mechanism
    bound = options.sensitivity if options.sensitivity is not None else options.max_records
    shared = {
        "epsilon": options.epsilon,
        "rho": options.rho,
        "bins": bins,
        "sensitivity": 1 if bound is None else bound,
    }
    if chosen in ("tree", "leaves"):
        if options.workload is not None:
            raise UsageError("--workload is for --mechanism auto or adaptive")
        return HierarchicalTree(**shared) if chosen == "tree" else LeafCounts(**shared)
    shared["workload"] = options.workload or "ranges"
    return best_range_mechanism(**shared) if chosen == "auto" else AdaptiveTree(**shared)


def _print_dry_run(mechanism: RangesMechanism, options: argparse.Namespace) -> None:
    guesses = _GUESSES if options.expect_total is None else (options.expect_total,)
    errors = {guess: mechanism.expected_error(guess) for guess in guesses}
    if options.quiet:
        return
    unit = words.privacy_unit(mechanism.sensitivity, "one user" if options.user else None)
    guarantee = guarantee_for(mechanism.guarantee, "one user" if options.user else None)
    if options.json:
        print(
            json.dumps(
                {
                    "guarantee": records_json(mechanism, guarantee),
                    "mechanism": type(mechanism).__name__,
                    "bins": list(mechanism.bins),
                    "expected_error": {str(guess): error for guess, error in errors.items()},
                    "refused_outputs": in_the_way(options),
                }
            )
        )
        return
    print(f"Guarantee: {guarantee}, for {unit}.")
    units = options.expect_total and -(-options.expect_total // mechanism.sensitivity)
    number = Number(units, "records" if mechanism.sensitivity == 1 else "units", at_least=True)
    print(ranges_words.promise_in_words(guarantee, unit, number))
    print(mechanism.description)
    print(f"Bins: {' by '.join(f'{bins:,}' for bins in mechanism.bins)}.")
    for guess, error in errors.items():
        short = words.error_in_short(error)
        print(f"If there are {guess:,} records: a range is about {short} off.")
    say_in_the_way(options)
    print("FILE was not opened.")
