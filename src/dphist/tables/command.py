"""dphist tables: its options, as the kind declares them."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from dphist.data.clamp import read_sum
from dphist.data.counting import state_treatment
from dphist.data.weight import Weight, state_weight
from dphist.document.kind import DataFacts, Releasing
from dphist.document.options import (
    NULL_USERS,
    Excludes,
    Needs,
    OneOf,
    Option,
    Table,
    make_option,
    split_parts,
    whole,
)
from dphist.document.reading_options import WIDE, get_files, name_wide_columns
from dphist.errors import ParameterError
from dphist.privacy import ZCDP, PureDP
from dphist.privacy.epsilon_search import down
from dphist.tables.by_table import read_numbers
from dphist.tables.keyed_counts import KeyedCounts
from dphist.tables.keys import OTHER, Key, Keys
from dphist.tables.mechanism import Tables
from dphist.tables.row_bounds import state_bounds
from dphist.tables.written_keys import read_edge, read_keys

TABLES_OPTION = Option(
    "tables",
    "the tables, each its keys with + between them, such as region,sex+age",
    "TABLE,TABLE,...",
    split_parts,
    required=True,
)

KEYS_OPTION = Option(
    "axis",
    "a key: the column and its public values, as NAME=A,B,C or NAME=@FILE with one value a "
    "line; or bins, as NAME=START:STOP:WIDTH or NAME=edges:E0,E1,... for numbers and dates. "
    "Values that all are whole numbers, or true and false, are that: NAME=text:1,2 is text. "
    "Never take the values from the data",
    "NAME=VALUES",
    required=True,
    repeats=True,
    parameter="keys",
)

OTHER_OPTION = Option(
    "other",
    "keys that get one more value, other, for all other rows, those without a value included",
    "NAME,NAME,...",
    split_parts,
)

UNLISTED_OPTION = Option(
    "unlisted",
    "what is done with rows that have a value which another key does not list, or none: refuse "
    "them, or leave them out (default: error)",
    choices=("error", "drop"),
    default="error",
)

RANGES_OPTION = Option(
    "ranges",
    "keys whose values are read in ranges, such as age: noise in favor of sums of neighboring "
    "values, for which errors of cells are not all the same. Needs a delta or --rho",
    "NAME,NAME,...",
    split_parts,
    rules=[Excludes(["errors"], "errors of cells are not all the same then")],
)

ROWS_OPTION = make_option(
    Tables,
    "one_row_per",
    ", chosen at random ahead of --max-rows: such rows cost less than rows that may be alike. The "
    "key must list all its values. Needs a delta or --rho",
    rules=[
        Needs(["user"], "whose rows differ"),
        Excludes(["count", "wide"], "a row of several records has all of them for one value"),
        Excludes(["ranges"], "what two rows cost depends on their values then"),
    ],
)

_OPTIONS: Table = [
    replace(
        KEYS_OPTION,
        meaning=f"{KEYS_OPTION.meaning}. Or NAME=discover:SHARE or NAME=discover:SHARE:N: the "
        "values that enough rows have are found first, with that share of the budget, such as 0.3, "
        "at most N (default: 1000); other rows are other",
    ),
    TABLES_OPTION,
    OTHER_OPTION,
    UNLISTED_OPTION,
    WIDE,
    Option(
        "count",
        "column of counts, if FILE is counted already and a row stands for several records. "
        "Without --user and --max-rows, one of these records is protected; with --max-rows alone, "
        "a row, which counts at most that often",
        "COLUMN",
    ),
    Option(
        "weight",
        "column of weights, such as those of a survey, if a row counts as its weight, with their "
        "bounds and their unit, all public, such as w=0:20:0.01: others count as the bounds. "
        "A row is protected, or with --user a user, whose weights add up to at most --max-rows",
        "COLUMN=LOW:HIGH:STEP",
        Weight.from_text,
        rules=[
            Excludes(["count"], "a weight is how many records a row is"),
            Excludes(["wide"], "its columns are of counts"),
            Excludes(["sums"], "sums are of rows that count once"),
            Excludes(["one_row_per"], "a row of several records has all of them for one value"),
        ],
    ),
    OneOf(
        [
            make_option(Tables, "epsilon", " (such as 1, 0.1 or 1/3)"),
            make_option(Tables, "rho", " (such as 0.01)"),
        ],
        required=True,
    ),
    make_option(Tables, "delta", " (such as 1e-6)"),
    Option(
        "exchanged",
        "the budget is for a unit that is exchanged for another, in data of equal size; a unit "
        "that is added or removed costs less",
    ),
    Option(
        "weights",
        "weights of tables, by which variances are added up and minimized (default: every cell has "
        "the same error)",
        "TABLE=W,...",
        split_parts,
        rules=[Excludes(["errors"], "errors say how the tables share the cost, too")],
    ),
    Option(
        "errors",
        "standard errors of tables, at most in this ratio: region=2 may have twice that of the "
        "others",
        "TABLE=S,...",
        split_parts,
    ),
    Option(
        "impossible",
        "values that no record can have together, as everybody knows: the table marks their cells "
        "in one more column, impossible, and whole numbers are 0 there. Of bins it is "
        "NAME=START:STOP. Never take them from the data",
        "NAME=VALUE,...",
        repeats=True,
    ),
    RANGES_OPTION,
    ROWS_OPTION,
    make_option(
        Tables,
        "sums",
        ", such as spent=0:500:0.01, all public; the value of each row is clamped, and means are "
        "released too; may be given several times. Needs a delta or --rho",
        typed="--sum",
        value="COLUMN=LOW:HIGH:STEP",
        read=read_sum,
        repeats=True,
        rules=[
            Excludes(["count", "wide"], "values of single rows are summed"),
            Excludes(["one_row_per"], "what such rows cost is known of counts"),
        ],
    ),
    make_option(Tables, "sums_share"),
    NULL_USERS,
]

_BOUND = Option(
    "max_rows",
    "maximum number of rows of a user that are kept, chosen at random; needed with --user",
    "M",
    whole,
    least=1,
    rules=(Needs(["user", "count", "weight"], "whose rows are kept"),),
)


def read_impossible(given: list[str] | None, keys: Keys) -> list[dict[str, Any]] | None:
    """Read values that exclude each other as they are typed, such as sex=m,ward=maternity.

    Raises
    ------
    ParameterError

    >>> read_impossible(["sex=m,age=0:18"], read_keys(["sex=f,m", "age=edges:0,18,99"], None))
    [{'sex': 'm', 'age': (0, 18)}]
    """
    if given is None:
        return None
    found = []
    for text in given:
        pairs = [part.partition("=") for part in split_parts(text)]
        if len({name for name, _, _ in pairs}) < len(pairs) or not all(v for _, _, v in pairs):
            raise ParameterError(
                "impossible",
                "must be written as NAME=VALUE,NAME=VALUE, with each key once",
                "give the option again for other values",
            )
        if len(pairs) < 2:
            raise ParameterError(
                "impossible",
                "must name at least two keys each time, such as sex=m,ward=maternity",
                "leave a value that no record has out of the keys",
            )
        held = {key.name: key for key in keys}
        found.append({n: _read_value(held[n], v) if n in held else v for n, _, v in pairs})
    return found


def _read_value(key: Key, text: str) -> Any:
    """Read a value of a key, or of bins a range; a text that is none is refused later."""
    if key.axis is not None and not (key.other and text == OTHER):
        parts = text.split(":")
        half = len(parts) // 2  # a time has colons, too
        ends = ":".join(parts[:half]), ":".join(parts[half:])
        if len(parts) % 2 or not all(ends):
            raise ParameterError(
                "impossible",
                f"must give a range of bins of {key.name!r} as {key.name}=START:STOP: from an edge "
                "to below another",
            )
        return tuple(map(read_edge, ends))
    if text in ("true", "false") and isinstance(key.labels[0], bool):
        return text == "true"
    return next((value for value in key.labels if str(value) == text), text)


def make_mechanism(options: Any) -> Tables:
    """Return the mechanism that a command line asks for."""
    keys, weight = read_keys(options.axis, options.other), options.weight
    name_wide_columns(options, [key.name for key in keys])
    if weight is not None and options.user is None and options.max_rows is None:
        options.max_rows = weight.max_records  # of a row, which nothing else bounds
    make = partial(
        Tables,
        keys=keys,
        tables=options.tables,
        max_rows=options.max_rows or 1,
        weights=read_numbers(options.weights, "weights"),
        errors=read_numbers(options.errors, "errors"),
        impossible=read_impossible(options.impossible, keys),
        ranges=options.ranges,
        one_row_per=options.one_row_per,
        step=weight.step if weight else None,
        sums=options.sums,
        **({} if options.sums_share is None else {"sums_share": options.sums_share}),
    )
    made = make(rho=options.rho, epsilon=options.epsilon, delta=options.delta)
    return _price_exchange(make, made) if options.exchanged else made


def _price_exchange(make: Callable[..., Tables], asked: Tables) -> Tables:
    """Return the tables with the least noise of which an exchange costs at most what was asked.

    Raises
    ------
    ParameterError
        If values of a key are found: what an exchange costs then is not in proportion.
    """
    cost = asked.guarantee
    if isinstance(cost, PureDP):
        return make(epsilon=cost.epsilon / 2)
    if not isinstance(cost, ZCDP):
        raise ParameterError(
            "exchanged",
            "must be left out if values of a key are found",
            "list the values, or take the budget for a unit that is added or removed",
        )
    rho = cost.rho**2 / _find_rho_exchanged(make(rho=cost.rho))
    made = make(rho=down(rho))
    while _find_rho_exchanged(made) > cost.rho:  # scales are rounded, so not quite in proportion
        rho *= 1 - Fraction(1, 10**9)
        made = make(rho=down(rho))
    return made


def _find_rho_exchanged(tables: Tables) -> Fraction:
    stated = tables.exchanged
    assert isinstance(stated, ZCDP)  # noqa: S101 - as of all Gaussian tables of listed values
    return stated.rho


def read_counts(options: Any) -> KeyedCounts:
    """Count FILE by the keys."""
    return KeyedCounts.from_table(
        get_files(options),
        keys=read_keys(options.axis, options.other),
        unlisted=options.unlisted,
        count=options.weight or options.count,
        user=options.user,
        max_rows=options.max_rows,
        one_row_per=options.one_row_per,
        sums=options.sums,
        null_users=options.null_users or "refuse",
        delimiter=options.delimiter,
        unit=options.unit_name,
    )


def describe_data(options: Any) -> DataFacts:
    """Return what is known of FILE before it is read."""
    missing = state_treatment(options.null_users or "refuse")
    said = {} if missing is None else {"null_users": missing}
    said = said | state_bounds(options.unlisted, options.one_row_per)
    return DataFacts(bounds=said | state_weight(options.weight))


COMMAND = Releasing(
    summary="release counts by several keys that add up",
    text="Release tables of counts by several keys, such as region, sex and age, in one release: "
    "every cell has the same known error, and the tables add up to each other.",
    epilog="FILE has one row per record, unless --count is given. A row with a value that its key "
    "does not list, or with none, is refused when it is counted, unless --other names it or "
    "--unlisted is drop. The refusal is a yes or no about the data: give one of these wherever a "
    "program acts on it. If a key has bins, a field of a text file that is no number or time is "
    "refused even so: give Parquet there. With "
    "--user and --max-rows, all rows of a user are protected together. CSV, JSON lines, "
    "Parquet, spreadsheets, SQLite and zip are read.",
    columns="table,KEYS...,count,error,low,high",
    options=_OPTIONS,
    mechanism=make_mechanism,
    read=read_counts,
    data=describe_data,
    bound=_BOUND,
)
