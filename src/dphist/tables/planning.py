"""What a plan of tables compares, and what a release of them shows."""

import math
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from dphist.document import planning
from dphist.document.blocks import PlusMinus
from dphist.document.options import Option, Table, make_option, split_parts, whole
from dphist.document.planning import Asked, Column, Found, Planning, Quantity, Row
from dphist.errors import ParameterError
from dphist.parameters import optional_whole, privacy_parameter, probability, whole_number
from dphist.privacy import PrivacyUnit
from dphist.release.release import Release
from dphist.tables.by_table import read_numbers
from dphist.tables.command import RANGES_OPTION, TABLES_OPTION
from dphist.tables.discover_keys import MAX_FOUND, DiscoverKeys
from dphist.tables.keys import MAX_VALUES, Key, Keys, read_tables
from dphist.tables.mechanism import Tables
from dphist.tables.row_bounds import read_one_row_per
from dphist.tables.words import LIKELY
from dphist.tables.written_keys import read_keys

_SIZE = "size:"
_COLUMNS = [
    Column(
        "max_rows",
        "Rows kept",
        "Rows of one {one} that are counted at most.",
        role="bound",
        counted=("row", "rows"),
    ),
    Column(
        "table",
        "Table",
        "One of the tables that a release has together, by its keys.",
        holds=str,
        role="bound",
    ),
    Column("cells", "Cells", "Cells of the table.", role="choice"),
    Column(
        "cell_error",
        "Cell ±",
        "The noise of each cell of the table is within this, in records, with a probability of "
        "about 95 %: 1.96 standard errors, or more where a delta of 0 asks for geometric noise.",
        holds=float,
        chart="Error of a cell",
        half=True,
    ),
    Column(
        "range_error",
        "Range ±",
        "The same for ranges of the keys that are read so, by the root of the mean square over all "
        "ranges; Cell ± is of the cell with the largest error then.",
        holds=float,
        half=True,
    ),
    Column(
        "of_mean_cell",
        "Of mean cell",
        "That error as a share of the mean cell of the table, if there are {total:,} records.",
        holds=float,
        share=True,
    ),
    Column(
        "found_from",
        "Found from",
        "A value that nobody listed is found if it has this many records, with a probability of "
        "95 % or more; of several such keys of a table, the largest.",
        not_given="-",
    ),
    planning.DELTA_TIMES_USERS,
]
_LIMIT = (
    "Small cells",
    "The error of a cell does not depend on its count, so it is a large share of a small one. Rows "
    "beyond the bound of a user are missing from the counts even without noise.",
)


def settings(
    *,
    keys: Any,
    tables: Any,
    epsilon: Any = planning.EPSILONS,
    delta: Any = None,
    max_rows: Any = 1,
    other: Sequence[str] = (),
    weights: Any = None,
    errors: Any = None,
    ranges: Any = None,
    one_row_per: str | None = None,
    found: Any = None,
    total: int | None = None,
    users: int | None = None,
) -> Iterator[Row]:
    """Yield what each table costs and is worth, beside all others; see `dphist.plan`."""
    people, records = optional_whole(users, "users", 1), optional_whole(total, "total", 1)
    held = _make_keys(keys, other)
    guessed = _read_found(found, held)
    if one_row_per is not None:
        named = Keys.read(_make_keys(keys, ()), other)
        one_row_per = read_one_row_per(one_row_per, named, 1)
    shared: dict[str, Any] = {
        name: dict(each) for name, each in (("weights", weights), ("errors", errors)) if each
    }
    if ranges:
        shared["ranges"] = ranges
    if one_row_per is not None:
        shared["one_row_per"] = one_row_per
    asked = planning.grid(
        max_rows=(max_rows, planning.one_or_more),
        delta=(planning.delta_or_advised(delta, people), _delta),
        tables=(list(read_tables(tables, held.names)), lambda names, _name: names),
        epsilon=(epsilon, privacy_parameter),
    )
    known: dict[tuple[Any, ...], _Worth] = {}
    for setting in asked:
        names = setting.pop("tables")
        place = tuple(setting.values())
        if place not in known:
            known[place] = _find_worth(Tables(keys=held, tables=tables, **setting, **shared), found)
        worth, table = known[place], "+".join(names)
        cells = math.prod(guessed.get(name, held[name].size) for name in names)
        error = worth.of_cells[table]
        row = {**setting, "table": table or "all", "cells": cells, "cell_error": error}
        if ranges:
            row["range_error"] = worth.of_ranges.get(table, error)
        if held.discovering:
            row["found_from"] = max(
                (worth.found_from[name] for name in names if name in guessed), default=None
            )
        if records is not None:
            row["of_mean_cell"] = error * cells / records
        if people is not None:
            row["delta_times_users"] = setting["delta"] * people
        yield row


