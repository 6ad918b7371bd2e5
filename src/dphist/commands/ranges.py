"""dphist ranges: how many records lie in any range of a column."""

import argparse
from fractions import Fraction
from typing import Any

from dphist.commands.options import FILE, UsageError, outputs
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
from dphist.data.axis.axis import Axis
from dphist.data.binned_counts import BinnedCounts, bin_counts
from dphist.document.kind import DataFacts
from dphist.document.options import (
    NULL_USERS,
    Command,
    Needs,
    OneOf,
    Option,
    make_option,
    make_options,
    read_given,
    split_parts,
)
from dphist.document.reading_options import READING, get_files
from dphist.errors import Argument, join_arguments, phrase
from dphist.mechanism import read_meanings
from dphist.parameters import read_number, read_whole_number
from dphist.ranges import AdaptiveTree, HierarchicalTree, LeafCounts, RangesMechanism
from dphist.ranges.kind import KIND

_INFINITE = ("inf", "+inf", "-inf")
_PUBLIC = phrase(
    "edges are published with the release, so they must be fixed without looking at the data: give "
    "{edges}, or {start}, {stop} and {width} or {bins}",
    edges="0,18,65,120",
    start="2024-01-01",
    stop="2025-01-01",
    width="1d",
    bins="366",
)
_CHOSEN = {"adaptive": AdaptiveTree, "tree": HierarchicalTree, "leaves": LeafCounts}

_TABLE = [
    FILE,
    *READING,
    Option("column", "column that is binned", "COLUMN", required=True, repeats=True),
    Option(
        "edges",
        "public edges of the bins: numbers, where the first may be -inf and the last inf, or ISO "
        "dates or times",
        "E0,E1,...",
        repeats=True,
    ),
    Option("start", "first edge of bins of equal width", "A", repeats=True),
    Option("stop", "last edge: a whole number of widths from --start", "B", repeats=True),
    Option(
        "width",
        "width of a bin: a number, or for dates and times a duration, such as 15m, 1h, 1d or 1w",
        "W",
        repeats=True,
    ),
    Option(
        "bins",
        "instead of --width, the number of bins of equal width from --start to --stop",
        "N",
        repeats=True,
    ),
    Option(
        "tz",
        "time zone of edges that are dates or times, such as Europe/Zurich, for a column with a "
        "time zone; a day is then a calendar day there, of 23 to 25 hours. Once for all columns, "
        "or once for each, where none stands for no zone",
        "ZONE",
        repeats=True,
    ),
    Option(
        "count",
        "column of counts, if FILE is counted already and a row stands for several records. "
        "Without --user and --max-records, one of these records is protected; with --max-records "
        "alone, a row, which counts at most that often",
        "COLUMN",
    ),
    OneOf(
        [
            make_option(
                AdaptiveTree, "epsilon", "; gives a pure guarantee (such as 1, 0.1 or 1/3)"
            ),
            make_option(
                AdaptiveTree, "rho", "; gives a zero-concentrated guarantee (such as 0.01)"
            ),
        ],
        required=True,
    ),
    *unit_options(
        AdaptiveTree,
        "column of users: who is protected",
        Needs(["user", "count"], "whose records are kept"),
    ),
    NULL_USERS,
    Option(
        "mechanism",
        "the mechanism; auto chooses from the other options, never from the data (default: auto)",
        choices=("auto", *_CHOSEN),
        default="auto",
    ),
    *make_options(
        AdaptiveTree,
        but=("epsilon", "rho", "bins", "sensitivity"),
        expected_total={"more": ". Never take it from the data"},
    ),
    *dry_run_options(other="; --expected-total divides the budget by a guess"),
    *outputs("start,stop,count,error,low,high"),
]


def _ranges(options: argparse.Namespace) -> None:
    if len(set(options.column)) < len(options.column):
        raise UsageError(phrase("{column} must name each column once"))
    bins = _read_bins(options) | {"tz": _read_zones(options)}
    check_protected(options)
    check_found(options)
    asked: dict[str, Any] = {"column": options.column, **bins}
    if len(options.column) == 1:
        asked = {name: each[0] for name, each in asked.items()}
    asked |= {"count": options.count, "user": options.user}
    asked |= {"null_users": options.null_users or "refuse"}
    asked |= {"delimiter": options.delimiter, "unit": get_unit_name(options)}

    def read(progress: Progress | None, max_records: int | None) -> BinnedCounts:
        return bin_counts(get_files(options), progress=progress, max_records=max_records, **asked)

    look, budget = make_users_look(options, read, column=options.count)
    sensitivity = get_sensitivity(options, look)
    shape = tuple(axis.bins for axis in _axes(bins))
    mechanism = _mechanism(options, shape, budget | {"sensitivity": sensitivity})
    unit, records = get_protected(options, look)
    total = options.expected_total if options.expect_total is None else options.expect_total
    guesses = get_guesses(options) if total is None else (total,)
    release_or_quote(
        KIND,
        mechanism,
        options,
        DataFacts(unit=unit, bounds=get_missing(options), guesses=guesses),
        lambda progress: read(progress, options.max_records),
        records=records,
        look=look,
    )


