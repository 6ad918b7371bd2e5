"""Labels nobody listed, from a large file by DuckDB: rows a second, and peak memory.

    python -m benchmarks.label_speed [--rows N] [--memory 4GB]

The file is made in a temporary folder, the same each time, and removed afterwards. Each case runs
in a process of its own, so that its peak is that of nothing else. The plain query of DuckDB, which
counts the distinct users of each label without any bound, runs under the same limit of memory.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb

from benchmarks.markdown import print_table

# Users and labels of row i: the x-th has a share in proportion to x**-0.5 and x**-1.
_USER = "1 + floor(power(hash(i) / 2.0**64, 2) * {users})::BIGINT"
_LABEL = "floor(power({labels}, hash(i + 2**40::BIGINT) / 2.0**64))::BIGINT"

HEAD = ["what is protected", "labels", "counting, s", "release, s", "million rows a second"]
HEAD += ["released", "peak GiB"]
PLAIN = "nothing: DuckDB's plain query"
CASES: list[tuple[str, str, dict[str, object]]] = [
    (PLAIN, "text", {}),
    (PLAIN, "number", {}),
    ("one user, at most 10 labels", "text", {"user": "who", "max_labels": 10}),
    ("one user, at most 10 labels", "number", {"user": "who", "max_labels": 10}),
    ("one row", "text", {}),
]

_DPHIST = """
import json, resource, sys, time
from dphist import LabelCounts, Resources, ThresholdHistogram, calibrate
path, label, memory, bounds = *sys.argv[1:4], json.loads(sys.argv[4])
start = time.perf_counter()
with Resources(memory=memory or None):
    counts = LabelCounts.from_table(path, label=label, **bounds)
counted = time.perf_counter()
mechanism = calibrate(
    ThresholdHistogram, epsilon=1, delta="1e-6", max_labels=counts.max_labels, noise="gaussian"
)
released = len(mechanism.release(counts).value)
"""

_DUCKDB = """
import resource, json, sys, tempfile, time
import duckdb
path, label, memory, _ = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    settings = {"temp_directory": folder, "preserve_insertion_order": "false"}
    if memory:
        settings["memory_limit"] = memory
    start = time.perf_counter()
    with duckdb.connect(config=settings) as connection:
        connection.execute("SET enable_progress_bar = false")
        rows = connection.read_parquet(path)
        counts = rows.aggregate(f"{label}, count(DISTINCT who)", label).to_arrow_table()
    counted, released = time.perf_counter(), 0
"""

_SEEN = """
end = time.perf_counter()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
peak *= 1 if sys.platform == "darwin" else 1024
print(json.dumps([counted - start, end - counted, released, peak / 2**30]))
"""


def write_rows(path: Path, rows: int, users: int, labels: int) -> None:
    """Write a Parquet file with columns who, number, text; the same each time."""
    with duckdb.connect(config={"memory_limit": "2GB", "temp_directory": str(path.parent)}) as made:
        made.sql(f"SELECT i FROM range({rows}) t(i)").project(
            f"{_USER.format(users=users)} AS who, {_LABEL.format(labels=labels)} AS number"
        ).project("who, number, 'label ' || number AS text").write_parquet(
            str(path), compression="snappy"
        )


def measured(
    path: Path, unit: str, label: str, memory: str, bounds: dict[str, object]
) -> list[float]:
    """Run in a process of its own: seconds to count and to release, labels, peak GiB."""
    code = (_DUCKDB if unit == PLAIN else _DPHIST) + _SEEN
    command = [sys.executable, "-c", code, str(path), label, memory, json.dumps(bounds)]
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    values: list[float] = json.loads(result.stdout)
    return values


def table_rows(path: Path, rows: int, memory: str) -> Iterator[tuple[str, ...]]:
    """Measure every case."""
    for unit, label, bounds in CASES:
        counting, releasing, released, peak = measured(path, unit, label, memory, bounds)
        yield (
            unit,
            label,
            f"{counting:.1f}",
            f"{releasing:.1f}",
            f"{rows / (counting + releasing) / 1e6:.2f}",
            f"{released:,.0f}",
            f"{peak:.2f}",
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--memory", default="", help="of each case, such as 4GB")
    chosen = parser.parse_args()
    rows = chosen.rows
    users = labels = max(rows // 10, 1)
    with tempfile.TemporaryDirectory(prefix="dphist-benchmark-") as folder:
        path = Path(folder) / "rows.parquet"
        write_rows(path, rows, users, labels)
        with duckdb.connect() as connection:
            relation = connection.read_parquet(str(path))
            seen = relation.aggregate("count(DISTINCT who), count(DISTINCT number)").fetchall()[0]
        size = path.stat().st_size / 2**30
        print(f"{rows:,} rows of {seen[0]:,} users, {seen[1]:,} labels; {size:.1f} GiB\n")
        print_table(HEAD, table_rows(path, rows, chosen.memory))


if __name__ == "__main__":
    main()
