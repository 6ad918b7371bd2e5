"""Arrow columns that break Arrow's own rules are refused before anything touches them.

Each case is handed over in a process of its own: what goes wrong here is a crash.
"""

import subprocess
import sys
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import dphist as dh
from dphist.counting.reading import frames, relations
from dphist.counting.reading.arrow import decode
from dphist.errors import ColumnError, DataError
from tests.support.refusal import SENTINEL, refused

ROWS = 3


def buffer(values: list[int], kind: str) -> pa.Buffer:
    return pa.py_buffer(np.array(values, kind).tobytes())


def array(
    kind: pa.DataType, *buffers: pa.Buffer | None, children: list[pa.Array] | None = None
) -> Any:
    return pa.Array.from_buffers(kind, ROWS, list(buffers), children=children)


TEXT = pa.py_buffer(SENTINEL.encode() * 4)
WORDS = pa.array(["a", "b"])


def broken() -> dict[str, Any]:
    """Columns of three rows, each invalid in one way."""
    falling, negative = [0, 9, 4, 6], [0, -5, 2, 3]
    return {
        "binary, offsets that fall": array(pa.binary(), None, buffer(falling, "i4"), TEXT),
        "binary, negative offsets": array(pa.binary(), None, buffer(negative, "i4"), TEXT),
        "large binary": array(pa.large_binary(), None, buffer(falling, "i8"), TEXT),
        "text": array(pa.string(), None, buffer(falling, "i4"), TEXT),
        "large text": array(pa.large_string(), None, buffer(negative, "i8"), TEXT),
        "dictionary, index beyond the end": pa.DictionaryArray.from_arrays(
            pa.array([0, 1, 99], pa.int8()), WORDS, safe=False
        ),
        "dictionary, negative index": pa.DictionaryArray.from_arrays(
            pa.array([0, 1, -1], pa.int8()), WORDS, safe=False
        ),
        "dictionary of broken bytes": pa.DictionaryArray.from_arrays(
            pa.array([0, 1, 2], pa.int8()), array(pa.binary(), None, buffer(falling, "i4"), TEXT)
        ),
        "decimal of too many digits": array(pa.decimal128(3), None, buffer([10**9, 0] * 3, "i8")),
        "date that is no day": array(pa.date64(), None, buffer([1, 2, 3], "i8")),
    }


NAMES = list(broken())
CALLS = [
    "dh.Profile.from_table(frame, label='x')",
    "dh.Profile.from_table(frame, label='x', user='who', max_records=2)",
    "dh.Profile.from_table(frame, label='who', user='x', max_records=2)",
    "dh.Profile.from_edges(frame, source='x', target='y')",
    "dh.LabelCounts.from_table(frame, label='x')",
    "dh.LabelCounts.from_table(frame, label='who', user='x', max_labels=2)",
    "dh.bin_counts(frame, column='n', edges=[0, 1], user='x', max_records=2)",
    "dh.ContinualHistogram(epsilon=1, delta='1e-6', horizon=9)"
    ".update_many(frame, label='t', event='x')",
]


def tried(names: list[str], call: str) -> None:
    """Try a call on each column; it must be refused by an error of ours that shows nothing."""
    for name in names:
        column = broken()[name]
        whole = pa.array(range(ROWS))
        frame = pa.table({"x": column, "y": column, "who": whole, "n": whole, "t": ["a", "b", "c"]})
        with refused(DataError, "'x'"):
            eval(call, {"dh": dh, "frame": frame})  # noqa: S307


@pytest.mark.long(every=4)
@pytest.mark.parametrize("call", CALLS)
def test_columns_that_break_the_rules_are_refused(call: str) -> None:
    code = f"from tests.counting.test_arrow import *; tried(NAMES, {call!r}); print('all refused')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "all refused\n"), done.stderr


def broken_in_two_chunks(index: int) -> pd.DataFrame:
    """A pandas column whose chunks have dictionaries of their own, the last index in neither."""
    first = pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), WORDS)
    last = pa.DictionaryArray.from_arrays(pa.array([1, index], pa.int32()), WORDS[:1], safe=False)
    column = pa.chunked_array([first, last], type=pa.dictionary(pa.int32(), pa.string()))
    return pd.DataFrame({"x": pd.Series(pd.arrays.ArrowExtensionArray(column)), "who": range(3)})


def tried_in_two_chunks(index: int) -> None:
    frame = broken_in_two_chunks(index)
    for call in CALLS[:3] + CALLS[4:6]:
        with refused(DataError, "'x'"):
            eval(call, {"dh": dh, "frame": frame})  # noqa: S307


