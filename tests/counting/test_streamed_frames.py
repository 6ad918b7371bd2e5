"""Lazy Polars frames and DuckDB relations are read in chunks, and never collected whole."""

import subprocess
import sys
import time
import warnings
from typing import Any

import duckdb
import polars as pl
import pytest

import dphist as dh
from dphist.counting.reading import frames
from dphist.counting.reading.source import ROWS_AT_ONCE

ROWS = ROWS_AT_ONCE + 10
BINS: dict[str, Any] = {"column": "x", "edges": [0, 2, 10]}


def lazy() -> pl.LazyFrame:
    row = pl.int_range(ROWS)
    return pl.select(who=row // 3, x=row % 10, n=1).lazy()


READERS: dict[str, Any] = {
    "bins": lambda frame: dh.bin_counts(frame, **BINS).counts.sum(),
    "bins of users": lambda frame: dh.bin_counts(
        frame, **BINS, user="who", max_records=9
    ).counts.sum(),
    "bins of counts": lambda frame: dh.bin_counts(frame, **BINS, count="n").counts.sum(),
    "profile": lambda frame: dh.Profile.from_table(frame, label="x").total,
    "profile of users": lambda frame: (
        dh.Profile.from_table(frame, label="x", user="who", max_records=9).total
    ),
    "labels": lambda frame: sum(
        dh.LabelCounts.from_table(frame, label="x", user="who", max_labels=9).counts_of(range(10))
    ),
}


def test_what_a_lazy_frame_prints_goes_nowhere_also_after_an_error(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Polars calls Python functions in threads of its own, and goes on after an error of ours."""
    monkeypatch.setattr(frames, "_UNTIL_IT_ENDS", 5.0)
    begun, printed, pause = [0], [0], 0.0

    def prints(values: pl.Series) -> pl.Series:
        begun[0] += 1
        time.sleep(pause)
        print("of the data", values[0])
        printed[0] += 1
        if not pause:  # later it would be an error here, as all warnings are, and end the query
            warnings.warn(f"of the data {values[0]}", stacklevel=1)
        return values % 10

    row = pl.int_range(20 * ROWS)
    frame = pl.select(i=row, who=row).lazy()
    frame = frame.with_columns(x=pl.col("i").map_batches(prints, pl.Int64, is_elementwise=True))
    assert dh.bin_counts(frame, **BINS).counts.sum() == 20 * ROWS
    other = frame.map_batches(
        lambda chunk: chunk.with_columns(x=pl.lit("one")),
        schema={"i": pl.Int64, "who": pl.Int64, "x": pl.Int64},
        streamable=True,
        validate_output_schema=False,
    )
    pause = 0.1
    with pytest.raises(dh.DphistError):
        dh.bin_counts(other, **BINS)
    # Polars goes on for some chunks; in another test, or at the exit, they would be heard.
    before, seen, still, end = printed[0], -1, 0.0, time.monotonic() + 20
    while time.monotonic() < end and (printed[0] == before or still < 0.5):
        still = still + 0.01 if begun[0] == printed[0] == seen else 0.0
        seen = printed[0]
        time.sleep(0.01)
    assert printed[0] > before  # or nothing is tried
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("reader", READERS)
def test_a_lazy_polars_frame_is_read_in_chunks(
    reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("collected whole")

    frame, sizes = lazy(), []
    whole = pl.LazyFrame.collect_batches

    def chunks(self: pl.LazyFrame, **given: Any) -> Any:
        for chunk in whole(self, **given):
            sizes.append(len(chunk))
            yield chunk

    monkeypatch.setattr(pl.LazyFrame, "collect", refuse)
    monkeypatch.setattr(pl.LazyFrame, "collect_batches", chunks)
    assert READERS[reader](frame) == ROWS
    assert sum(sizes) == ROWS
    assert max(sizes) <= ROWS_AT_ONCE


@pytest.mark.parametrize("missing", [False, True])
def test_the_counts_of_chunks_are_those_of_the_frame(
    missing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by a Polars whose chunks are not asked for, and for columns that are encoded."""
    if missing:
        monkeypatch.setattr(pl, "__version__", "1.39.3")
        monkeypatch.delattr(pl.LazyFrame, "collect_batches")
    else:
        monkeypatch.setattr(pl, "__version__", "2.0rc1")
    monkeypatch.setattr("dphist.counting.reading.frames.ROWS_AT_ONCE", 7)
    words = pl.Series(["a", "b", None, "a"] * 10, dtype=pl.Categorical)
    frame = pl.DataFrame({"x": range(40), "who": words.fill_null("c")})
    for column in ("x", "who"):
        found = [dh.Profile.from_table(form, label=column) for form in (frame, frame.lazy())]
        assert found[0] == found[1]


_PEAK = """
import resource, sys
import duckdb, polars as pl
import dphist as dh
duckdb.execute("SET enable_progress_bar = false")
kind, path, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
def count(rows):
    if kind == "polars":
        frame = pl.scan_parquet(path).head(rows)
    else:
        frame = duckdb.sql(f"SELECT x FROM read_parquet('{path}') LIMIT {rows}")
    found = dh.bin_counts(frame, column="x", edges=[0, 500, 1000])
    assert found.counts.sum() == rows
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = count(rows // 20)
print((count(rows) - before) / 2**10)
"""


@pytest.mark.verify
@pytest.mark.parametrize("kind", ["polars", "duckdb"])
def test_memory_does_not_grow_with_the_rows(kind: str, tmp_path: Any) -> None:
    """30 million rows are 229 MiB, and the growth of the process is below half of it."""
    path, rows = tmp_path / "rows.parquet", 30_000_000
    numbers = duckdb.sql("SELECT i FROM range(30_000_000) t(i)")
    numbers.project("(i % 1000)::DOUBLE AS x").write_parquet(str(path))
    command = [sys.executable, "-c", _PEAK, kind, str(path), str(rows)]
    grown = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    assert float(grown) < 110
