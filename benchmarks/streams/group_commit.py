"""Single durable events from several threads: events per second, with and without group commit.

    python -m benchmarks.streams.group_commit [--threads 1 2 8 ...] [--seconds S] [--turns N]

Each thread calls `update` again and again on one stream in a file, and waits until it returns. The
two ways take turns in one process: group commit, and one commit for each event (what a stream does
that is given a batch of one event). Beside them: the time of a synchronized write of 4 KiB in the
same folder, in the same turn. Load on the machine is printed, because it lengthens everything.
"""

import argparse
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.markdown import print_table
from dphist import ContinualHistogram
from dphist.streams.store.store import Store

THREADS = (1, 2, 4, 8, 16, 32, 64)
SECONDS, TURNS = 2.0, 3
LABELS = [f"label {number}" for number in range(1000)]


class _Commits:
    """Counts the commits of all stores while it is entered."""

    def __init__(self) -> None:
        self.number = 0
        commit = Store.commit

        def counted(store: Store, rows: Any) -> None:
            self.number += 1
            commit(store, rows)

        self._counting = patch.object(Store, "commit", counted)

    def __enter__(self) -> "_Commits":
        self._counting.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._counting.stop()


def rate(folder: Path, threads: int, seconds: float, *, grouped: bool) -> tuple[float, float]:
    """Return events per second, and events per commit."""
    path = folder / f"{threads}-{grouped}-{time.monotonic_ns()}.state"
    with ContinualHistogram.open(path, epsilon=1, delta="1e-6", horizon=10**7) as stream:
        begun = threading.Barrier(threads + 1)
        acknowledged = [0] * threads
        over = threading.Event()

        def bring(number: int) -> None:
            bring_one: Callable[[list[str]], object] = stream.update
            if not grouped:

                def bring_one(event: list[str]) -> object:
                    return stream.update_many([event])

            begun.wait()
            while not over.is_set():
                bring_one([LABELS[(number * 17 + acknowledged[number]) % len(LABELS)]])
                acknowledged[number] += 1

        workers = [threading.Thread(target=bring, args=(each,)) for each in range(threads)]
        for worker in workers:
            worker.start()
        with _Commits() as commits:
            begun.wait()
            start = time.perf_counter()
            time.sleep(seconds)
            over.set()
            for worker in workers:
                worker.join()
            taken = time.perf_counter() - start
        assert stream.time == sum(acknowledged)
    with ContinualHistogram.open(path) as again:
        assert again.time == sum(acknowledged)  # each acknowledged event, once
    path.unlink()
    return sum(acknowledged) / taken, sum(acknowledged) / commits.number


def sync_time(folder: Path) -> float:
    """Return the median time of a synchronized write of 4 KiB, in seconds."""
    times = []
    with (folder / "synced").open("wb", buffering=0) as file:
        for _ in range(50):
            os.pwrite(file.fileno(), os.urandom(4096), 0)
            start = time.perf_counter()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--threads", nargs="+", type=int, default=list(THREADS))
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--turns", type=int, default=TURNS)
    chosen = parser.parse_args(arguments)
    rows = []
    with tempfile.TemporaryDirectory(prefix="dphist-benchmark-", dir=Path.cwd()) as place:
        for threads in chosen.threads:
            found = []
            for _ in range(chosen.turns):
                single, _ = rate(Path(place), threads, chosen.seconds, grouped=False)
                group, shared = rate(Path(place), threads, chosen.seconds, grouped=True)
                found.append((single, group, group / single, shared, sync_time(Path(place))))
            middle = [statistics.median(column) for column in zip(*found, strict=True)]
            single, group, ratio, shared, synced = middle
            cells = (f"{single:,.0f}", f"{group:,.0f}", f"{ratio:.1f}", f"{shared:.1f}")
            rows.append([str(threads), *cells, f"{synced * 1e3:.2f}"])
    head = ["threads", "events/s, one commit each", "events/s, group commit", "ratio"]
    print_table([*head, "events a commit", "one sync, ms"], rows)
    print(f"\nLoad: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.")


if __name__ == "__main__":
    main()
