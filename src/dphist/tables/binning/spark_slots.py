"""Slots of rows in Spark, as SQL: its workers need no Python to find bins.

The edges come from the searches that other engines use, already converted to the type of the
column, so the slots are the same (see `edges`). Evenly spaced edges take arithmetic on whole
numbers. All others are an array in the query, which is bisected. Neither rounds.
"""

import math
from collections.abc import Iterator, Sequence
from decimal import Context, Decimal

import pyarrow as pa

from dphist.tables.binning.edges import NoSearch, RealSearch, Search, WholeSearch, WideSearch
from dphist.tables.engine.rows import SparkRows

_MOST_UNITS = 10**38 - 1  # of a decimal, in units of its last digit
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
    values = [f"{_value_of(kind, f'c{axis}')} AS v{axis}" for axis, kind in enumerate(kinds)]
    places = [
        f"{_place_of(search, kinds[axis], f'v{axis}')} AS p{axis}"
        for axis, search in enumerate(searches)
    ]
    found = rows.project(*values, *others).project(*places, *others)
    return found.project(f"{_slot_of(shape)} AS term", *others)


def _slot_of(shape: Sequence[int]) -> str:
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


def _value_of(kind: pa.DataType, column: str) -> str:
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


def _place_of(search: Search, kind: pa.DataType, value: str) -> str:
    """Return the expression of the number of edges at or below a value, int64, or null."""
    if isinstance(search, NoSearch):
        return "CAST(NULL AS BIGINT)"
    assert isinstance(search, RealSearch | WholeSearch | WideSearch)  # noqa: S101 - no others
    below = search.below
    if isinstance(search, RealSearch):
        found = _by_bisection([repr(key) for key in search.keys.tolist()], "DOUBLE")
        found = f"CASE WHEN NOT isnan(value) THEN {found} END"
    elif pa.types.is_decimal(kind):
        keys = list(_units(search))
        within = [key for key in keys if abs(key) <= _MOST_UNITS]
        digits = [f"{Decimal(key).scaleb(-kind.scale, _EXACT):f}" for key in within]
        found = _by_bisection(digits, _decimal_type(kind))
        below += sum(key < -_MOST_UNITS for key in keys)
    elif isinstance(search, WholeSearch) and search.step:
        found = _by_division(search)
    else:
        found = _by_bisection([str(key) for key in _units(search)], "BIGINT")
    # As the variable of a function, the value is computed once, however often it is compared.
    known = f"CASE WHEN value IS NOT NULL THEN {found} + {_whole(below)} END"
    return f"get(transform(array({value}), value -> {known}), 0)"


def _by_division(search: WholeSearch) -> str:
    """Return the expression of the number of evenly spaced edges at or below `value`."""
    first, last = (_whole(int(search.keys[place])) for place in (0, -1))
    # Between first and last, no difference is beyond int64.
    steps = f"(greatest(least(value, {last}), {first}) - {first}) div {_whole(search.step)}"
    return f"CASE WHEN value < {first} THEN {_whole(0)} ELSE {steps} + 1 END"


def _by_bisection(keys: Sequence[str], kind: str) -> str:
    """Return the expression of the number of edges, ascending, at or below `value`.

    Steps of halving length go forward while the edge there is not above the value. Spark computes
    the array once, when it plans the query: a list in a text, because a literal for each edge
    takes Spark long to parse.
    """
    if not keys:
        return _whole(0)
    edges = f"CAST(split('{','.join(keys)}', ',') AS ARRAY<{kind}>)"
    steps = ", ".join(str(1 << bit) for bit in reversed(range(len(keys).bit_length())))
    ahead = f"place + step <= {len(keys)} AND get({edges}, place + step - 1) <= value"
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
    return f"DECIMAL(38, {kind.scale})"


def _whole(number: int) -> str:
    return f"CAST('{number}' AS BIGINT)"
