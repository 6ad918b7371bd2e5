"""Several files as one table; tables of Python's own containers."""

import datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.errors import ColumnError, DataError, InputFileError, ParameterError
from tests.support.refusal import SENTINEL, refused

ROWS = pd.DataFrame(
    {"who": [n % 40 for n in range(300)], "word": [f"w{n % 7}" for n in range(300)]}
)


def count(frame: Any, most: int = 7) -> dict[Any, int]:
    counts = dh.LabelCounts.from_table(frame, label="word", user="who", max_labels=most)
    mechanism = dh.ThresholdHistogram(
        epsilon=1000, max_labels=most, labels=[f"w{n}" for n in range(7)]
    )
    value = mechanism.release(counts).value
    return dict(zip(value.labels, map(round, value.counts), strict=True))


def write(folder: Path, ending: str, frames: list[pd.DataFrame]) -> list[Path]:
    paths = [folder / f"{place:02}{ending}" for place in range(len(frames))]
    for path, frame in zip(paths, frames, strict=True):
        if ending == ".parquet":
            frame.to_parquet(path)
        else:
            frame.to_csv(path, index=False)
    return paths


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_users_spread_over_files_are_bounded_once(ending: str, tmp_path: Path) -> None:
    parts = [ROWS[:100], ROWS[100:100], ROWS[["word", "who"]][100:250], ROWS[250:]]
    paths = write(tmp_path, ending, parts)
    (tmp_path / "_SUCCESS").touch()
    whole = count(ROWS)
    for given in (tmp_path, f"{tmp_path}/", paths, f"{tmp_path}/0*{ending}", tmp_path / "??*"):
        assert count(given) == whole
    # Every user has one label of all files, not one of each.
    assert sum(count(paths, 1).values()) == ROWS["who"].nunique()
    assert sum(count([paths[1], paths[1].with_name("00" + ending)], 1).values()) == 40


def test_files_that_are_no_one_table(tmp_path: Path) -> None:
    (first, second) = write(tmp_path, ".parquet", [ROWS, ROWS.rename(columns={"who": "whom"})])
    (typed,) = write(tmp_path / ".", ".csv", [ROWS])
    other = tmp_path / "other.parquet"
    ROWS.assign(who=ROWS["who"].astype("int32")).to_parquet(other)
    more = tmp_path / "more.parquet"
    ROWS.assign(x=1).to_parquet(more)
    (tmp_path / "year" / "2024").mkdir(parents=True)
    for files, kind, fault in (
        ([first, second], ColumnError, f"'{second}': there is no column 'who'"),
        ([first, other], ColumnError, f"column 'who' of '{other}' must have the same type as in"),
        ([first, more], ColumnError, f"'{more}' must have the same columns as '{first}'"),
        ([first, typed], ColumnError, f"'{typed}' is of another format than '{first}'"),
        ([first, first], InputFileError, "is named twice"),
        (tmp_path / "no*.csv", InputFileError, "no file matches"),
        (tmp_path / "year", InputFileError, "holds another folder, '2024'"),
    ):
        with refused(kind, fault):
            count(files)
    (tmp_path / "link.parquet").hardlink_to(first)
    with refused(InputFileError, "is named twice"):
        count([first, tmp_path / "link.parquet"])


def test_a_fault_in_one_of_several_files_names_file_and_line(tmp_path: Path) -> None:
    paths = write(tmp_path, ".csv", [ROWS, ROWS, ROWS])
    paths[1].write_text(f"who,word\n1,a\n2,{SENTINEL},3\n")
    with refused(InputFileError, f"line 3 of '{paths[1]}' must have as many fields"):
        count(paths)


def test_a_file_that_changes_while_it_is_read_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dphist.counting.engine import private_duckdb

    paths = write(tmp_path, ".csv", [ROWS[:200], ROWS[200:]])
    known = count(ROWS)
    # As many rows in all, of other files.
    monkeypatch.setattr(private_duckdb, "_rows_read", lambda _: [199, 101])
    with refused(InputFileError, "could not be read completely"):
        count(paths)
    monkeypatch.setattr(private_duckdb, "_rows_read", lambda _: [200, 100, 100, 200])
    assert count(paths) == known


def test_dicts_and_records_count_as_a_dataframe_of_objects_does() -> None:
    days = [datetime.date(2024, 1, 1 + n % 7) for n in range(300)]
    for words in (ROWS["word"].tolist(), days, [n % 7 for n in range(300)]):
        who = ROWS["who"].to_numpy()
        frame = pd.DataFrame({"who": who, "word": pd.Series(words, dtype=object)})
        records = [{"who": int(w), "word": each} for w, each in zip(who, words, strict=True)]
        labels = sorted(set(map(str, words)))
        mechanism = dh.ThresholdHistogram(epsilon=1000, max_labels=7, labels=labels)
        found = [
            list(map(round, mechanism.release(of_words(table)).value.counts))
            for table in (frame, {"who": who, "word": words}, records)
        ]
        assert found[0] == found[1] == found[2]
        assert sum(found[0]) > 0
    ages = dh.bin_counts([{"age": 3}, {"age": 9.5}, {"age": None}], column="age", edges=[0, 5, 10])
    assert ages.bins == (2,)
    of_words([])  # a query without rows


def of_words(table: Any) -> dh.LabelCounts:
    return dh.LabelCounts.from_table(table, label="word", user="who", max_labels=7)


def test_what_is_no_table_says_what_to_pass() -> None:
    cursor = duckdb.connect().execute("SELECT 1 AS who")
    for table, kind, said in (
        (ROWS["word"].value_counts(), ParameterError, "reset_index"),
        (iter([ROWS]), ParameterError, "concatenate chunks"),
        ([ROWS, ROWS], ParameterError, "concatenate chunks"),
        ([(1, SENTINEL)], ParameterError, "give the columns of plain rows names"),
        (cursor, ParameterError, "fetch the rows of the cursor"),
        (np.array([1]), ParameterError, "names, as in {'age': array}"),
        ({"who": [1], "word": ["a", "b"]}, ParameterError, "columns of one length"),
        ({"who": 1, "word": "a"}, ParameterError, "a list or an array for each column"),
        ([{"who": 1, "word": "a"}, {"who": SENTINEL}], DataError, "has no 'word': give None"),
        ({"who": [1]}, ColumnError, "there is no column 'word'"),
    ):
        with refused(kind, said):
            of_words(table)
