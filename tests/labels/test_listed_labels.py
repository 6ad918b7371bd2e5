"""Public lists of labels: each is one label of the column, exactly, or the list is refused."""

import datetime
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import dphist as dh
from dphist.counting.reading.columns import canonical_type
from dphist.data.listed_counts import look_up
from dphist.errors import ColumnError, ParameterError
from dphist.labels.threshold.known_labels import read_known_labels
from dphist.release.label_table import LabelTable

DAY = datetime.datetime(2024, 1, 1)
TEN = datetime.datetime(2024, 1, 1, 10)
NANOSECOND = pd.Timestamp("2024-01-01 00:00:00.000000001")
DAYS = pa.array([DAY.date(), DAY.date(), datetime.date(2024, 1, 2)])
TIMES = pa.array([DAY, DAY, TEN], pa.timestamp("us"))


def counts(column: pa.Array) -> dh.LabelCounts:
    return dh.LabelCounts.from_table(pa.table({"label": column}), label="label")


def count(column: pa.Array, labels: Any) -> list[int]:
    """Return the counts of listed labels; those in the released column must be the same."""
    held = counts(column)
    found, values = look_up(held, read_known_labels(labels))
    assert held.counts_of(found) == values
    assert found.type == canonical_type(column.type)
    return values


@pytest.mark.verify
@pytest.mark.parametrize(
    ("column", "labels"),
    [
        (DAYS, ["2024-01-01", "2024-01-01T00:00"]),
        (TIMES, ["2024-01-01", "2024-01-01T00:00:00"]),
        (TIMES, ["2024-01-01T10:00", "2024-01-01 10:00:00"]),
        (TIMES.cast(pa.timestamp("ns", "UTC")), ["2024-01-01T00:00Z", "2024-01-01T01:00+01:00"]),
    ],
)
def test_two_texts_of_one_date_are_refused_as_such(column: pa.Array, labels: list[str]) -> None:
    with pytest.raises(ColumnError, match="labels must be different dates or timestamps"):
        count(column, labels)
    assert count(pa.array(["2024-01-01"]), labels) == [int(x == "2024-01-01") for x in labels]


@pytest.mark.parametrize(
    ("column", "labels", "expected"),
    [
        (DAYS, ["2024-01-02", "2024-01-01"], [1, 2]),
        (DAYS, [datetime.date(2024, 1, 2)], [1]),
        (DAYS, [pd.Timestamp(DAY)], [2]),
        (TIMES, [DAY, TEN], [2, 1]),
        (TIMES.cast(pa.timestamp("s")), [DAY, TEN], [2, 1]),
        (TIMES.cast(pa.timestamp("ns", "UTC")), ["2024-01-01", TEN.isoformat() + "Z"], None),
        (TIMES.cast(pa.timestamp("ns", "UTC")), ["2024-01-01", TEN.isoformat()], [2, 1]),
        (TIMES.cast(pa.timestamp("ns", "UTC")), [TEN.isoformat() + "+00"], [1]),
        (pa.array([NANOSECOND.value], pa.timestamp("ns")), [NANOSECOND, pd.Timestamp(DAY)], [1, 0]),
        (TIMES.cast(pa.timestamp("s")), [DAY.replace(microsecond=1)], [0]),
        # What is no label of the column exactly: a time of a day, part of a second, a number.
        (DAYS, [TEN], None),
        (TIMES, [NANOSECOND], None),
        (DAYS, ["20240101"], None),
        (DAYS, ["2024-W01-1"], None),
        (DAYS, [19723], None),
        (TIMES, [1704067200000000], None),
        (TIMES, ["2024-01-01T00:00Z"], None),
    ],
    ids=str,
)
@pytest.mark.quick(every=3)
def test_a_listed_date_is_that_date(
    column: pa.Array, labels: list[Any], expected: list[int] | None
) -> None:
    if expected is not None:
        assert count(column, labels) == expected
        return
    with pytest.raises(ColumnError, match="labels must be of the kind"):
        count(column, labels)
    if not isinstance(labels[0], str):
        with pytest.raises(ParameterError, match="labels must be of the type"):
            counts(column).counts_of(labels)


def test_a_missing_date_is_no_label() -> None:
    with pytest.raises(ParameterError, match="labels"):
        read_known_labels([pd.NaT])


BY_TYPE: list[tuple[pa.DataType, list[Any]]] = [
    *((kind, [1, 22423 % 128]) for kind in (pa.int8(), pa.uint8(), pa.int32(), pa.uint32())),
    (pa.int64(), [9007199254740993, -22423]),
    (pa.uint64(), [2**64 - 1, 9007199254740993]),
    (pa.bool_(), [True, False]),
    (pa.string(), ["a", "1.0"]),
    (pa.binary(), [b"a", b"\xff"]),
    (pa.date32(), [datetime.date(2024, 1, 1), datetime.date(1, 1, 1)]),
    (pa.date64(), [datetime.date(2024, 1, 1), datetime.date(9999, 1, 1)]),
    *((pa.timestamp(unit), [DAY, TEN]) for unit in ("s", "ms", "us", "ns")),
    (pa.timestamp("us"), [DAY, datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)]),
    (pa.timestamp("us", "UTC"), [DAY, TEN]),
    (pa.timestamp("ns", "Europe/Zurich"), [DAY, TEN]),
    (pa.decimal128(38, 2), [Decimal("1.50"), Decimal("99999999999999999999.99")]),
]


@pytest.mark.parametrize("nulls", [0, 1])
@pytest.mark.parametrize(("kind", "labels"), BY_TYPE, ids=lambda value: str(value)[:30])
@pytest.mark.quick(every=8)
def test_labels_survive_pandas(kind: pa.DataType, labels: list[Any], nulls: int) -> None:
    """A null beside labels changes none of them, and they can be listed again."""
    column = pa.array(labels + [None] * nulls, kind)
    frame = LabelTable(pa.table({"label": column, "count": range(len(column))})).to_pandas()
    assert pa.array(frame["label"], kind, from_pandas=True).equals(column)
    assert frame["label"].isna().sum() == nulls
    assert frame["count"].dtype == "int64"
    assert [str(each) for each in frame["label"][:2]] == [
        str(each) for each in LabelTable(pa.table({"label": column[:2]})).to_pandas()["label"]
    ]
    if nulls:
        with pytest.raises(ParameterError, match="labels"):
            read_known_labels(frame["label"])
    for again in (frame["label"][:2], frame["label"][:2].tolist()):
        if pa.types.is_binary(kind) or pa.types.is_decimal(kind):
            with pytest.raises(ParameterError, match="labels"):
                read_known_labels(again)
        else:
            assert count(pa.array([labels[0], *labels], kind), again) == [2, 1]


def test_dates_that_python_cannot_hold_reach_pandas() -> None:
    column = pa.array([2**31 - 1, None], pa.int32()).cast(pa.date32())
    frame = LabelTable(pa.table({"label": column})).to_pandas()
    assert str(frame["label"][0]) == "5881580-07-11 00:00:00"
    assert frame["label"].isna().tolist() == [False, True]
