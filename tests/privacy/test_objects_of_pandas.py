"""Python objects in pandas: each is read, or refused, by itself, and no rows are always accepted.

The schema does not contain the types of the objects. So what is done with an object must not depend
on others, or an error would show what else is in the column, or whether anything is.
"""

import datetime as dt
import itertools
import random
import uuid
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dphist as dh

DAY = dt.date(2020, 1, 1)
NOON = dt.datetime(2020, 1, 1, 12)
VALUES: list[Any] = [
    *("a", "", "5", "2020-01-01", "\ud800", np.str_("a")),
    *(5, -5, 2**70, np.int8(5), True, np.True_),
    *(1.5, float("inf"), np.float32(5), np.longdouble(5), 1j, Decimal("5.0"), Decimal("Infinity")),
    *(DAY, NOON, NOON.replace(tzinfo=dt.UTC), pd.Timestamp(NOON), np.datetime64("2020-01-01")),
    *(np.timedelta64(5, "s"), dt.timedelta(5), dt.time(5), b"a", uuid.UUID(int=5)),
    *(None, float("nan"), ("a",), ["a"], {"a": 1}, object()),
]


def frame_of(values: list[Any], *, categories: bool = False) -> pd.DataFrame:
    column = pd.Series(values, dtype=object)
    if categories:
        named = pd.Index(["z", 7, *dict.fromkeys(values)], dtype=object)
        column = pd.Series(pd.Categorical(column, named))
    texts = pd.Series(["t"] * len(values), dtype="string")
    ones = pd.Series([1] * len(values), dtype="int64")
    return pd.DataFrame({"x": column, "again": column, "t": texts, "n": ones})


USES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "label": lambda rows: dh.LabelCounts.from_table(rows, label="x"),
    "label of a profile": lambda rows: dh.Profile.from_table(rows, label="x"),
    "user": lambda rows: dh.LabelCounts.from_table(rows, label="t", user="x", max_labels=1),
    "user of a part": lambda rows: dh.LabelCounts.partial(
        rows, label="t", user="x", max_labels=1, part=0, parts=1
    ),
    "count": lambda rows: dh.LabelCounts.from_table(rows, label="t", count="x"),
    "count of a profile": lambda rows: dh.Profile.from_table(rows, label="t", count="x"),
    "node": lambda rows: dh.Profile.from_edges(rows, source="x", target="again"),
    "node beside text": lambda rows: dh.Profile.from_edges(rows, source="x", target="t"),
    "number": lambda rows: dh.bin_counts(rows, column="x", edges=[0, 5, 9]),
    "day": lambda rows: dh.bin_counts(rows, column="x", edges=["2020-01-01", "2020-02-01"]),
    "moment of a user": lambda rows: dh.bin_counts(
        rows, column="x", edges=["2020-01-01T00:00", "2020-02-01T00:00"], user="t", max_records=9
    ),
    "labels of an event": lambda rows: dh.ContinualHistogram(
        epsilon=1, delta=1e-6, horizon=100, max_labels=1
    ).update_many(rows, label="x"),
    "user of an event": lambda rows: dh.ContinualHistogram(
        epsilon=0.01, delta=1e-6, horizon=100, max_labels=1, max_events_per_user=99
    ).update_many(rows, label="t", user="x"),
    "typed label of an event": lambda rows: dh.ContinualHistogram(
        epsilon=1, delta=1e-6, horizon=100, max_labels=1, label_type="integer"
    ).update_many(rows, label="x"),
}


def is_accepted(use: str, rows: pd.DataFrame) -> bool:
    try:
        USES[use](rows)
    except dh.DphistError:
        return False
    return True


quick = pytest.mark.quick("[label]", "[count]", "[node beside text]", "[number]", "[labels of")


@quick
@pytest.mark.parametrize("use", USES)
def test_rows_are_accepted_if_and_only_if_each_is(use: str) -> None:
    alone = [is_accepted(use, frame_of([value])) for value in VALUES]
    assert is_accepted(use, frame_of([]))
    good = [value for value, fits in zip(VALUES, alone, strict=True) if fits]
    assert is_accepted(use, frame_of(good * 2))
    draw = random.Random(use)
    pairs = itertools.product(range(len(VALUES)), repeat=2)
    for one, other in draw.sample(list(pairs), 12):
        rows = frame_of([VALUES[one], VALUES[other]])
        assert is_accepted(use, rows) == (alone[one] and alone[other]), (one, other)


