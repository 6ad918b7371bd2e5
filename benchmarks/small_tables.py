"""Labels of small tables: what a count costs that is over in milliseconds.

    python -m benchmarks.small_tables [--rows N] [--calls N]

Rows of a tenth as many users and labels, labels of text, at most 10 labels a user. Each kind of
table is counted many times in a warm process, in turn with the plain query in DuckDB, which counts
the distinct users of each label of the same rows in memory. Files are in a temporary folder.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

from benchmarks.markdown import print_table
from dphist import LabelCounts

HEAD = ["", "mean, ms", "± s.e.", "least, ms", "median ratio"]
PLAIN = "plain query: DuckDB"
WARM = 5


def tables(rows: int, folder: Path) -> dict[str, Any]:
    """Return the same rows in several kinds of tables."""
    draw = np.random.default_rng(1)
    distinct = max(rows // 10, 1)
    labels = [f"label {number}" for number in draw.integers(0, distinct, rows)]
    table = pa.table({"who": draw.integers(0, distinct, rows), "text": labels})
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    parquet, text = folder / "rows.parquet", folder / "rows.csv"
    frame.write_parquet(parquet)
    frame.write_csv(text)
    connection = duckdb.connect()
    connection.register("given", table)
    connection.execute("CREATE TABLE rows AS FROM given")
    return {
        "Arrow table": table,
        "Polars frame": frame,
        "lazy Polars frame": frame.lazy(),
        "pandas frame": table.to_pandas(),
        "DuckDB relation": connection.table("rows"),
        "Parquet file": parquet,
        "CSV file": text,
    }


def runs_of(given: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Return what to time, the plain query first."""
    plain = given["DuckDB relation"].aggregate("text, count(DISTINCT who) AS users", "text")

    def counted(table: Any) -> Callable[[], Any]:
        return lambda: LabelCounts.from_table(table, label="text", user="who", max_labels=10)

    return {PLAIN: plain.to_arrow_table} | {name: counted(table) for name, table in given.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=60)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dphist-benchmark-") as folder:
        runs = runs_of(tables(asked.rows, Path(folder)))
        taken: dict[str, list[float]] = {name: [] for name in runs}
        for call in range(WARM + asked.calls):
            for name, run in runs.items():
                start = time.perf_counter()
                run()
                if call >= WARM:
                    taken[name].append(1000 * (time.perf_counter() - start))
    print_table(HEAD, (row_of(name, own, taken[PLAIN]) for name, own in taken.items()))


def row_of(name: str, own: list[float], plain: list[float]) -> list[str]:
    """Return a row of the table."""
    error = statistics.stdev(own) / len(own) ** 0.5 if len(own) > 1 else float("nan")
    ratio = statistics.median(each / beside for each, beside in zip(own, plain, strict=True))
    numbers = (statistics.mean(own), error, min(own), ratio)
    return [name, *(f"{number:.1f}" for number in numbers)]


if __name__ == "__main__":
    main()