def _make_keys(kept: Any, other: Sequence[str]) -> Keys:
    """Return keys with as many values as were asked for, or of which values are to be found."""
    sizes = dict(kept)
    if not {*other} <= {*sizes}:
        raise ParameterError("other", "must name keys")
    held = {
        name: range(size + (name in other)) if isinstance(size, int) else _read_search(size)
        for name, size in sizes.items()
    }
    return Keys.read(held)


def _read_search(kept: Any) -> DiscoverKeys:
    """Return how values are found, as `_describe_size` keeps it."""
    share, most = kept
    return DiscoverKeys(share=share, max_found=most)


def _read_found(given: Any, keys: Keys) -> dict[str, int]:
    """Return how many values are planned with, "other" included, of keys whose values are found.

    Without a guess, as many as may be found.

    Raises
    ------
    ParameterError
    """
    most = {key.name: key.listed for key in keys.discovering}
    guessed = dict(given or ())
    for name, number in guessed.items():
        if name not in most:
            raise ParameterError("found", f"must name keys whose values are found: {name!r}")
        whole_number(number, "found", 0, most[name])
    return {name: number + 1 for name, number in (most | guessed).items()}


@dataclass(frozen=True, slots=True)
class _Worth:
    """What a setting is worth: the reach of 95 % of the noise by table, and what is found."""

    of_cells: dict[str, float]
    of_ranges: dict[str, float]
    found_from: dict[str, int]


def _find_worth(mechanism: Tables, found: Any) -> _Worth:
    """Return what tables are worth with guessed numbers of values found, or the most there may be.

    The values stand for any others: errors depend on how many there are.
    """
    at_most = {key.name: key.listed for key in mechanism.keys.discovering}
    searches, made = mechanism.searches, mechanism
    if found:
        numbers = at_most | dict(found)
        made = mechanism.with_found(
            {name: tuple(f"{i:08}" for i in range(n)) for name, n in numbers.items()}
        )
    return _Worth(
        {name: _half_width(made, each) for name, each in made.errors_of_cells().items()},
        {name: _half_width(made, each) for name, each in made.errors_of_ranges().items()},
        {name: search.likely_count(LIKELY) for name, search in searches.items()},
    )


def _delta(value: Any, name: str) -> Any:
    return probability(value, name)


def _half_width(mechanism: Any, error: float) -> float:
    return PlusMinus.of(mechanism.reach.widen(error)).half_width


def _keep_sizes(given: Any) -> list[list[Any]]:
    """Return each key with the number of its values, which is all that errors depend on.

    Or with how its values are found.

    >>> _keep_sizes({"region": 26, "sex": ["f", "m"]})
    [['region', 26], ['sex', 2]]
    """
    if isinstance(given, Keys):
        return [[key.name, _describe_size(key)] for key in given]
    pairs = list(given.items()) if isinstance(given, Mapping) else given
    if not pairs or not isinstance(pairs, list) or not all(type(each) is tuple for each in pairs):
        raise ParameterError(
            "keys", "must name at least one column, each with its values or their number"
        )
    sizes: dict[str, Any] = {}
    for name, values in pairs:
        number = isinstance(values, Integral)
        (key,) = Keys.read({name: [0] if number else values})
        if name in sizes:
            raise ParameterError("keys", f"must give each column once: {name!r} is given twice")
        sizes[name] = whole_number(values, "keys", 1, MAX_VALUES) if number else _describe_size(key)
    return [[name, size] for name, size in sizes.items()]


def _describe_size(key: Key) -> Any:
    """Return the number of values of a key, or the share and the most with which they are found."""
    return key.size if key.discover is None else [*key.discover.to_content().values()]


def _keep_found(given: Any) -> list[list[Any]]:
    if not isinstance(given, Mapping) or not given:
        raise ParameterError("found", "must be a mapping of keys to numbers of values")
    return [[name, whole_number(number, "found", 0)] for name, number in given.items()]


def _keep_tables(given: Any) -> Any:
    if isinstance(given, list | tuple):
        return [[*each] if isinstance(each, list | tuple) else each for each in given]
    return given


def _keep_numbers(given: Any) -> list[list[Any]]:
    if not isinstance(given, Mapping):
        raise ParameterError(("weights", "errors"), "must be mappings of tables to numbers")
    named = [name if isinstance(name, str) else "+".join(name) for name in given]
    return [[name, number] for name, number in zip(named, given.values(), strict=True)]


def _read_axis(text: str) -> tuple[str, Any]:
    """Read a key as it is typed: with its values, with their number, or by its name alone."""
    name, equals, values = text.partition("=")
    if name and not equals:  # a description has its values
        return name, None
    if name and values.startswith(_SIZE):
        return name, whole(values.removeprefix(_SIZE))
    (key,) = read_keys([text], None)
    return key.name, key