@pytest.mark.long(every=2)
@pytest.mark.parametrize("index", [10**9, -(10**9), 1, 7, -1])
def test_chunks_are_validated_before_they_are_joined(index: int) -> None:
    """Arrow joins dictionaries by reading through the indices, wherever they point."""
    code = (
        f"from tests.counting.test_arrow import *; tried_in_two_chunks({index}); print('refused')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr


@pytest.mark.verify
def test_labels_that_are_looked_up_are_validated_too() -> None:
    counts = dh.LabelCounts.from_table(pa.table({"x": ["a"]}), label="x")
    code = (
        "from tests.counting.test_arrow import *\n"
        "counts = dh.LabelCounts.from_table(pa.table({'x': ['a']}), label='x')\n"
        "with refused(dh.ParameterError, 'labels'):\n"
        "    counts.counts_of(broken()['text'])\n"
        "print('refused')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr
    assert counts.counts_of(pa.array(["a", "b"])) == [1, 0]


@pytest.mark.parametrize(
    ("values", "decodes_to"),
    [
        (pa.array(["a", "a"]).dictionary_encode(), pa.large_string()),
        (pa.array([b"a", b"a"]).dictionary_encode(), pa.large_binary()),
        (pa.array(["a", None, "a"]), pa.large_string()),
        (pa.array(["a"]).cast(pa.string_view()), pa.large_string()),
        (pc.run_end_encode(pa.array(["a", "a", None, "b"])), pa.large_string()),
        (pc.run_end_encode(pa.array(["a", "a", "b", "b", "c"])).slice(1, 3), pa.large_string()),
        (pa.array([1, 1]).dictionary_encode(), pa.int64()),
        (pa.DictionaryArray.from_arrays([0, None, 1], pa.array(["a", None])), pa.large_string()),
    ],
    ids=lambda value: str(getattr(value, "type", value))[:40],
)
def test_decoding_leaves_values_and_takes_long_offsets(
    values: pa.Array, decodes_to: pa.DataType
) -> None:
    """A dictionary of one text may stand for more bytes than offsets of 32 bits can count."""
    for column in (values, pa.chunked_array([values, values])):
        found = decode(column)
        assert found.type == decodes_to
        assert found.to_pylist() == column.to_pylist()


@pytest.mark.verify
@pytest.mark.parametrize("encoded", ["dictionary", "runs"])
def test_no_row_decides_whether_text_is_too_long_for_arrow(encoded: str) -> None:
    """One label of 2**20 bytes, 2047 or 2049 times: 2**31 bytes lie between."""
    text = pa.array(["y" * 2**20])
    for rows in (2047, 2049):
        column = (
            pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), text)
            if encoded == "dictionary"
            else pa.RunEndEncodedArray.from_arrays(pa.array([rows], pa.int32()), text)
        )
        found = dh.Profile.from_table(pa.table({"x": column}), label="x")
        assert found.sorted_counts().tolist() == [rows]


@pytest.mark.parametrize("name", ["decimal of too many digits", "date that is no day"])
def test_values_to_be_binned_are_validated_too(name: str) -> None:
    edges = ["2020-01-01", "2020-01-02"] if "date" in name else [0, 1]
    with refused(DataError, "'x'", "valid Arrow data"):
        dh.bin_counts(pa.table({"x": broken()[name]}), column="x", edges=edges)


def test_a_column_that_nobody_asks_for_may_be_anything() -> None:
    column = broken()["binary, offsets that fall"]
    frame = pa.table({"other": column, "x": ["a", "b", "a"]})
    assert dh.Profile.from_table(frame, label="x").sorted_counts().tolist() == [2, 1]


@pytest.mark.parametrize("place", [0, 1, 2500, 9999])
def test_text_is_looked_at_in_every_batch(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether one row is refused must not hang on where it stands."""
    for module in (frames, relations):
        monkeypatch.setattr(module, "ROWS_AT_ONCE", 2048)
    users = [b"a"] * place + [b"\xff"] + [b"b"] * (9999 - place)
    table = pa.table({"who": pa.array(users, pa.binary()).view(pa.string()), "x": ["p"] * 10_000})
    columns = {"who": pd.Series(pd.arrays.ArrowExtensionArray(table["who"])), "x": "p"}
    for frame in (table, pd.DataFrame(columns), duckdb.from_arrow(table)):
        with refused(DataError, "'who'", "UTF-8"):
            dh.LabelCounts.from_table(frame, label="x", user="who", max_labels=1)


def test_pandas_hands_on_what_arrow_holds() -> None:
    frame = pd.DataFrame({"x": pd.Series(pd.arrays.ArrowExtensionArray(broken()["large text"]))})
    with refused(DataError, "'x'", "UTF-8"):
        dh.Profile.from_table(frame, label="x")


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1.5, 2.0]),
        pa.array([[1], [2]]),
        pa.array([{"a": 1}, {"a": 2}]),
        pa.array([1, 2]).cast(pa.duration("s")),
        pa.array([1, 2]).cast(pa.time64("us")),
        pa.array([(1, 2, 3), (1, 2, 4)], pa.month_day_nano_interval()),
        pa.array([1, 2]).cast(pa.decimal256(50)),
        pa.array([1, 2]).cast(pa.timestamp("s", "Nowhere/Land")),
        pa.array([[1, 2], [3, 4]], pa.list_(pa.int8(), 2)),
    ],
    ids=lambda values: str(values.type),
)
@pytest.mark.parametrize("rows", [0, 2])
def test_the_list_of_types_is_one_for_every_kind(values: pa.Array, rows: int) -> None:
    frame = pa.table({"x": values, "y": values, "who": [1, 2]}).slice(0, rows)
    for call in CALLS[:6]:
        with refused(ColumnError, "'x'"):
            eval(call, {"dh": dh, "frame": frame})  # noqa: S307
