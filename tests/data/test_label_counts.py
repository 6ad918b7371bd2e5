"""LabelCounts: the three questions mechanisms ask, in every place the labels may lie in."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from dphist.counting.bounding import stores
from dphist.counting.reading.columns import canonical_type
from dphist.data.label_counts import LabelCounts
from dphist.errors import DataError, DphistError, ParameterError
from tests.support.counting.contribution_engines import spark
from tests.support.refusal import SENTINEL, refused

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

COUNTS = {"d": 2, "a": 2, "c": 7, "b": 2, "": 1}


def in_memory(counts: dict[Any, int]) -> LabelCounts:
    labels = pa.array(list(counts))
    return LabelCounts.from_counts(labels, list(counts.values()), max_labels=1, max_count=1)


def in_duckdb(counts: dict[Any, int]) -> LabelCounts:
    table = pa.table({"n": list(counts.values()), "term": list(counts)})
    with pytest.MonkeyPatch.context() as patch:  # where few labels would not stay
        patch.setattr(stores, "_FEW", -1)
        return LabelCounts.from_table(table, label="term", count="n", max_count=2**62 - 1)


def in_spark(counts: dict[Any, int]) -> LabelCounts:
    table = pa.table({"n": list(counts.values()), "term": list(counts)})
    frame = spark().createDataFrame(table)
    return LabelCounts.from_table(frame, label="term", count="n", max_count=2**62 - 1)


Make = Callable[[dict[Any, int]], LabelCounts]
everywhere = pytest.mark.parametrize("make", [in_memory, in_duckdb, in_spark])


def rows(table: pa.Table) -> list[tuple[Any, int]]:
    return list(zip(table["label"].to_pylist(), table["count"].to_pylist(), strict=True))


@everywhere
def test_the_largest_in_one_total_order(make: Make) -> None:
    counts = make(COUNTS)
    expected = [("c", 7), ("a", 2), ("b", 2), ("d", 2), ("", 1)]
    for number in range(7):
        assert rows(counts.largest(number)) == expected[:number]
    for bad in (-1, 1.0, True, "3"):
        with refused(ParameterError, "number"):
            counts.largest(bad)  # type: ignore[arg-type]


@everywhere
def test_ties_do_not_depend_on_the_order_of_the_rows(make: Make) -> None:
    labels = [f"t{i:04}" for i in range(3000)]
    shuffled = np.random.default_rng(0).permutation(labels).tolist()
    found = rows(make(dict.fromkeys(shuffled, 4)).largest(11))
    assert found == [(label, 4) for label in labels[:11]]


SOME = [b"", b"\0", b"\x7f", b"\x80", b"\xff", b"a", b"aa", b"\xc3\xa4", b"a\0"]


@pytest.mark.parametrize(
    "labels",
    [
        pa.array(["", "\0", "\x7f", "\u00e4", "\ud7ff", "\uffff", "\U00010000", "a", "A", "a\0"]),
        pa.array(SOME),
        pa.array([-(2**63), -1, 0, 1, 2**63 - 1]),
        pa.array([0, 1, 2**63, 2**64 - 1], pa.uint64()),
        pa.array([False, True]),
        pa.array([-1, 0, 10**17, -(10**17), 5]).cast(pa.decimal128(38, 2)),
        pa.array([-1, 0, 1, 18_000], pa.int32()).view(pa.date32()),
        pa.array([-1, 0, 1, 10**18]).cast(pa.timestamp("ns")),
        pa.array([-1, 0, 1, 10**15]).cast(pa.timestamp("us", "Asia/Tokyo")),
    ],
    ids=lambda labels: str(labels.type),
)
@pytest.mark.quick(every=5)
def test_labels_have_one_order_wherever_they_lie(labels: pa.Array) -> None:
    """Where they lie hangs on how many they are, so the first k must be the same everywhere."""
    shuffled = labels.take(np.random.default_rng(1).permutation(len(labels)))
    table = pa.table({"term": shuffled, "n": [4] * len(labels)})
    found = []
    for few in (10**6, -1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stores, "_FEW", few)
            counts = LabelCounts.from_table(table, label="term", count="n", max_count=9)
        assert isinstance(counts._store, stores.DuckStore if few < 0 else stores.ArrowStore)
        found.append([counts.largest(number)["label"].to_pylist() for number in range(12)])
        listed = labels.to_pylist()
        assert counts.counts_of(listed) == [4] * len(labels)
        assert counts.largest(1).schema.field("label").type == canonical_type(labels.type)
    assert found[0] == found[1]


@everywhere
def test_the_counts_of_listed_labels(make: Make) -> None:
    counts = make(COUNTS)
    assert counts.counts_of(["x", "c", "", "a", "A"]) == [0, 7, 1, 2, 0]
    assert counts.counts_of([]) == []
    for bad in (["a", "a"], ["a", None], [1], [["a"]]):
        with refused(ParameterError, "labels"):
            counts.counts_of(bad)


@everywhere
def test_what_survives(make: Make) -> None:
    counts = make(COUNTS)
    assert sorted(rows(counts.filter_batches(lambda batch: batch))) == sorted(COUNTS.items())

    def keep(batch: pa.RecordBatch) -> pa.RecordBatch:
        kept = batch.filter(pc.greater(batch["count"], 1))
        return kept.set_column(1, "count", pc.multiply(kept["count"], -1))

    assert sorted(rows(counts.filter_batches(keep))) == [("a", -2), ("b", -2), ("c", -7), ("d", -2)]
    none = counts.filter_batches(lambda batch: batch.slice(0, 0))
    assert (none.num_rows, none.schema.names) == (0, ["label", "count"])


@everywhere
def test_the_types_of_batches_are_those_of_what_is_returned(make: Make) -> None:
    for labels, kind in ((["a", "b"], pa.string()), ([3, 4], pa.int64())):
        counts = make(dict.fromkeys(labels, 5))

        def typed(batch: pa.RecordBatch, kind: pa.DataType = kind) -> pa.RecordBatch:
            assert batch.schema.names == ["label", "count"]
            assert batch.schema.types == [kind, pa.int64()]
            return batch

        assert counts.filter_batches(typed).schema.types == [kind, pa.int64()]


@pytest.mark.parametrize("make", [in_memory, in_duckdb])
@pytest.mark.long(every=2)
def test_batches_are_bounded_and_hold_each_label_once(make: Make) -> None:
    number = 600_000
    sizes = []

    def keep(batch: pa.RecordBatch) -> pa.RecordBatch:
        sizes.append(batch.num_rows)
        return batch

    table = make(dict(enumerate(range(1, number + 1)))).filter_batches(keep)
    assert len(sizes) >= 3
    assert max(sizes) <= 2**18
    assert np.array_equal(np.sort(table["label"].to_numpy()), np.arange(number))
    assert np.array_equal(table["label"].to_numpy() + 1, table["count"].to_numpy())


@pytest.mark.verify
def test_an_engine_that_fails_later_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = in_spark({SENTINEL: 1})
    broken = counts._store._frame.selectExpr("raise_error(CAST(label AS STRING)) AS label", "count")
    monkeypatch.setattr(stores.SparkStore, "_piece", lambda *_: broken)
    with refused(DataError, "nothing was released"):
        counts.filter_batches(lambda batch: batch)


@everywhere
def test_an_error_of_keep_is_passed_on(make: Make) -> None:
    def broken(batch: pa.RecordBatch) -> pa.RecordBatch:
        raise DphistError("ours")

    with pytest.raises(DphistError, match="ours"):
        make(COUNTS).filter_batches(broken)


def test_a_question_may_be_asked_while_another_is_answered() -> None:
    counts = in_duckdb(COUNTS)

    def keep(batch: pa.RecordBatch) -> pa.RecordBatch:
        assert counts.counts_of(["c"]) == [7]
        return batch

    assert len(rows(counts.filter_batches(keep))) == 5


@everywhere
def test_nothing_is_shown(make: Make) -> None:
    shown = repr(make({SENTINEL: 918273645}))
    assert SENTINEL not in shown
    assert "918273645" not in shown


def test_the_database_goes_with_the_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("dphist.counting.engine.rows.FEW_ROWS", -1)  # few rows need no folder
    counts = in_duckdb(COUNTS)
    assert len(list(tmp_path.glob("dphist-*[!s]"))) == 1  # beside the journal of such paths
    del counts
    assert list(tmp_path.glob("dphist-*[!s]")) == []


def test_few_labels_leave_the_database_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(stores, "_FEW", 3)
    monkeypatch.setattr("dphist.counting.engine.rows.FEW_ROWS", -1)  # few rows need no folder
    for number, there in ((3, 0), (4, 1)):
        counts = LabelCounts.from_table(pa.table({"term": list("abcd"[:number])}), label="term")
        assert len(list(tmp_path.glob("dphist-*[!s]"))) == there
        assert counts.counts_of(["a"]) == [1]
        del counts


def test_what_a_caller_promises() -> None:
    counts = LabelCounts.from_counts(["a", "b", "a"], [1, 0, 2], max_labels=None, max_count=3)
    assert rows(counts.filter_batches(lambda batch: batch)) == [("a", 3)]
    assert (counts.max_labels, counts.max_count, counts.null_users) == (None, 3, None)
    assert counts.unit.asserted
    for labels, numbers in ((["a", None], [1, 1]), (["a"], [None]), (["a"], [-1])):
        with refused(DataError):
            LabelCounts.from_counts(labels, numbers, max_labels=1, max_count=1)
