"""Wide tables: as the rows that pandas melts them to, a person's cells bounded together."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dphist as dh
from dphist.counting.reading import files
from dphist.counting.reading.relations import check_batches
from dphist.errors import ColumnError, DataError, InputFileError, ParameterError
from tests.support.counting.given_rows import (
    Rows,
    write_csv,
    write_json_lines,
    write_sqlite,
    write_xlsx,
)
from tests.support.refusal import NUMBER, SENTINEL, refused

CELLS = ("jan", "it's", 'a,"b"')
NAMES = ("who", "region", *CELLS)
KEYS: dict[str, Any] = {"label": [*CELLS], "region": ["n", "s"]}


def write_parquet(path: Path, rows: Rows, names: Any = NAMES) -> Path:
    frame = pd.DataFrame([*rows], columns=list(names))
    frame.astype(dict.fromkeys(CELLS, "Int64") | {"who": "str"}).to_parquet(path)
    return path


WRITERS: dict[str, Callable[..., Any]] = {
    "t.csv": write_csv,
    "t.jsonl": write_json_lines,
    "t.xlsx": write_xlsx,
    "t.parquet": write_parquet,
}


def count(frame: Any, **more: Any) -> dict[str, int]:
    """Return all counts of labels."""
    asked: dict[str, Any] = {"label": "label", "user": "who", "count": "count"}
    asked |= {"max_labels": len(CELLS), "max_count": 1000} | more
    counts = dh.LabelCounts.from_table(frame, **asked)
    found = counts.filter_batches(lambda batch: batch)
    return dict(zip(found["label"].to_pylist(), found["count"].to_pylist(), strict=True))


def count_keys(frame: Any, keys: dict[str, Any] = KEYS, **more: Any) -> Any:
    asked: dict[str, Any] = {"keys": keys, "user": "who", "count": "count", "max_rows": 10_000}
    return dh.KeyedCounts.from_table(frame, **{**asked, **more})


def wide(path: Any, **more: Any) -> dh.Files:
    return dh.Files(path, wide=CELLS, **more)


def melted(rows: Rows) -> pd.DataFrame:
    """Return the rows as pandas melts them, without cells that are no record."""
    frame = pd.DataFrame([*rows], columns=list(NAMES)).astype(object)
    long = frame.melt(["who", "region"], [*CELLS], "label", "count")
    long = long[long["count"].notna() & (long["count"] != 0)]
    return long.astype({"who": "str", "region": "str", "label": "str", "count": "int64"})


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bob", "eve", "7"]),
        st.sampled_from(["n", "s"]),
        *[st.one_of(st.none(), st.integers(0, 5)) for _ in CELLS],
    ),
    max_size=12,
)


@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=8)
@given(rows=ROWS)
def test_wide_rows_count_as_pandas_melts_them(name: str, rows: Rows) -> None:
    """Also with bounds that cut: a person's cells are rows of one user."""
    with tempfile.TemporaryDirectory() as folder:
        made = wide(WRITERS[name](Path(folder) / name, rows, NAMES))
        long = melted(rows)
        assert count(made) == count(long)
        assert count(made, max_count=1) == count(long, max_count=1)
        one = {"max_labels": 1, "max_count": 1}
        assert sum(count(made, **one).values()) == long["who"].nunique()
        assert count(made, keep_sets=True, max_count=1) == count(long, max_count=1)
        assert [*count_keys(made).counts] == [*count_keys(long).counts]
        most = [count_keys(each, max_rows=2).counts.sum() for each in (made, long)]
        assert most[0] == most[1]


def test_a_key_of_which_values_are_found(tmp_path: Path) -> None:
    rows = [("ann", "n", 1, None, 0), ("bob", "s", 2, 3, None)]
    made = wide(write_csv(tmp_path / "t.csv", rows, NAMES))
    keys = {"label": dh.DiscoverKeys(share=0.5), "region": ["n", "s"]}
    assert repr(count_keys(made, keys)) == repr(count_keys(melted(rows), keys))
    assert [*count_keys(made, keys).counts] == [*count_keys(melted(rows), keys).counts]


def test_several_files_and_parts_are_one_table(tmp_path: Path) -> None:
    rows = [(f"u{n % 7}", "ns"[n % 2], n % 3, None, n % 4) for n in range(40)]
    half = [write_csv(tmp_path / f"{k}.csv", rows[k::2], NAMES) for k in (0, 1)]
    assert count(wide(half)) == count(melted(rows))
    assert [*count_keys(wide(half)).counts] == [*count_keys(melted(rows)).counts]
    asked: dict[str, Any] = {"label": "label", "user": "who", "count": "count", "max_count": 1000}
    parts = [
        dh.LabelCounts.partial(wide(half), **asked, max_labels=3, part=part, parts=2)
        for part in (0, 1)
    ]
    found = dh.LabelCounts.merge(parts).filter_batches(lambda batch: batch)
    pairs = zip(found["label"].to_pylist(), found["count"].to_pylist(), strict=True)
    assert dict(pairs) == count(melted(rows))


