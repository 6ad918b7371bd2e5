"""What a plan of tables compares, and what a release of them shows."""

import math
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any

from dphist.document import planning
from dphist.document.blocks import PlusMinus
from dphist.document.options import Option, Table, option_of, parts_of, whole
from dphist.document.planning import Asked, Column, Found, Planning, Quantity, Row
from dphist.errors import ParameterError
from dphist.parameters import optional_whole, privacy_parameter, probability, whole_number
from dphist.privacy import PrivacyUnit
from dphist.privacy.unit import ONE_RECORD, ONE_USER
from dphist.release.release import Release
from dphist.tables.command import RANGES_OPTION, TABLES_OPTION, read_keys, read_numbers
from dphist.tables.keys import MAX_VALUES, Keys, read_tables
from dphist.tables.mechanism import Tables
from dphist.tables.row_bounds import read_one_row_per

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
    total: int | None = None,
    users: int | None = None,
) -> Iterator[Row]:
    """Yield what each table costs and is worth, beside all others; see `dphist.plan`."""
    people, records = optional_whole(users, "users", 1), optional_whole(total, "total", 1)
    sizes = dict(keys)
    if not {*other} <= {*sizes}:
        raise ParameterError("other", "must name keys")
    if one_row_per is not None:
        one_row_per = read_one_row_per(one_row_per, Keys.read(_list_values(sizes), other), 1)
    held = Keys.read(_list_values(sizes, other))
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
    found: dict[tuple[Any, ...], tuple[dict[str, float], dict[str, float]]] = {}
    for setting in asked:
        names = setting.pop("tables")
        place = tuple(setting.values())
        if place not in found:
            made = Tables(keys=held, tables=tables, **setting, **shared)
            found[place] = (
                {name: _half_width(made, each) for name, each in made.errors_of_cells().items()},
                {name: _half_width(made, each) for name, each in made.errors_of_ranges().items()},
            )
        cells = math.prod(held[name].size for name in names)
        error, of_ranges = (each.get("+".join(names)) for each in found[place])
        assert error is not None  # noqa: S101 - every table has one
        row = {**setting, "table": "+".join(names) or "all", "cells": cells, "cell_error": error}
        if ranges:
            row["range_error"] = error if of_ranges is None else of_ranges
        if records is not None:
            row["of_mean_cell"] = error * cells / records
        if people is not None:
            row["delta_times_users"] = setting["delta"] * people
        yield row


def _list_values(sizes: Mapping[str, int], other: Sequence[str] = ()) -> dict[str, range]:
    """Return values of keys, as many as each has, with one more for "other"."""
    return {name: range(size + (name in other)) for name, size in sizes.items()}


def _delta(value: Any, name: str) -> Any:
    return probability(value, name)


def _half_width(mechanism: Any, error: float) -> float:
    return PlusMinus.of(mechanism.reach.widen(error)).half_width


def _keep_sizes(given: Any) -> list[list[Any]]:
    """Return each key with the number of its values, which is all that errors depend on.

    >>> _keep_sizes({"region": 26, "sex": ["f", "m"]})
    [['region', 26], ['sex', 2]]
    """
    if isinstance(given, Keys):
        _refuse_found(given)
        return [[key.name, key.size] for key in given]
    pairs = list(given.items()) if isinstance(given, Mapping) else given
    if not pairs or not isinstance(pairs, list) or not all(type(each) is tuple for each in pairs):
        raise ParameterError(
            "keys", "must name at least one column, each with its values or their number"
        )
    sizes: dict[str, int] = {}
    for name, values in pairs:
        number = isinstance(values, Integral)
        (key,) = held = Keys.read({name: [0] if number else values})
        _refuse_found(held)
        if name in sizes:
            raise ParameterError("keys", f"must give each column once: {name!r} is given twice")
        sizes[name] = whole_number(values, "keys", 1, MAX_VALUES) if number else key.size
    return [[name, size] for name, size in sizes.items()]


def _refuse_found(keys: Keys) -> None:
    """Refuse keys whose values are found: a plan compares errors, which depend on how many."""
    if keys.discovering:
        raise ParameterError(
            "keys",
            f"must give {keys.discovering[0].name!r} values or their number: a plan does not find "
            "values",
            "plan with a number of values, or make a dry run of 'dphist tables': it says from how "
            "many records on a value is found",
        )


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
    """Read a key as it is typed: with its values, or with their number."""
    name, _, values = text.partition("=")
    if name and values.startswith(_SIZE):
        return name, whole(values.removeprefix(_SIZE))
    (key,) = read_keys([text], None)
    return key.name, key


def _read(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return what reads a value of an option, whose errors need not name it."""

    def checked(text: str) -> Any:
        try:
            return read(text)
        except ParameterError as error:
            raise ValueError(str(error.fault)) from None

    return checked


def _limit(asked: Asked) -> tuple[str, str]:
    name = asked.get("one_row_per")
    if name is None:
        return _LIMIT
    head, text = _LIMIT
    return head, f"{text} Of the rows of a user one counts for each value of {name}, at most."


def _command(asked: Asked, row: Row, unit: PrivacyUnit) -> list[str]:
    typed = ["dphist tables FILE"]
    typed += [f"--axis {shlex.quote(name)}=VALUES" for name, _ in asked["keys"]]
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
    return [*typed, f"--user COLUMN --max-rows {row['max_rows']}", *planning.name_of(unit)]


def _options() -> Table:
    return [
        Option(
            "axis",
            "a key with its values, as for dphist tables; or as NAME=size:N with the number of "
            "them, which is all that errors depend on",
            "NAME=VALUES",
            _read(_read_axis),
            required=True,
            repeats=True,
            parameter="keys",
        ),
        TABLES_OPTION,
        Option("other", "keys that get one more value, other", "NAME,NAME,...", parts_of),
        planning.compared(Tables, "max_rows"),
        planning.DELTA_OPTION,
        Option(
            "weights",
            "weights of tables, by which variances are added up and minimized",
            "TABLE=W,...",
            _read(lambda text: read_numbers(parts_of(text), "weights")),
        ),
        Option(
            "errors",
            "standard errors of tables, at most in this ratio",
            "TABLE=S,...",
            _read(lambda text: read_numbers(parts_of(text), "errors")),
        ),
        RANGES_OPTION,
        option_of(Tables, "one_row_per"),
        planning.guess("total", "a public guess of the number of records"),
        planning.USERS_OPTION,
    ]


def _cell_error(release: Release, percent: bool) -> Found | str:
    error = _half_width(release.mechanism, release.mechanism.expected_error())
    said = "the noise of a cell is within {} with a probability of about 95 %"
    return planning.error_in_records(release, error, said, percent)


def _unit(asked: Asked) -> PrivacyUnit:
    if asked.get("one_row_per") is not None:
        return ONE_USER
    return ONE_RECORD if asked.get("max_rows", 1) in (1, [1], (1,)) else ONE_USER


PLANNING = Planning(
    title="Records by several keys",
    question="how many records by several keys, in tables that add up",
    settings=settings,
    columns=_COLUMNS,
    unit=_unit,
    kept={
        "keys": _keep_sizes,
        "tables": _keep_tables,
        "ranges": _keep_tables,
        "weights": _keep_numbers,
        "errors": _keep_numbers,
    },
    guesses={"total": "records", "users": "{many}"},
    limit=_limit,
    quantities={"cell error": Quantity(_cell_error, "may", example="0.1 %")},
    command=_command,
    options=_options,
)
