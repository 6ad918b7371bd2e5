"""Labels, users and nodes of each type have one canonical form, whatever holds them.

Two tables with the same values then have the same labels, of the same type; and in one table, two
columns are compared if and only if their types have the same form.
"""

import datetime as dt
import itertools
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import dphist as dh
from tests.support.data.readers import READERS
from tests.support.privacy.column_kinds import DAY, KINDS, column

UUIDS = pa.array([bytes([n]) * 16 for n in (0, 1, 255)], pa.binary(16))
MANY: dict[str, pa.Array] = {
    **{name: column(values, name) for name, (_, values) in KINDS.items()},
    "uuid": pa.ExtensionArray.from_storage(pa.uuid(), UUIDS),
    "days in milliseconds": pa.array([DAY, dt.date(1, 1, 1)], pa.date64()),
    "instants in nanoseconds": pa.array([0, 1, -1, 10**18], pa.int64()).cast(
        pa.timestamp("ns", "Asia/Tokyo")
    ),
    "enumerations": pa.array(["b", "a"]).dictionary_encode(),
}
FORM = {
    "uuid": pa.string(),
    "days in milliseconds": pa.date32(),
    "instants": pa.timestamp("us", "UTC"),
    "instants in nanoseconds": pa.timestamp("ns", "UTC"),
    **dict.fromkeys(["large text", "text view", "categories", "enumerations"], pa.string()),
    **dict.fromkeys(["seconds", "milliseconds"], pa.timestamp("us")),
    "fixed bytes": pa.binary(),
}
# What a reader's own conversion has changed before it reaches us.
CHANGED = {
    *{("csv", name) for name in MANY},
    *{("pandas", name) for name in ("bytes", "fixed bytes", "date", "decimals", "uuid")},
    *{("pandas", name) for name in ("days in milliseconds", "instants in nanoseconds")},
    *{("polars", name) for name in ("uuid", "days in milliseconds")},
    *{("polars-lazy", name) for name in ("uuid", "days in milliseconds")},
    ("parquet", "text view"),
}
if int(duckdb.__version__.split(".")[0]) < 2:  # it has microseconds alone
    CHANGED |= {(reader, "instants in nanoseconds") for reader in ("relation", "parquet")}


def labels_of(frame: Any) -> pa.Table:
    counts = dh.LabelCounts.from_table(frame, label="x")
    return counts.filter_batches(lambda batch: batch).sort_by("label")


READ = [
    (reader, kind)
    for kind in MANY
    for reader in READERS
    if reader != "spark" and (reader, kind) not in CHANGED
]


@pytest.mark.long(every=2)
@pytest.mark.quick("-uuid]", "-instants", "-days", "-text]", "-uint64]")
@pytest.mark.parametrize(("reader", "kind"), READ, ids=["-".join(each) for each in READ])
def test_labels_have_one_form_in_every_reader(reader: str, kind: str, tmp_path: Path) -> None:
    values = MANY[kind]
    found = labels_of(READERS[reader](pa.table({"x": values}), tmp_path))
    form = FORM.get(kind, values.type)
    assert found.schema.field("label").type == form
    assert found["count"].to_pylist() == [1] * len(values)
    assert set(found["label"].to_pylist()) == (
        set(map(str, values.to_pylist())) if kind == "uuid" else set(values.cast(form).to_pylist())
    )


NODES: dict[str, pa.Array] = {
    "text": pa.array(["00000000-0000-0000-0000-000000000000"]),
    "categories": pa.array(["00000000-0000-0000-0000-000000000000"]).dictionary_encode(),
    "uuid": pa.ExtensionArray.from_storage(pa.uuid(), UUIDS[:1]),
    "bytes": pa.array([bytes(16)]),
    "fixed bytes": UUIDS[:1],
    "date": pa.array([DAY]),
    "days in milliseconds": pa.array([DAY], pa.date64()),
    "moment": pa.array([0], pa.int64()).cast(pa.timestamp("us")),
    "moment in seconds": pa.array([0], pa.int64()).cast(pa.timestamp("s")),
    "moment in nanoseconds": pa.array([0], pa.int64()).cast(pa.timestamp("ns")),
    "instant": pa.array([0], pa.int64()).cast(pa.timestamp("us", "UTC")),
    "instant elsewhere": pa.array([0], pa.int64()).cast(pa.timestamp("us", "Asia/Tokyo")),
    "int32": pa.array([5], pa.int32()),
    "int64": pa.array([5], pa.int64()),
    "uint64": pa.array([5], pa.uint64()),
    "decimal": pa.array([Decimal(5)], pa.decimal128(5, 2)),
    "short decimal": pa.array([Decimal(5)], pa.decimal32(5, 2)),
    "another decimal": pa.array([Decimal(5)], pa.decimal128(5, 3)),
    "truth": pa.array([True]),
}
ALIKE = [
    {"text", "categories"},
    {"bytes", "fixed bytes"},
    {"date", "days in milliseconds"},
    {"moment", "moment in seconds"},
    {"instant", "instant elsewhere"},
    {"decimal", "short decimal"},
]


@pytest.mark.parametrize("first", NODES)
@pytest.mark.quick(every=9)
def test_columns_are_compared_if_their_types_have_one_form(first: str) -> None:
    """An edge between two nodes, which are one if their values are compared, or refused."""
    for second in NODES:
        table = pa.table({"u": NODES[first], "v": NODES[second]})
        alike = first == second or {first, second} in ALIKE
        for rows in (table, table[:0], table.to_pandas(types_mapper=pd.ArrowDtype)):
            if alike:
                found = dh.Profile.from_edges(rows, source="u", target="v")
                assert found.sorted_counts().tolist() == [2] * bool(len(rows))
            else:
                with pytest.raises(dh.ColumnError, match="exactly the same type"):
                    dh.Profile.from_edges(rows, source="u", target="v")


@pytest.mark.parametrize(
    ("first", "second"), list(itertools.product(["large text", "text", "categories"], repeat=2))
)
@pytest.mark.quick(every=3)
def test_parts_have_labels_of_one_form(first: str, second: str) -> None:
    given: dict[str, Any] = {"label": "x", "user": "n", "max_labels": 1, "parts": 2}
    parts = []
    for part, kind in enumerate((first, second)):
        values = MANY[kind]
        table = pa.table({"x": values, "n": pa.array(range(len(values)))})
        parts.append(dh.LabelCounts.partial(table, part=part, **given))
    assert dh.LabelCounts.merge(parts).counts_of(["a", "A"]) == [1, 1]
