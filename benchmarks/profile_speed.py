"""Profiles of a large file, with and without users, beside the same query without privacy.

    python -m benchmarks.profile_speed [--rows N] [--rounds N]

The file is made in a temporary folder, the same each time, and removed afterwards. The plain query
counts the labels with each count, without users. All cases run once in each round, one after the
other, and a ratio is the mean over rounds of two times of the same round. Times are wall time; the
processor time of all threads stands beside it, which another load changes less.
"""

import argparse
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from benchmarks.bins_speed import measured, with_error
from benchmarks.label_speed import _LABEL, _USER
from benchmarks.markdown import print_table
from dphist import Profile

HEAD = ["query", "users", "max_records", "wall, s", "processor, s", "ratio to the plain query"]
HEAD += ["processor ratio to it", "ratio to ours without users", "processor ratio to it"]
_CONFIG = {"memory_limit": "1GB"}

Case = tuple[str, str, str, Callable[[], Any]]


def write_rows(path: Path, rows: int) -> None:
    """Write a Parquet file with columns who, text, label; the same each time."""
    most = max(rows // 10, 1)
    with duckdb.connect(config={**_CONFIG, "temp_directory": str(path.parent)}) as made:
        made.sql(f"SELECT i FROM range({rows}) t(i)").project(
            f"{_USER.format(users=most)} AS who, {_LABEL.format(labels=most)} AS number"
        ).project("who, 'user ' || who AS text, 'label ' || number AS label").write_parquet(
            str(path), compression="snappy"
        )


def cases(path: Path, connection: duckdb.DuckDBPyConnection) -> Iterator[Case]:
    """Return the queries: first the plain one, then ours without users, and with users."""
    labels = connection.read_parquet(str(path)).aggregate("label, count(*) AS n", "label")
    yield "DuckDB", "", "", labels.aggregate("n, count(*) AS labels", "n").fetchall
    yield "dphist", "", "", partial(Profile.from_table, path, label="label")
    for user, kind in (("who", "number"), ("text", "text")):
        for most in (100, 10):
            bounds: dict[str, Any] = {"user": user, "max_records": most}
            yield (
                "dphist",
                kind,
                str(most),
                partial(Profile.from_table, path, label="label", **bounds),
            )


def table_rows(listed: list[Case], times: np.ndarray[Any, Any]) -> Iterator[list[str]]:
    """Return the rows of the table; times are (rounds, cases, 2), in seconds."""
    for place, (name, kind, most, _) in enumerate(listed):
        own = times[:, place]
        ratios = [own / times[:, other] for other in (0, 1)]
        values = [own, *ratios]
        yield [
            name,
            kind,
            most,
            *(with_error(value[:, part]) for value in values for part in (0, 1)),
        ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dphist-benchmark-") as folder:
        path = Path(folder) / "rows.parquet"
        write_rows(path, given.rows)
        with duckdb.connect(config={**_CONFIG, "temp_directory": folder}) as connection:
            connection.execute("SET enable_progress_bar = false")
            users = connection.read_parquet(str(path)).aggregate("who, count(*) AS n")
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
