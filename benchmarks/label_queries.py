"""Labels counted by users, dphist beside the plain query of DuckDB and of Polars.

    python -m benchmarks.label_queries [--rows N] [--turns N] [--file PARQUET]

The plain query counts the distinct users of each label, without any bound. All contenders take
turns in one process, and the ratio is to the faster plain query of the same turn. So a ratio can be
trusted on a busy machine where seconds cannot. Processor seconds are those of all threads. Peak
memory is in `benchmarks.label_speed`.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from benchmarks.label_speed import write_rows
from benchmarks.markdown import print_table
from dphist import LabelCounts

HEAD = ["", "seconds", "± s.e.", "processor s", "ratio", "± s.e.", "processor ratio"]
PLAIN = "plain query: "
MAX_LABELS = 10

Run = Callable[[], Any]


def contenders(path: Path) -> dict[str, Run]:
    """Return what to time; plain queries first."""
    relation = duckdb.connect().read_parquet(str(path)).project("who, text")
    frame = pl.read_parquet(path, columns=["who", "text"])
    pandas = frame.to_pandas()
    plain = relation.aggregate("text, count(DISTINCT who) AS users", "text")
    users = pl.col("who").n_unique()

    def counted(table: Any) -> Run:
        return lambda: LabelCounts.from_table(
            table, label="text", user="who", max_labels=MAX_LABELS
        )

    return {
        f"{PLAIN}DuckDB, file": lambda: plain.to_arrow_table(),
        f"{PLAIN}Polars, file": lambda: pl.scan_parquet(path).group_by("text").agg(users).collect(),
        f"{PLAIN}Polars, frame": lambda: frame.group_by("text").agg(users),
        "Parquet file": counted(path),
        "DuckDB relation": counted(relation),
        "Polars frame": counted(frame),
        "lazy Polars frame": counted(pl.scan_parquet(path)),
        "pandas frame": counted(pandas),
    }


def timed(run: Run) -> tuple[float, float]:
    """Return seconds, and seconds of all processors."""
    wall, processor = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - processor


def row_of(
    name: str, own: list[tuple[float, float]], least: list[tuple[float, float]]
) -> list[str]:
    """Return a row of the table: means over turns, and their standard errors."""
    walls = [wall for wall, _ in own]
    ratios = [wall / plain for (wall, _), (plain, _) in zip(own, least, strict=True)]
    processors = statistics.mean(processor for _, processor in own)
    beside = statistics.mean(processor for _, processor in least)
    return [
        name,
        f"{statistics.mean(walls):.2f}",
        f"{error_of(walls):.2f}",
        f"{processors:.2f}",
        f"{statistics.mean(ratios):.2f}",
        f"{error_of(ratios):.2f}",
        f"{processors / beside:.2f}",
    ]


def error_of(values: list[float]) -> float:
    """Return the standard error of a mean; NaN for one value."""
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--file", type=Path, help="made by write_rows of benchmarks.label_speed")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dphist-benchmark-") as folder:
        path = asked.file or Path(folder) / "rows.parquet"
        if asked.file is None:
            write_rows(path, asked.rows, max(asked.rows // 10, 1), max(asked.rows // 10, 1))
        runs = contenders(path)
        turns = [{name: timed(run) for name, run in runs.items()} for _ in range(asked.turns)]
    least = [min(turn[name] for name in runs if name.startswith(PLAIN)) for turn in turns]
    print_table(HEAD, (row_of(name, [turn[name] for turn in turns], least) for name in runs))


if __name__ == "__main__":
    main()