def test_new_columns_have_the_names_that_are_asked_for(tmp_path: Path) -> None:
    rows = [("ann", "n", 1, 2, 0)]
    made = wide(write_csv(tmp_path / "t.csv", rows, NAMES), wide_label="month", wide_count="visits")
    assert count(made, label="month", count="visits") == {"jan": 1, "it's": 2}


def test_cells_of_sqlite(tmp_path: Path) -> None:
    path = write_sqlite(tmp_path / "t.db", [("a", 1, None), ("b", 0, 3)], ("who", "x", "y"))
    assert count(dh.Files(path, wide=["x", "y"])) == {"x": 1, "y": 3}


@pytest.mark.parametrize(
    "open_rows",
    [
        lambda made: count(made, null_users="separate"),
        lambda made: count(made, null_users="separate", keep_sets=True, max_count=1),
        lambda made: count_keys(made, null_users="separate"),
        lambda made: count_keys(made, {"label": dh.DiscoverKeys(share=0.5)}, null_users="separate"),
        lambda made: count(made, user=None, max_labels=None),
        lambda made: count_keys(made, user=None),
        lambda made: count(made, sums={"region": dh.Clamp(0, 5, 1)}),
        lambda made: dh.Profile.from_table(made, label="label", count="count"),
        lambda made: dh.bin_counts(made, column="count", edges=[0, 1]),
        lambda made: dh.bin_counts(made, column="label", edges=[0, 1], user="who", max_records=1),
    ],
)
def test_cells_are_never_people(open_rows: Callable[[Any], Any], tmp_path: Path) -> None:
    """A person who is protected as a row would have one for each column."""
    made = wide(write_csv(tmp_path / "t.csv", [("ann", "n", 1, 1, 1)], NAMES))
    with refused(ParameterError, "wide needs a column of users"):
        open_rows(made)


def test_a_row_without_a_user_is_refused_or_dropped(tmp_path: Path) -> None:
    rows = [(None, "n", 1, 1, 1), ("ann", "n", 0, 2, None)]
    made = wide(write_csv(tmp_path / "t.csv", rows, NAMES))
    assert count(made, null_users="drop") == {"it's": 2}
    with refused(DataError, "'who' has rows without a user"):
        count(made)


@pytest.mark.parametrize("cell", [-1, "1.5", SENTINEL, 2**62, str(NUMBER) + "e0"])
def test_a_cell_that_is_no_count_is_refused_by_itself(cell: Any, tmp_path: Path) -> None:
    rows = [("ann", "n", 1, 2, 3), ("bob", "n", 1, cell, 3)]
    with refused(DataError, "column 'count' must hold whole numbers"):
        count(wide(write_csv(tmp_path / "t.csv", rows, NAMES)))


def test_cells_of_json_with_a_fraction(tmp_path: Path) -> None:
    path = write_json_lines(tmp_path / "t.jsonl", [("ann", "n", 1, 2.5, 3)], NAMES)
    with refused(InputFileError, "line 1", 'in column "it\'s"'):
        count(wide(path))


def test_types_of_columns_are_those_of_counts(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"who": ["a"], "x": [1.5], "label": [1]}).to_parquet(path)
    with refused(ColumnError, "'x' has a float type"):
        count(dh.Files(path, wide=["x"], wide_label="month"), label="month")
    with refused(ColumnError, "there is a column 'label' already"):
        count(dh.Files(path, wide=["x"]))


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"wide": ["a", "a"]}, "must name each column once"),
        ({"wide": ["label"]}, "must name each column once"),
        ({"wide": ["a"], "wide_label": "count"}, "must name each column once"),
        ({"wide": "jan"}, "must be a list of names"),
        ({"wide": [1]}, "must be names of columns"),
        ({"wide": ["a"], "wide_count": None}, "must be names of columns"),
    ],
)
def test_names_are_checked_when_given(given: dict[str, Any], fault: str) -> None:
    with refused(ParameterError, f"wide {fault}"):
        dh.Files("t.csv", **given)


def test_names_are_checked_before_data_are_read() -> None:
    """The file is not there."""
    missing: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"wide": ["who", "jan"]}, {}),
        ({"wide": ["jan"]}, {"label": "region"}),
        ({"wide": ["jan"]}, {"count": None}),
    ]
    for said, asked in missing:
        with refused(ParameterError, "wide m"):
            count(dh.Files("none.csv", **said), **asked)
    with refused(ParameterError, "wide makes a column of labels"):
        count(dh.Files("none.csv", wide=["jan"]), label="count", count="label")


def test_a_column_that_is_missing_is_named(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "t.parquet", [("ann", "n", 1, 2, 3)])
    with refused(ColumnError, "there is no column 'dec'"):
        count(dh.Files(path, wide=["jan", "dec"]))


def test_cells_that_are_not_read_are_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every row of the file is each of its cells, and the number is compared."""

    def lose(*given: Any) -> Any:
        for batch in check_batches(*given):
            yield batch.slice(0, max(len(batch) - 1, 0))

    made = wide(write_csv(tmp_path / "t.csv", [("ann", "n", 1, 2, 3)] * 5, NAMES))
    monkeypatch.setattr(files, "check_batches", lose)
    with refused(InputFileError, "could not be read completely"):
        count_keys(made)