def _read_guesses(text: str) -> dict[str, int]:
    pairs = [part.rpartition("=") for part in split_parts(text)]
    found = {name: whole(number) for name, _, number in pairs}
    if len(found) < len(pairs) or not all(found):
        raise ParameterError("found", "must name each key once, as NAME=NUMBER")
    return found


def _read(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return what reads a value of an option, whose errors need not name it."""

    def read_checked(text: str) -> Any:
        try:
            return read(text)
        except ParameterError as error:
            raise ValueError(str(error.fault)) from None

    return read_checked


def _command(asked: Asked, row: Row, unit: PrivacyUnit) -> list[str]:
    typed = ["dphist tables FILE"]
    typed += [
        f"--axis {shlex.quote(name)}={_name_values(values)}" for name, values in asked["keys"]
    ]
    tables = [each if isinstance(each, str) else "+".join(each) for each in asked["tables"]]
    typed.append(f"--tables {shlex.quote(','.join(tables))}")
    if asked.get("other"):
        typed.append(f"--other {shlex.quote(','.join(asked['other']))}")
    for name in ("weights", "errors"):
        if asked.get(name):
            pairs = ",".join(f"{table}={number}" for table, number in asked[name])
            typed.append(f"--{name} {shlex.quote(pairs)}")
    if asked.get("ranges"):
        typed.append(f"--ranges {shlex.quote(','.join(asked['ranges']))}")
    if asked.get("one_row_per"):
        typed.append(f"--one-row-per {shlex.quote(asked['one_row_per'])}")
    if row["max_rows"] == 1 and not asked.get("one_row_per"):
        return [*typed, "--each-row-is-one-person"]
    return [*typed, f"--user COLUMN --max-rows {row['max_rows']}", *planning.make_unit_option(unit)]


def _name_values(kept: Any) -> str:
    """Return how the values of a key are typed."""
    if isinstance(kept, int):
        return "VALUES"
    share, most = kept
    return f"discover:{share}" + ("" if most == MAX_FOUND else f":{most}")


def _limit(asked: Asked) -> tuple[str, str]:
    """Return what a plan does not know: how many values are found, too."""
    head, text = _LIMIT
    guessed = dict(asked.get("found") or ())
    said = [
        f"{name} is planned with {guessed[name]:,} values found, a public guess"
        if name in guessed
        else f"{name} is planned with the most values that may be found, {kept[1]:,}"
        for name, kept in asked["keys"]
        if not isinstance(kept, int)
    ]
    if said:
        text += f" How many values are found is not known: {'; '.join(said)}."
    name = asked.get("one_row_per")
    if name is not None:
        text += f" Of the rows of a user one counts for each value of {name}, at most."
    return head, text


def _options() -> Table:
    return [
        Option(
            "axis",
            "a key with its values, or how they are found, as for dphist tables; or as NAME=size:N "
            "with the number of them, which is all that errors depend on",
            "NAME=VALUES",
            _read(_read_axis),
            required=True,
            repeats=True,
            parameter="keys",
        ),
        TABLES_OPTION,
        Option("other", "keys that get one more value, other", "NAME,NAME,...", split_parts),
        planning.make_compared_option(Tables, "max_rows"),
        planning.DELTA_OPTION,
        Option(
            "weights",
            "weights of tables, by which variances are added up and minimized",
            "TABLE=W,...",
            _read(lambda text: read_numbers(split_parts(text), "weights")),
        ),
        Option(
            "errors",
            "standard errors of tables, at most in this ratio",
            "TABLE=S,...",
            _read(lambda text: read_numbers(split_parts(text), "errors")),
        ),
        RANGES_OPTION,
        make_option(Tables, "one_row_per"),
        Option(
            "found",
            "a public guess of how many values are found, by key (default: the most there may be)",
            "NAME=N,...",
            _read(_read_guesses),
            typed="--expect-found",
        ),
        planning.guess("total", "a public guess of the number of records"),
        planning.USERS_OPTION,
    ]


def _cell_error(release: Release, percent: bool) -> Found | str:
    error = _half_width(release.mechanism, release.mechanism.expected_error())
    said = "the noise of a cell is within {} with a probability of about 95 %"
    return planning.error_in_records(release, error, said, percent)


PLANNING = Planning(
    title="Records by several keys",
    question="how many records by several keys, in tables that add up",
    settings=settings,
    columns=_COLUMNS,
    unit=planning.unit_of_rows,
    kept={
        "keys": _keep_sizes,
        "tables": _keep_tables,
        "ranges": _keep_tables,
        "weights": _keep_numbers,
        "errors": _keep_numbers,
        "found": _keep_found,
    },
    guesses={"total": "records", "users": "{many}"},
    limit=_limit,
    quantities={"cell error": Quantity(_cell_error, "may", example="0.1 %")},
    command=_command,
    options=_options,
)