def _read_bins(options: argparse.Namespace) -> dict[str, list[Any]]:
    """Return the edges of each column, or start, stop and width or number of bins of each."""
    regular = ("start", "stop", "width", "bins")
    read = {"edges": _read_edges, **dict.fromkeys(regular, _read_value)}
    given = {name: getattr(options, name) for name in read}
    given = {name: texts for name, texts in given.items() if texts is not None}
    if not given:
        raise UsageError(_PUBLIC)
    if "edges" in given and len(given) > 1:
        others = join_arguments(regular)
        raise UsageError(Argument("edges") + " must be given alone, without " + others)
    if "width" in given and "bins" in given:
        raise UsageError(phrase("{width} and {bins} say the same: give one of them"))
    missing = [name for name in regular[:3] if name not in given]
    if "bins" in given:
        missing.remove("width")
    if "edges" not in given and missing:
        needed = f" {'is' if len(missing) == 1 else 'are'} needed too: "
        raise UsageError(join_arguments(missing) + needed + _PUBLIC)
    for name, texts in given.items():
        if len(texts) != len(options.column):
            once = phrase(" must be given once for each {column}, in the same order: ")
            raise UsageError(Argument(name) + once + f"{len(options.column)} in all")
    return {name: [read[name](text) for text in texts] for name, texts in given.items()}


def _read_zones(options: argparse.Namespace) -> list[str | None]:
    """Return the time zone of the edges of each column; "none" for a column without one."""
    axes, given = len(options.column), options.tz or [None]
    if len(given) not in (1, axes):
        once = phrase("{tz} must be given once, or once for each {column}, in the same order: ")
        raise UsageError(once + f"{axes} in all")
    return [None if zone == "none" else zone for zone in given * (axes // len(given))]


def _read_edges(text: str | Axis) -> list[Any] | Axis:
    """Read edges: all of them numbers, or all as text; those of a description are an axis."""
    if isinstance(text, Axis):
        return text
    texts = split_parts(text)
    values = [_read_value(part) for part in texts]
    return texts if any(isinstance(value, str) for value in values) else values


def _read_value(text: str) -> int | float | Fraction | str:
    """Read a number, or that an edge is infinite; leave everything else, such as dates, as text."""
    if text in _INFINITE:
        return float(text)
    whole_number = read_whole_number(text)
    number = read_number(text) if whole_number is None else whole_number
    return text if number is None else number


def _axes(bins: dict[str, list[Any]]) -> list[Axis]:
    """Return what is public of the data, so that everything is checked before a file is opened."""
    if "edges" in bins:
        each = zip(bins["edges"], bins["tz"], strict=True)
        return [
            edges if isinstance(edges, Axis) else Axis.from_edges(edges, tz=zone)
            for edges, zone in each
        ]
    regular = (dict(zip(bins, each, strict=True)) for each in zip(*bins.values(), strict=True))
    return [Axis.regular(**given) for given in regular]


def _mechanism(
    options: argparse.Namespace, bins: tuple[int, ...], paid: dict[str, Any]
) -> RangesMechanism:
    """Return the mechanism, of this budget and sensitivity; the choice looks at options alone."""
    # By docs/guides/ranges.md the adaptive tree has the lowest error.
    chosen = _CHOSEN.get(options.mechanism, AdaptiveTree)
    given = read_given(options, options.command.options, AdaptiveTree)
    for name in given:
        if name not in read_meanings(chosen):
            auto, adaptive = (Argument("mechanism", each) for each in ("auto", "adaptive"))
            raise UsageError(Argument(name) + " is for " + auto + " or " + adaptive)
    made: RangesMechanism = chosen(bins=bins, **{**given, **paid})
    return made


COMMAND = Command(
    text="Release a histogram over one or more ordered columns, such as records by hour, by age or "
    "by place. It estimates the number of records in any range.",
    epilog="FILE has one row per record, unless --count is given; columns hold numbers, dates or "
    "times. A value is in a bin if it is at least the lower edge and below the upper edge. Values "
    "outside all bins and missing values are counted separately. For several columns, give "
    "--column once for each, and --edges, or --start, --stop and --width or --bins, as often and "
    "in the same order. With --user, all records of a user are protected "
    "together. CSV, JSON lines, Parquet, spreadsheets, SQLite and zip are read.",
    table=_TABLE,
    run=_ranges,
)
