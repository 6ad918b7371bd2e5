"""Arrays of somebody else's in pandas, whose Arrow type may be another in each part of the rows.

The gate believes one type for all rows. With the second part's bytes read as values of the first
part's type, one row of one user changed a count by a thousand.
"""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pandas.api.extensions import ExtensionArray, ExtensionDtype

import dphist as dh
from dphist.counting.engine.redaction import Wall
from dphist.counting.reading import frames
from dphist.counting.reading.source import make_reader
from dphist.errors import ColumnError, DataError, DphistError
from tests.support.refusal import refused


class Anything(ExtensionDtype):  # type: ignore[misc]
    name, type, kind = "anything", object, "O"

    @classmethod
    def construct_array_type(cls) -> Any:
        return Own


class Own(ExtensionArray):  # type: ignore[misc]
    """Values of any type, which Arrow looks at part by part."""

    def __init__(self, values: Any) -> None:
        self.values = np.array(values, object)

    dtype = Anything()

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, place: Any) -> Any:
        found = self.values[place]
        return Own(found) if isinstance(found, np.ndarray) else found

    def isna(self) -> Any:
        return pd.isna(self.values)

    def copy(self) -> "Own":
        return Own(self.values)

    def __arrow_array__(self, type: Any = None) -> pa.Array:  # noqa: A002 - its name
        return pa.array(list(self.values))


@pytest.mark.parametrize("values", [[1, 2, 3], ["a", "b", "c"], [1, 2, 0.5], [0.0, -0.0, 1.0]])
def test_such_a_column_is_refused(values: list[Any]) -> None:
    frame = pd.DataFrame({"x": pd.Series(Own(values)), "n": [1, 2, 3]})
    for call in (
        lambda: dh.LabelCounts.from_table(frame, label="x"),
        lambda: dh.LabelCounts.from_table(frame, label="n", user="x", max_labels=1),
        lambda: dh.LabelCounts.from_table(frame, label="n", count="x", max_count=5),
        lambda: dh.Profile.from_table(frame, label="n", user="x", max_records=1),
        lambda: dh.bin_counts(frame, column="n", edges=[0, 5], user="x", max_records=1),
        lambda: dh.Profile.from_edges(frame, source="x", target="n"),
    ):
        with refused(ColumnError, "'x'"):
            call()


@pytest.mark.parametrize("first", [1, "a"])
def test_a_part_of_another_type_is_refused(first: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were its dtype believed, its parts would still be compared with what it promised."""
    monkeypatch.setattr(frames, "_is_known", lambda dtype: True)
    monkeypatch.setattr(frames, "ROWS_AT_ONCE", 2)
    frame = pd.DataFrame({"x": pd.Series(Own([first, first, 0.5])), "n": [1, 2, 3]})
    for call in (
        lambda: dh.LabelCounts.from_table(frame, label="n", user="x", max_labels=1),
        lambda: dh.Profile.from_table(frame, label="x"),
        lambda: dh.LabelCounts.from_table(frame, label="n", count="x", max_count=5),
    ):
        with refused(ColumnError, "'x'"):
            call()


def test_batches_of_two_types_are_no_stream() -> None:
    batches = [pa.record_batch({"x": [1]}), pa.record_batch({"x": [0.5]})]
    wall = Wall(DataError("no stream"))
    with pytest.raises(DphistError, match="no stream"):
        wall(lambda: make_reader(iter(batches), wall).read_all())


@pytest.mark.quick(every=3)
@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["a", None, "b"], dtype="string[python]"),
        pd.Series(["a", None, "b"], dtype="string[pyarrow]"),
        pd.Series(["a", None, "b"], dtype="category"),
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series([True, None, False], dtype="boolean"),
        pd.Series([1, 2, 2], dtype="int16"),
        pd.Series(pd.to_datetime(["2020-01-01", None, "2020-01-02"], utc=True)),
        pd.Series(["a", None, "b"], dtype=pd.ArrowDtype(pa.string())),
        pd.Series([None, None], dtype=pd.ArrowDtype(pa.null())),
        pd.Series(["a", "b"], dtype=object),
        pd.Series([], dtype=object),
    ],
    ids=lambda column: str(column.dtype),
)
def test_pandas_own_types_are_read(column: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "ROWS_AT_ONCE", 2)
    frame = pd.DataFrame({"x": column})
    found = dh.LabelCounts.from_table(frame, label="x", null_labels="drop")
    assert sum(found.largest(9)["count"].to_pylist()) == column.notna().sum()


def test_eight_bit_truth_values_are_counted_as_they_are_stored() -> None:
    stored = pa.array([5, 0, -1], pa.int8())
    frame = pa.table({"x": pa.ExtensionArray.from_storage(pa.bool8(), stored), "l": ["a"] * 3})
    with refused(DataError, "'x'", "negative"):
        dh.LabelCounts.from_table(frame, label="l", count="x", max_count=5)
