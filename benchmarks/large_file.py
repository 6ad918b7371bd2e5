"""Aggregating large files: seconds, and the peak memory of the whole process.

    python -m benchmarks.large_file [--rows N] [--csv-rows N]

Files are made in a temporary folder, the same each time, and removed afterwards. Each is
aggregated in a process of its own, so that its peak is that of nothing else.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb

# Labels as SQL over the row number i. The md5 makes them incompressible and unordered.
_DISTINCT = "substr(md5(i::VARCHAR), 1, 12)"
_REPEATED = "substr(md5((hash(i) % ({rows} * 4 // 5))::VARCHAR), 1, 12)"
_LONG = "md5(i::VARCHAR)"
_FEW = "'label-' || (hash(i) % 1000)"

_RUN = """
import json, resource, sys, time
from dphist.counting import count_records, sum_counts
start = time.perf_counter()
if sys.argv[2] == "sum_counts":
    counts, prevalences = sum_counts(sys.argv[1], label="label", count="count")
else:
    counts, prevalences = count_records(sys.argv[1], label="label")
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
peak *= 1 if sys.platform == "darwin" else 1024
total = int((counts * prevalences).sum())
print(json.dumps([total, int(prevalences.sum()), len(counts), seconds, peak / 2**30]))
"""


def write(path: Path, rows: int, labels: str) -> None:
    """Write `rows` rows (label, count) in a fixed order; the suffix says how."""
    compression = "gzip" if path.suffix == ".gz" else "snappy"
    with duckdb.connect(config={"memory_limit": "2GB"}) as connection:
        relation = connection.sql(f"SELECT i FROM range({rows}) t(i)").project(
            f"{labels.format(rows=rows)} AS label, 1 + hash(i + 1) % 9 AS count"
        )
        if path.suffix == ".parquet":
            relation.write_parquet(str(path), compression=compression)
        else:
            relation.write_csv(str(path), compression=compression)


def measured(path: Path, function: str) -> list[float]:
    """Aggregate in a process of its own: records, labels, pairs, seconds, peak GiB."""
    result = subprocess.run(
        [sys.executable, "-c", _RUN, str(path), function],
        check=True,
        capture_output=True,
        text=True,
    )
    values: list[float] = json.loads(result.stdout)
    return values


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000_000, help="rows of a Parquet file")
    parser.add_argument("--csv-rows", type=int, default=10_000_000, help="rows of a .csv.gz file")
    chosen = parser.parse_args()
    cases = [
        ("count_records", "distinct.parquet", chosen.rows, _DISTINCT, "12 characters, distinct"),
        ("count_records", "repeated.parquet", chosen.rows, _REPEATED, "12 characters, some repeat"),
        ("count_records", "long.parquet", chosen.rows, _LONG, "32 characters, distinct"),
        ("count_records", "few.parquet", chosen.rows, _FEW, "few"),
        ("sum_counts", "sums.parquet", chosen.rows, _REPEATED, "12 characters, some repeat"),
        (
            "count_records",
            "repeated.csv.gz",
            chosen.csv_rows,
            _REPEATED,
            "12 characters, some repeat",
        ),
        ("sum_counts", "sums.csv.gz", chosen.csv_rows, _REPEATED, "12 characters, some repeat"),
    ]
    print("| function | file | labels are | rows | labels | seconds | peak GiB |")
    print("|---|---|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="dphist-benchmark-") as folder:
        for function, name, rows, labels, described in cases:
            path = Path(folder) / name
            write(path, rows, labels)
            total, found, _, seconds, peak = measured(path, function)
            assert total == rows or function == "sum_counts"
            kind = "".join(path.suffixes)
            print(
                f"| {function} | {kind} | {described} | {rows:,} | {int(found):,} "
                f"| {seconds:.1f} | {peak:.2f} |",
                flush=True,
            )
            path.unlink()


if __name__ == "__main__":
    main()
