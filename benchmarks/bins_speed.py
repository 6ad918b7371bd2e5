"""Bins of a large file, with and without users, beside the same query in DuckDB without privacy.

    python -m benchmarks.bins_speed [--rows N] [--rounds N]

The file is made in a temporary folder, the same each time, and removed afterwards. All cases run
once in each round, one after the other. A ratio is the mean over rounds of a case's time divided by
that of the plain query, or of our own count without users, in the same round. Times are wall time;
the processor time of all threads stands beside it, which another load changes less.
"""

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import dphist as dh
from benchmarks.label_speed import _USER
from benchmarks.markdown import print_table

HEAD = ["query", "axes", "users", "max_records", "wall, s", "processor, s"]
HEAD += ["ratio to the plain query", "ratio to ours without users", "processor ratio to it"]
# Values from 0 to 1,000 in bins of width 10, and from 0 to 24 in bins of width 1.
_VALUES = {"x": 1000.0, "y": 24.0}
EDGES = {"x": list(range(0, 1001, 10)), "y": list(range(25))}
_PLAIN = {1: "floor(x / 10)", 2: "floor(x / 10), floor(y)"}

Case = tuple[str, int, str, str, Callable[[], Any]]


def write_rows(path: Path, rows: int) -> None:
    """Write a Parquet file with columns who, text, x, y; the same each time."""
    values = [
        f"hash(i + {place}::BIGINT * 2**40::BIGINT) / 2.0**64 * {size} AS {name}"
        for place, (name, size) in enumerate(_VALUES.items(), 1)
    ]
    with duckdb.connect(config={"memory_limit": "1GB", "temp_directory": str(path.parent)}) as made:
        made.sql(f"SELECT i FROM range({rows}) t(i)").project(
            ", ".join([f"{_USER.format(users=max(rows // 10, 1))} AS who", *values])
        ).project("who, 'user ' || who AS text, x, y").write_parquet(str(path))


def cases(path: Path, connection: duckdb.DuckDBPyConnection) -> Iterator[Case]:
    """Return the queries, with what they are called."""

    def plain(axes: int, grouped: str) -> Callable[[], Any]:
        relation = connection.read_parquet(str(path)).aggregate(f"{grouped}, count(*) AS n")
        return lambda: relation.aggregate("sum(n)").fetchall()

    for axes in (1, 2):
        names = list(EDGES)[:axes]
        given: dict[str, Any] = {"column": names, "edges": [EDGES[name] for name in names]}
        yield "DuckDB", axes, "", "", plain(axes, _PLAIN[axes])
        yield "dphist", axes, "", "", partial(dh.bin_counts, path, **given)
        for user in ("who", "text"):
            for most in (100, 10):
                bounds = {**given, "user": user, "max_records": most}
                kind = "number" if user == "who" else "text"
                yield "dphist", axes, kind, str(most), partial(dh.bin_counts, path, **bounds)
            if axes == 1:
                by_user = plain(axes, f"{user}, {_PLAIN[axes]}")
                yield "DuckDB, by user and bin", axes, kind, "", by_user


def measured(run: Callable[[], Any]) -> tuple[float, float]:
    """Return wall time and processor time of a call, in seconds."""
    wall, processor = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - processor


def with_error(values: np.ndarray[Any, Any]) -> str:
    """Return a mean with its standard error."""
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{values.mean():.2f} ± {error:.2f}"


def table_rows(listed: list[Case], times: np.ndarray[Any, Any]) -> Iterator[list[str]]:
    """Return the rows of the table; times are (rounds, cases, 2), in seconds."""
    places = {(name, axes, kind): place for place, (name, axes, kind, *_) in enumerate(listed)}
    for place, (name, axes, kind, most, _) in enumerate(listed):
        wall, processor = times[:, place, 0], times[:, place, 1]
        theirs, ours = places["DuckDB", axes, ""], places["dphist", axes, ""]
        yield [
            name,
            str(axes),
            kind,
            most,
            with_error(wall),
            with_error(processor),
            with_error(wall / times[:, theirs, 0]),
            with_error(wall / times[:, ours, 0]),
            with_error(processor / times[:, ours, 1]),
        ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dphist-benchmark-") as folder:
        path = Path(folder) / "rows.parquet"
        write_rows(path, given.rows)
        with duckdb.connect(config={"memory_limit": "1GB", "temp_directory": folder}) as connection:
            connection.execute("SET enable_progress_bar = false")
            relation = connection.read_parquet(str(path))
            users = relation.aggregate("who, count(*) AS n")
            total = "count(*), sum(n) FILTER (n > 10) / sum(n), sum(n) FILTER (n > 100) / sum(n)"
            number, ten, hundred = users.aggregate(total).fetchall()[0]
            listed = list(cases(path, connection))
            for *_, run in listed[:2]:  # what is imported at the first call
                run()
            times = np.array([[measured(run) for *_, run in listed] for _ in range(given.rounds)])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )
    print(
        f"{given.rows:,} rows of {number:,} users; {ten:.0%} of rows are of users with more than "
        f"10 rows, {hundred:.0%} with more than 100. {given.rounds} rounds, {os.cpu_count()} "
        f"cores, load {os.getloadavg()[0]:.1f}, peak of the process {peak / 2**30:.2f} GiB\n"
    )
    print_table(HEAD, table_rows(listed, times))


if __name__ == "__main__":
    main()
