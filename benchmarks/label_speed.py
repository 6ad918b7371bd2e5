"""Labels nobody listed, from a large file by DuckDB: rows a second, and peak memory.

    python -m benchmarks.label_speed [--rows N]

The file is made in a temporary folder, the same each time, and removed afterwards. Each case runs
in a process of its own, so that its peak is that of nothing else.
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
CASES = [
    ("one user, at most 10 labels", "text", {"user": "who", "max_labels": 10}),
    ("one user, at most 10 labels", "number", {"user": "who", "max_labels": 10}),
    ("one row", "text", {}),
]

_RUN = """
import json, resource, sys, time
from dphist import LabelCounts, ThresholdHistogram, calibrate
path, label, bounds = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
start = time.perf_counter()
counts = LabelCounts.from_table(path, label=label, **bounds)
counted = time.perf_counter()
mechanism = calibrate(
    ThresholdHistogram, epsilon=1, delta="1e-6", max_labels=counts.max_labels, noise="gaussian"
)
released = len(mechanism.release(counts).value)
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


def measured(path: Path, label: str, bounds: dict[str, object]) -> list[float]:
    """Release in a process of its own: seconds to count and to release, labels, peak GiB."""
    command = [sys.executable, "-c", _RUN, str(path), label, json.dumps(bounds)]
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    values: list[float] = json.loads(result.stdout)
    return values


def table_rows(path: Path, rows: int) -> Iterator[tuple[str, ...]]:
    """Measure every case."""
    for unit, label, bounds in CASES:
        counting, releasing, released, peak = measured(path, label, bounds)
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
    rows = parser.parse_args().rows
    users = labels = max(rows // 10, 1)
    with tempfile.TemporaryDirectory(prefix="dphist-benchmark-") as folder:
        path = Path(folder) / "rows.parquet"
        write_rows(path, rows, users, labels)
        with duckdb.connect() as connection:
            relation = connection.read_parquet(str(path))
            seen = relation.aggregate("count(DISTINCT who), count(DISTINCT number)").fetchall()[0]
        size = path.stat().st_size / 2**30
        print(f"{rows:,} rows of {seen[0]:,} users, {seen[1]:,} labels; {size:.1f} GiB\n")
        print_table(
            HEAD,
            table_rows(path, rows),
        )


if __name__ == "__main__":
    main()
