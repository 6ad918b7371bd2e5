"""A table without rows is valid data: whether anybody is in it shows in no error.

For every way in which rows are read, for users and labels that are text or not, and for every
way in which no row may be left.
"""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dphist as dh

TYPES: dict[str, tuple[pa.DataType, Any]] = {
    "int64": (pa.int64(), 5),
    "uint8": (pa.uint8(), 5),
    "bool": (pa.bool_(), True),
    "date": (pa.date32(), date(2020, 1, 2)),
    "timestamp": (pa.timestamp("us"), 7),
    "decimal": (pa.decimal128(9, 2), Decimal("1.50")),
    "text": (pa.string(), "a"),
    "bytes": (pa.binary(), b"a"),
}
PAIRS = [(one, one) for one in TYPES] + [("text", "int64"), ("int64", "bytes"), ("date", "uint8")]


def parquet(table: pa.Table, folder: Path) -> Path:
    pq.write_table(table, folder / "rows.parquet")
    return folder / "rows.parquet"


def relation(table: pa.Table, folder: Path) -> Any:
    return duckdb.connect().from_arrow(table)


SOURCES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "arrow": lambda table, _: table,
    "pandas": lambda table, _: table.to_pandas(types_mapper=None),
    "polars": lambda table, _: pl.from_arrow(table),
    "lazy": lambda table, _: pl.from_arrow(table).lazy(),
    "relation": relation,
    "parquet": parquet,
}


def table_of(user: str, label: str, rows: int, *, amount: int = 1, users: bool = True) -> pa.Table:
    (kind, value), (other, text) = TYPES[user], TYPES[label]
    return pa.table(
        {
            "who": pa.array([value if users else None] * rows, kind),
            "term": pa.array([text] * rows, other),
            "n": pa.array([amount] * rows, pa.int64()),
        }
    )


@pytest.mark.long(every=6)
@pytest.mark.quick("[quiet-", "[progress-text-int64-", every=6)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("user", "label"), PAIRS)
@pytest.mark.parametrize("progress", [None, lambda done: None], ids=["quiet", "progress"])
def test_no_rows_are_counted_like_some(
    source: str, user: str, label: str, progress: Any, tmp_path: Path
) -> None:
    if source == "pandas" and {user, label} & {"date", "decimal", "bytes"}:
        source = "arrow"  # objects in pandas: those other than text are refused
    given = {"label": "term", "user": "who", "max_labels": 1, "progress": progress}
    for rows in (1, 0):
        frame = SOURCES[source](table_of(user, label, rows), tmp_path)
        assert counted(frame, **given) == rows
    for amount in (1, 0):
        frame = SOURCES[source](table_of(user, label, 2, amount=amount), tmp_path)
        assert counted(frame, count="n", **given) == amount
    for users in (True, False):
        frame = SOURCES[source](table_of(user, label, 2, users=users), tmp_path)
        if source != "pandas" or users:
            assert counted(frame, null_users="drop", **given) == users


def counted(frame: Any, **given: Any) -> int:
    """Return the sum of all counts."""
    return sum(
        sum(batch.column("count").to_pylist())
        for batch in dh.LabelCounts.from_table(frame, **given)
        .filter_batches(lambda own: own)
        .to_batches()
    )


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.quick(every=3)
def test_parts_without_users_are_parts(source: str, tmp_path: Path) -> None:
    frame = SOURCES[source](table_of("int64", "int64", 3), tmp_path)
    given: dict[str, Any] = {"label": "term", "user": "who", "max_labels": 1, "parts": 4}
    parts = [dh.LabelCounts.partial(frame, part=part, **given) for part in range(4)]
    assert dh.LabelCounts.merge(parts).counts_of([5]) == [1]