@quick
@pytest.mark.parametrize("use", USES)
def test_categories_are_accepted_like_the_objects_in_the_rows(use: str) -> None:
    """Also if categories of several types have no rows, or none in these rows."""
    assert is_accepted(use, frame_of([], categories=True))
    for value in ("a", 5, DAY, 1.5, b"a"):
        rows = frame_of([value] * 2)
        assert is_accepted(use, frame_of([value] * 2, categories=True)) == is_accepted(use, rows)


def test_a_type_does_not_show_whether_there_are_rows() -> None:
    """Of labels, which are released, and of the parts of a table."""

    def kind(values: list[Any]) -> str:
        counts = dh.LabelCounts.from_table(frame_of(values), label="x")
        return str(counts.largest(9).schema.field("label").type)

    assert {kind(values) for values in ([], ["a"], [5], [DAY, b"a"])} == {"string"}
    parts = [
        dh.LabelCounts.partial(
            frame_of(values), label="x", user="again", max_labels=1, part=part, parts=2
        )
        for part, values in enumerate(([], ["a"]))
    ]
    dh.LabelCounts.merge(parts)


ONE: list[list[Any]] = [
    ["a", np.str_("a")],
    [5, np.int8(5), np.uint64(5), Decimal(5), Decimal("5.00"), "5"],
    [True, np.True_, "true"],
    [1, np.uint8(1), "1"],
    [DAY, "2020-01-01"],
    [NOON, pd.Timestamp(NOON), "2020-01-01T12:00:00"],
    [
        NOON.replace(tzinfo=dt.UTC),
        pd.Timestamp("2020-01-01T13:00", tz="Europe/Zurich"),
        "2020-01-01T12:00:00+00:00",
    ],
    [uuid.UUID(int=255), f"{'0' * 8}-0000-0000-0000-{'0' * 10}ff"],
    [b"\0\xff", "00ff"],
    [Decimal("1.50"), Decimal("1.5"), "1.5"],
    [Decimal("-0"), 0, "0"],
    [Decimal("1E+3"), 1000, "1000"],
    [Decimal("1E-3"), "0.001"],
    [2**100, str(2**100)],
    [Decimal("1E+1000"), Decimal("10E+999")],
]


def test_objects_are_one_label_if_and_only_if_their_text_is() -> None:
    """Whatever else is in the column: values of different types that Python calls equal, or not."""
    draw = random.Random(7)
    for _ in range(5):
        chosen = [draw.randrange(len(ONE)) for _ in range(300)]
        rows = frame_of([draw.choice(ONE[place]) for place in chosen])
        found = dh.Profile.from_table(rows, label="x")
        assert found.sorted_counts().tolist() == sorted(Counter(chosen).values(), reverse=True)
    table = dh.LabelCounts.from_table(frame_of([values[0] for values in ONE]), label="x")
    named = [str(values[-1]) for values in ONE[:-1]]
    assert table.counts_of(named) == [1] * len(named)


def test_counts_are_summed_and_checked_like_those_of_a_type() -> None:
    rows = frame_of([5, np.int64(7), 2**62 - 1])
    assert dh.LabelCounts.from_table(rows, label="t", count="x", max_count=9).counts_of(["t"]) == [
        5 + 7 + 9
    ]
    for bad, said in ((2**62, "at most"), (2**100, "at most"), (-1, "negative"), (None, "value")):
        with pytest.raises(dh.DataError, match=f"column 'x' .*{said}"):
            dh.LabelCounts.from_table(frame_of([5, bad]), label="t", count="x")


def test_values_are_binned_exactly() -> None:
    values = [0, 2**60, 2**60 + 1, 1.5, Decimal("1.5"), float("nan"), None, np.float32(0.1), -1]
    found = dh.bin_counts(frame_of(values), column="x", edges=[0, 1, 2, 2**60 + 1])
    assert found.counts.tolist() == [2, 2, 1]
    assert (found.overflow, found.underflow, found.nulls) == (1, 1, 2)
    moments = [DAY, NOON, pd.Timestamp("2019-12-31T23:59:59.999999999")]
    edges = ["2020-01-01T00:00", "2020-01-01T12:00", "2021-01-01"]
    found = dh.bin_counts(frame_of(moments), column="x", edges=edges)
    assert (found.counts.tolist(), found.underflow) == ([1, 1], 1)
    zoned = [NOON.replace(tzinfo=dt.UTC), pd.Timestamp("2020-01-01T12:59", tz="Europe/Zurich")]
    found = dh.bin_counts(frame_of(zoned), column="x", edges=edges, tz="UTC")
    assert found.counts.tolist() == [1, 1]
    for values, tz in (([*moments, zoned[0]], None), ([*zoned, NOON], "UTC")):
        with pytest.raises(dh.DataError, match="time zone because the edges have"):
            dh.bin_counts(frame_of(values), column="x", edges=edges, tz=tz)
