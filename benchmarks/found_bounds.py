"""What finding a bound takes: seconds and peak memory beside those of the same bound fixed.

    python -m benchmarks.found_bounds [--rows 10000000] [--repeats 5] [--memory 4GB] [--way labels]

The rows of a Parquet file are counted and released with a bound that is found, and with the same
bound fixed, by turns, each time in a process of its own with a limit of memory. Ratios are of two
runs that follow each other, with the standard error of their mean: of the time that passes, and of
the time that processors are busy, which other processes disturb less.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np

from benchmarks.markdown import print_table

USERS = 0.1  # a row
_USER = "1 + floor(power(hash(i) / 2.0**64, 3) * {users})::BIGINT"  # some have many rows
_NUMBER = "floor(power({labels}, hash(i + 2**40::BIGINT) / 2.0**64))::BIGINT"

_LABELS = """
def count(most, **more):
    return dh.LabelCounts.from_table(path, label={label!r}, user="who", max_labels=most, **more)

def find():
    mechanism = dh.calibrate(dh.AutoThreshold, epsilon=1, delta="1e-6", max_labels=1000)
    release = mechanism.release(count(1000, keep_sets=True))
    return mechanism.chosen(release).max_labels

def fix(cap):
    mechanism = dh.calibrate(dh.ThresholdHistogram, epsilon=1, delta="1e-6", max_labels=cap)
    mechanism.release(count(cap))
"""
_RECORDS = """
from dphist.planning.max_records import bound_mechanism, choose_max_records
make = {make}

def count(most):
    return {count}

def find():
    users = dh.count_user_records(path, user="who")
    look = dh.LeafCounts(epsilon="0.05", bins=users.bins).release(users)
    choice = choose_max_records(look, make("0.95"))
    choice.mechanism.release(count(choice.max_records))
    return choice.max_records

def fix(cap):
    bound_mechanism(make("1"), cap).release(count(cap))
"""
WAYS = {
    "labels, text": _LABELS.format(label="text"),
    "labels, numbers": _LABELS.format(label="number"),
    "profile": _RECORDS.format(
        make="lambda epsilon: dh.AdaptiveScan(epsilon=epsilon)",
        count='dh.Profile.from_table(path, label="text", user="who", max_records=most)',
    ),
    "bins": _RECORDS.format(
        make="lambda epsilon: dh.AdaptiveTree(epsilon=epsilon, bins=4096)",
        count=(
            'dh.bin_counts(path, column="age", start=0, stop=4096, width=1, user="who", '
            "max_records=most)"
        ),
    ),
}
# Not getrusage's maximum, which a process inherits from the one that starts it.
_CHILD = """
import json, re, resource, sys, time
import dphist as dh
path, memory, cap = sys.argv[1], sys.argv[2], int(sys.argv[3])
{way}
start, own = time.perf_counter(), time.process_time()
with dh.Resources(memory=memory):
    found = fix(cap) if cap else find()
end = time.perf_counter()
peak = int(re.search("VmHWM:[^0-9]*([0-9]+)", open("/proc/self/status").read())[1]) * 1024
print(json.dumps([end - start, time.process_time() - own, peak / 2**30, found or cap]))
"""


def write_rows(path: Path, rows: int) -> None:
    """Write a Parquet file with columns who, number, text, age; the same each time."""
    columns = f"{_USER.format(users=int(rows * USERS))} AS who"
    columns += f", {_NUMBER.format(labels=rows // 100)} AS number, hash(i + 7) % 4096 AS age"
    with duckdb.connect(config={"memory_limit": "2GB", "temp_directory": str(path.parent)}) as made:
        numbers = made.sql(f"SELECT i FROM range({rows}) t(i)").project(columns)
        numbers.project("*, 'label ' || number AS text").write_parquet(str(path))


def run(path: Path, way: str, memory: str, cap: int = 0) -> tuple[float, float, float, int]:
    """Return seconds, seconds of processors, peak GiB, and the bound; 0 as `cap` finds it."""
    program = _CHILD.format(way=WAYS[way])
    command = [sys.executable, "-c", program, str(path), memory, str(cap)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    seconds, busy, peak, found = json.loads(done.stdout)
    return seconds, busy, peak, found


def compare(path: Path, way: str, memory: str, repeats: int) -> Iterator[list[str]]:
    """Find a bound, and fix the same, by turns."""
    pairs = []
    for _ in range(repeats):
        found = run(path, way, memory)
        pairs.append((found, run(path, way, memory, found[3])))
    made = np.array(pairs, float)
    ratios = made[:, 0, :2] / made[:, 1, :2]
    mean, error = ratios.mean(axis=0), ratios.std(axis=0, ddof=1) / np.sqrt(repeats)
    found, fixed = np.median(made, axis=0)
    yield [
        way,
        f"{found[3]:.0f}",
        f"{fixed[0]:.1f}",
        f"{found[0]:.1f}",
        f"{mean[0]:.2f} ± {error[0]:.2f}",
        f"{mean[1]:.2f} ± {error[1]:.2f}",
        f"{fixed[2]:.2f}",
        f"{found[2]:.2f}",
    ]


def main() -> None:
    """Print a row for each way of counting."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--way", default="", help="ways whose names have this")
    given = parser.parse_args()
    head = ["counted", "bound", "fixed (s)", "found (s)", "ratio", "ratio of processor time"]
    head += ["fixed, peak GiB", "found, peak GiB"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_rows(path, given.rows)
        ways = [way for way in WAYS if given.way in way]
        rows = (row for way in ways for row in compare(path, way, given.memory, given.repeats))
        print_table(head, rows)


if __name__ == "__main__":
    main()
