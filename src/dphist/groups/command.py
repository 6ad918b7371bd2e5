"""dphist groups: its options, as the kind declares them."""

from typing import Any

from dphist.data.axis.axis import Axis
from dphist.document.kind import DataFacts, Releasing
from dphist.document.options import Needs, OneOf, Option, Table, make_option, whole
from dphist.document.reading_options import get_files
from dphist.errors import ParameterError
from dphist.groups.grouped_counts import GroupedCounts
from dphist.groups.grouping import as_groups, find_group, read_groups
from dphist.groups.mechanism import GroupedHistogram
from dphist.tables.keys import Keys
from dphist.tables.written_keys import read_keys

GROUP = Option(
    "group",
    "the column of the groups and its public values, as NAME=A,B,C or NAME=@FILE with one value a "
    "line; never take them from the data. Or NAME=discover:SHARE or NAME=discover:SHARE:N: groups "
    "with enough rows are found first, with that share of the budget, such as 0.2, at most N "
    "(default: 1000); other rows are the group other. Needs a delta",
    "NAME=VALUES",
    required=True,
    parameter="groups",
)

_OPTIONS: Table = [
    GROUP,
    Option(
        "column", "the column of numbers, dates or times that is binned", "COLUMN", required=True
    ),
    Option(
        "bins",
        "bins of the column, as START:STOP:WIDTH or edges:E0,E1,...; rows in no bin are left out",
        "BINS",
        required=True,
    ),
    Option("other", "count rows of no listed group, or without a value, as the group other"),
    Option(
        "count",
        "column of counts, if FILE is counted already and a row stands for several records. "
        "Without --user and --max-rows, one of these records is protected; with --max-rows alone, "
        "a row, which counts at most that often",
        "COLUMN",
    ),
    OneOf(
        [
            make_option(GroupedHistogram, "epsilon", " (such as 1, 0.1 or 1/3)"),
            make_option(GroupedHistogram, "rho", " (such as 0.01)"),
        ],
        required=True,
    ),
    make_option(GroupedHistogram, "delta", " (such as 1e-6)"),
    make_option(GroupedHistogram, "inner"),
    make_option(GroupedHistogram, "expected_total"),
]

_BOUND = Option(
    "max_rows",
    "maximum number of rows of a user that are kept, in all groups together, chosen at random; "
    "needed with --user",
    "M",
    whole,
    least=1,
    rules=(Needs(["user", "count"], "whose rows are kept"),),
)


def _read_groups(options: Any) -> Keys:
    keys = as_groups(lambda: read_keys([options.group], None))
    return read_groups(keys, other=options.other)


def read_bins(text: str | Axis) -> Axis:
    """Read bins as they are typed; those of a description are read already."""
    if isinstance(text, Axis):
        return text
    try:
        (key,) = read_keys([f"bins={text}"], None)
    except ParameterError as error:
        raise ParameterError("bins", error.fault, error.remedy) from None
    if key.axis is None:
        raise ParameterError("bins", "must be written as START:STOP:WIDTH or edges:E0,E1,...")
    return key.axis


def make_mechanism(options: Any) -> GroupedHistogram:
    """Return the mechanism that a command line asks for."""
    return GroupedHistogram(
        epsilon=options.epsilon,
        rho=options.rho,
        delta=options.delta,
        groups=_read_groups(options),
        bins=read_bins(options.bins).bins,
        max_rows=options.max_rows or 1,
        inner=options.inner or "AdaptiveTree",
        expected_total=options.expected_total,
    )


def read_counts(options: Any) -> GroupedCounts:
    """Count FILE by group and bin."""
    groups = _read_groups(options)
    return GroupedCounts.from_table(
        get_files(options),
        groups=groups,
        column=options.column,
        bins=read_bins(options.bins),
        other=find_group(groups).other and not groups.discovering,
        count=options.count,
        user=options.user,
        max_rows=options.max_rows,
        delimiter=options.delimiter,
        unit=options.unit_name,
    )


COMMAND = Releasing(
    summary="release quantiles and counts of each group",
    text="Release a histogram of a column, such as fares, for each group, such as a district, in "
    "one release: medians, other quantiles, means and counts of every group follow with intervals.",
    epilog="FILE has one row per record, unless --count is given. Rows in no bin, and of no listed "
    "group without --other, are left out. A field of a text file that is no number or time is "
    "refused: give Parquet there. With --user and --max-rows, all rows of a user are protected "
    "together, in all groups. CSV, JSON lines, Parquet, spreadsheets, "
    "SQLite and zip are read.",
    columns="GROUP,start,stop,count,error,low,high",
    options=_OPTIONS,
    mechanism=make_mechanism,
    read=read_counts,
    data=lambda _options: DataFacts(bounds={"unlisted": "drop"}),
    bound=_BOUND,
)
