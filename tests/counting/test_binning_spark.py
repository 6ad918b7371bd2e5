"""Slots found by Spark's SQL are, row by row, those that Python finds, for every type of column."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dphist.counting.binning.slots import Grid, Slotting, rows_of_slots
from dphist.counting.reading.columns import key_column
from dphist.counting.reading.spark import open_spark
from tests.support.counting.contribution_engines import spark

pytestmark = [
    pytest.mark.verify,
    pytest.mark.filterwarnings(
        "ignore:PySpark does not yet fully support pandas", "ignore::ResourceWarning"
    ),
]

LEAST, MOST = -(2**63), 2**63 - 1
ROWS = 400
DRAW = random.Random(23)


@contextmanager
def setting(name: str, value: str) -> Iterator[None]:
    """A setting of the session, for a while."""
    before = spark().conf.get(name)
    spark().conf.set(name, value)
    try:
        yield
    finally:
        spark().conf.set(name, before)


def whole_numbers(bits: int) -> list[int]:
    most = 2 ** (bits - 1)
    near = [sign * 2**bit + d for bit in range(bits - 1) for sign in (-1, 1) for d in (-1, 0, 1)]
    drawn = [DRAW.randrange(-most, most) for _ in range(ROWS // 4)]
    return [n for n in [*near, *drawn, -most, most - 1] if -most <= n < most]


def floats(size: int = 8) -> list[float]:
    drawn = np.frombuffer(DRAW.randbytes(size * ROWS // 2), f"f{size}").tolist()
    small = [0.0, -0.0, 0.1, 0.3, 0.1 + 0.2, 5e-324, -5e-324, 2.0**53, 1e308, 9e15, -2.5, 1e22]
    return [*drawn, *small, float("inf"), -float("inf"), float("nan")]


def decimals(digits: int, scale: int) -> list[Decimal]:
    most = 10**digits - 1
    units = [DRAW.randrange(-most, most + 1) // 10 ** DRAW.randrange(digits) for _ in range(100)]
    return [Decimal(f"{n}e-{scale}") for n in [*units, 0, 1, -1, 10, 30, most, -most]]


def moments(unit: int) -> list[int]:
    """Numbers of microseconds, of the first and last that there are, and around clock changes."""
    spring = 1711846800 * 10**6  # the clocks of Berlin skip an hour
    near = [spring + hour * 1800 * 10**6 + d for hour in range(-8, 8) for d in (-1, 0, 1)]
    return [*near, *(n * unit for n in range(-20, 20)), 0, -(2**62), 2**62]


def with_missing(values: list[Any], kind: pa.DataType) -> pa.Array:
    return pa.array([None, *values, None], kind)


# Kind of edges, and the columns that suit them.
COLUMNS: dict[str, tuple[str, pa.Array]] = {
    "int32": ("number", with_missing(whole_numbers(32), pa.int32())),
    "int64": ("number", with_missing(whole_numbers(64), pa.int64())),
    "float32": ("number", with_missing(floats(4)[: ROWS // 2], pa.float32())),
    "float64": ("number", with_missing(floats(), pa.float64())),
    **{
        f"decimal({digits}, {scale})": (
            "number",
            with_missing(decimals(digits, scale), pa.decimal128(digits, scale)),
        )
        for digits, scale in [(5, 2), (19, 3), (38, 38)]
    },
    "nothing": ("number", pa.nulls(5)),
    "date": (
        "day",
        with_missing([*range(-9, 30), 19813, 19999, -719162, 2932896], pa.int32()).cast("date32"),
    ),
    "time": ("moment", with_missing(moments(10**9), pa.timestamp("us"))),
    "instant": ("moment", with_missing(moments(10**9), pa.timestamp("us", "UTC"))),
}

EDGES: dict[str, list[np.ndarray[Any, Any]]] = {
    "number": [
        np.array([0, 1]),
        np.arange(-12, 200, 7),
        np.array([LEAST, -1, 0, 2**53 + 1, MOST]),
        np.array([-(2**62), 0, 2**62]),  # evenly spaced, as far as int64 allows
        np.array([-np.inf, 0.1, 0.3, 2.5, 1e300]),
        np.array([-1e300, -(2.0**63), -0.5, -0.0, 5e-324, 2.0**63, np.inf]),
        np.unique(np.array([value for value in floats() if np.isfinite(value)])),
        np.linspace(-3, 3, 601),
        np.array([-np.inf, np.inf]),
    ],
    "day": [np.arange(5, 20, 3), np.array([-719162, 0, 19813, 2932896])],
    "moment": [
        np.array([-1, 0, 1, 10**9, 1711846800 * 10**6, 1711850400 * 10**6]),
        np.arange(1711846800 * 10**6, 1711846800 * 10**6 + 9 * 1800 * 10**6, 1800 * 10**6),
        np.array([-(2**62), 2**62]),
    ],
}
DTYPES = {"number": None, "day": "M8[D]", "moment": "M8[us]"}


def frame_of(values: pa.Array) -> Any:
    """A column x of Spark, with the numbers of the rows."""
    kind = values.type
    zoneless = pa.types.is_timestamp(kind) and kind.tz is None
    column = values.cast(pa.timestamp("us", "UTC")) if zoneless else values
    table = pa.table({"row": pa.array(range(len(values))), "x": column})
    if pa.types.is_null(kind):
        return spark().createDataFrame(table.select(["row"])).selectExpr("row", "NULL AS x")
    if not zoneless:
        return spark().createDataFrame(table)
    with setting("spark.sql.session.timeZone", "UTC"):
        made = spark().createDataFrame(table).selectExpr("row", "CAST(x AS TIMESTAMP_NTZ) AS x")
        return made.localCheckpoint()


def slots_in_spark(frame: Any, grid: Grid) -> list[int]:
    source = open_spark(frame, [*grid.list_wanted(), key_column("who", "row", "user")])
    found = rows_of_slots(source, grid, ["who"]).to_arrow(["who", "term"])
    assert found["term"].type == pa.int64()
    slots: list[int] = found.sort_by("who")["term"].to_pylist()
    return slots


@pytest.mark.parametrize("name", COLUMNS)
def test_slots_are_those_of_python_for_every_type(name: str) -> None:
    """Also under the settings that Spark's arithmetic and its clock depend on."""
    kind, values = COLUMNS[name]
    frame = frame_of(values)
    for place, edges in enumerate(EDGES[kind]):
        typed = edges if DTYPES[kind] is None else edges.astype("i8").view(DTYPES[kind])
        grid = Grid(("x",), (typed,), (getattr(values.type, "tz", None),))
        expected = Slotting(grid).find([values]).tolist()
        zone = ("UTC", "Europe/Berlin", "America/Los_Angeles")[place % 3]
        with (
            setting("spark.sql.session.timeZone", zone),
            setting("spark.sql.ansi.enabled", ("true", "false")[place % 2]),
            setting("spark.sql.codegen.wholeStage", ("false", "true")[place % 2]),
        ):
            assert slots_in_spark(frame, grid) == expected, edges
