"""Memory and temporary space of counting, per row: the constants behind what a dry run says.

    python -m benchmarks.space_needed            about 5 minutes, 3 GB of memory
    python -m benchmarks.space_needed --rows 500000

Each way of counting runs in a process of its own, with memory enough and with little, over a file
of rows that are all different (every row has a user and a label of its own: the worst case) and
over one of 10 rows a user. Peaks are bytes per row above a run over 1,000 rows.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import duckdb

WAYS = {
    "label": "dh.Profile.from_table({file!r}, label='label')",
    "label, user": "dh.LabelCounts.from_table({file!r}, label='label', user='user', max_labels=3)",
    "label, user, max_records": (
        "dh.Profile.from_table({file!r}, label='label', user='user', max_records=3)"
    ),
    "bins": "dh.bin_counts({file!r}, column='x', edges=[0, 1, 2])",
    "bins, user": (
        "dh.bin_counts({file!r}, column='x', edges=[0, 1, 2], user='user', max_records=3)"
    ),
}
SHAPES = {
    "all different": "'user-' || i AS user, 'label-' || i AS label",
    "10 rows a user": "'user-' || (hash(i) % ({rows} // 10)) AS user, "
    "'label-' || (hash(i + 7) % ({rows} // 20)) AS label",
}
# Not getrusage, whose maximum a process inherits from the one that starts it.
_CHILD = (
    "import re, sys, dphist as dh\n"
    "with dh.Resources(memory=sys.argv[1], temp=sys.argv[2]): kept = {call}\n"
    "print(int(re.search('VmHWM:[^0-9]*([0-9]+)', open('/proc/self/status').read())[1]) * 1024)"
)


def written(folder: Path, shape: str, rows: int) -> Path:
    """Write a Parquet file."""
    path = folder / f"{shape.replace(' ', '-')}-{rows}.parquet"
    columns = SHAPES[shape].format(rows=max(rows, 100))
    with duckdb.connect() as connection:
        numbers = connection.sql("SELECT unnest(range(?)) AS i", params=[rows])
        numbers.project(f"{columns}, i % 3 AS x").write_parquet(str(path))
    return path


def size_of(folder: Path) -> int:
    """Return the bytes that files below a folder take on disk."""
    total = 0
    with contextlib.suppress(OSError):  # files go while they are looked at
        for path in folder.rglob("*"):
            total += path.stat().st_blocks * 512 if path.is_file() else 0
    return total


def measured(call: str, memory: str) -> tuple[int, int]:
    """Return the peaks of memory of a process, and of its temporary folder, in bytes."""
    with tempfile.TemporaryDirectory() as temp:
        ended, peak = threading.Event(), [0]

        def watch() -> None:
            while not ended.wait(0.02):
                peak[0] = max(peak[0], size_of(Path(temp)))

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            done = subprocess.run(
                [sys.executable, "-c", _CHILD.format(call=call), memory, temp],
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            ended.set()
            thread.join()
        if done.returncode:
            return -1, peak[0]
        return int(done.stdout), peak[0]


def main() -> None:
    """Print a line for each way and shape."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--tight", default="128MB", help="the small memory (default: 128MB)")
    parser.add_argument("--ways", type=int, default=len(WAYS), help="how many of the ways")
    asked = parser.parse_args()
    rows = asked.rows
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small = {shape: written(folder, shape, 1000) for shape in SHAPES}
        large = {shape: written(folder, shape, rows) for shape in SHAPES}
        for way, call in list(WAYS.items())[: asked.ways]:
            for shape in SHAPES:
                base, _ = measured(call.format(file=str(small[shape])), "4GB")
                memory, _ = measured(call.format(file=str(large[shape])), "4GB")
                tight, temp = measured(call.format(file=str(large[shape])), asked.tight)
                line = {
                    "way": way,
                    "rows": shape,
                    "base_MB": base // 10**6,
                    "memory_per_row": round((memory - base) / rows, 1),
                    "temp_per_row_if_tight": round(temp / rows, 1),
                    "memory_MB_if_tight": tight // 10**6 if tight >= 0 else "ran out",
                    "seconds": round(time.monotonic() - begun),
                }
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
