"""Slots of rows in Spark, as SQL: its workers need no Python to find bins.

The edges come from the searches that other engines use, already converted to the type of the
column, so the slots are the same (see `edges`). Evenly spaced edges take arithmetic on whole
numbers. All others are an array beside the rows, which is bisected. Neither rounds.
"""

import math
from collections.abc import Iterator, Sequence
from decimal import Context, Decimal

import pyarrow as pa

from dphist.counting.binning.edges import NoSearch, RealSearch, Search, WholeSearch, WideSearch
from dphist.counting.engine.rows import SparkRows

_DIGITS = 38  # of a decimal
_MOST_UNITS = 10**_DIGITS - 1  # of a decimal, in units of its last digit
_EXACT = Context(prec=40)
_EPOCH = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"


def find_slots(
    rows: SparkRows,
    searches: Sequence[Search],
    kinds: Sequence[pa.DataType],
    shape: Sequence[int],
    others: Sequence[str],
) -> SparkRows:
    """From columns c0, c1, ... and others to the slot of each row, `term`, int64, and the others.

    Parameters
    ----------
    searches, kinds : (d,) the search among the edges of each column, and the column's Arrow type.
    shape : (d,) the number of bins of each axis.
    others : names of further columns, which are kept.
    """
    values, places, lists = [], [], {}
    for axis, (search, kind) in enumerate(zip(searches, kinds, strict=True)):
        place, edges = format_place(search, kind, f"v{axis}", f"e{axis}")
        values.append(f"{format_value(kind, f'c{axis}')} AS v{axis}")
        places.append(f"{place} AS p{axis}")
        if edges is not None:
            lists[f"e{axis}"] = edges
    found = rows.beside(lists).project(*values, *lists, *others).project(*places, *others)
    return found.project(f"{_format_slot(shape)} AS term", *others)


def _format_slot(shape: Sequence[int]) -> str:
    """Return the expression of a slot, of the places p0, p1, ...; see the module `slots`."""
    null = _whole(math.prod(shape) + 2)
    if len(shape) == 1:
        return f"CASE WHEN p0 IS NULL THEN {null} ELSE p0 END"
    missing = " OR ".join(f"p{axis} IS NULL" for axis in range(len(shape)))
    # BETWEEN would call the function `between`, which a caller may have replaced.
    inside = " AND ".join(f"p{axis} >= 1 AND p{axis} <= {size}" for axis, size in enumerate(shape))
    within = "p0 - 1"
    for axis, size in enumerate(shape[1:], start=1):  # the last axis is fastest
        within = f"({within}) * {size} + p{axis} - 1"
    return f"CASE WHEN {missing} THEN {null} WHEN {inside} THEN {within} + 1 ELSE {_whole(0)} END"


def format_value(kind: pa.DataType, column: str) -> str:
    """Return the expression of a value as it is compared: int64, float64 or a decimal."""
    types = pa.types
    if types.is_floating(kind):
        return f"CAST({column} AS DOUBLE)"
    if types.is_decimal(kind):
        return f"CAST({column} AS {_decimal_type(kind)})"
    if types.is_date(kind):
        return f"CAST(unix_date({column}) AS BIGINT)"
    if types.is_timestamp(kind) and kind.tz is None:
        # A cast to TIMESTAMP would depend on the time zone of the session, which repeats hours.
        seconds = f"CAST(CAST({column} - {_EPOCH} AS INTERVAL SECOND) AS DECIMAL(20, 6))"
        return f"CAST({seconds} * 1000000 AS BIGINT)"
    return f"unix_micros({column})" if types.is_timestamp(kind) else f"CAST({column} AS BIGINT)"


def format_place(
    search: Search, kind: pa.DataType, value: str, edges: str
) -> tuple[str, pa.Array | None]:
    """Return how to find the place of a value among the edges of a search.

    Parameters
    ----------
    value, edges : names of the columns of values, and of the array of edges.

    Returns
    -------
    place : expression of the number of edges at or below the value, int64, or null.
    keys : (m,) the array of edges, of the type of the value; None if the place needs none.
    """
    if isinstance(search, NoSearch):
        return "CAST(NULL AS BIGINT)", None
    assert isinstance(search, RealSearch | WholeSearch | WideSearch)  # noqa: S101 - no others
    keys, below = None, search.below
    if isinstance(search, RealSearch):
        keys = pa.array(search.keys)
        found = f"CASE WHEN NOT isnan(value) THEN {by_bisection(len(keys), edges)} END"
    elif isinstance(search, WideSearch) or pa.types.is_decimal(kind):
        keys, lower = _decimals(search, kind.scale)
        found, below = by_bisection(len(keys), edges), below + lower
    elif search.step:
        found = _by_division(search)
    else:
        keys = pa.array(search.keys)
        found = by_bisection(len(keys), edges)
    # As the variable of a function, the value is computed once, however often it is compared.
    known = f"CASE WHEN value IS NOT NULL THEN {found} + {_whole(below)} END"
    return f"get(transform(array({value}), value -> {known}), 0)", keys


def _decimals(search: WholeSearch | WideSearch, scale: int) -> tuple[pa.Array, int]:
    """Return the edges as decimals, and how many were left out as below all decimals."""
    units = list(_units(search))
    within = [Decimal(unit).scaleb(-scale, _EXACT) for unit in units if abs(unit) <= _MOST_UNITS]
    left_out = sum(unit < -_MOST_UNITS for unit in units)
    return pa.array(within, pa.decimal128(_DIGITS, scale)), left_out


def _by_division(search: WholeSearch) -> str:
    """Return the expression of the number of evenly spaced edges at or below `value`."""
    first, last = (_whole(int(search.keys[place])) for place in (0, -1))
    # Between first and last, no difference is beyond int64.
    steps = f"(greatest(least(value, {last}), {first}) - {first}) div {_whole(search.step)}"
    return f"CASE WHEN value < {first} THEN {_whole(0)} ELSE {steps} + 1 END"


def by_bisection(size: int, edges: str) -> str:
    """Return the expression of the number of edges, ascending, at or below `value`.

    Steps of halving length go forward while the edge there is not above the value.
    """
    if not size:
        return _whole(0)
    steps = ", ".join(str(1 << bit) for bit in reversed(range(size.bit_length())))
    ahead = f"place + step <= {size} AND get({edges}, place + step - 1) <= value"
    move = f"(place, step) -> CASE WHEN {ahead} THEN place + step ELSE place END"
    return f"CAST(aggregate(array({steps}), 0, {move}) AS BIGINT)"


def _units(search: WholeSearch | WideSearch) -> Iterator[int]:
    """Yield the edges of a search as whole numbers."""
    if isinstance(search, WholeSearch):
        yield from search.keys.tolist()
    else:
        for high, low in zip(search.high.tolist(), search.low.tolist(), strict=True):
            yield (high << 64) + low


def _decimal_type(kind: pa.DataType) -> str:
    return f"DECIMAL({_DIGITS}, {kind.scale})"


def _whole(number: int) -> str:
    return f"CAST('{number}' AS BIGINT)"
