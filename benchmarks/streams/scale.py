"""A large stream, 10^8 events of 10^6 labels: time and memory, beside counts without privacy.

    python -m benchmarks.streams.scale [--events N] [--labels N] [--batch N] [--durable]

Events have one label each, whose frequencies follow Zipf's law; the first events bring each label
once. They come as Arrow tables of text. The stream is read 10 times, at equal distances. Beside it,
in turns and in the same process, what any counter of labels does: `value_counts` of Arrow, and the
sum of these counts in a dictionary of Python. Memory is that of the process (resident), without
that of the events and of the counter beside it.
"""

import argparse
import gc
import os
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.markdown import print_table
from benchmarks.streams.speed import _resident as resident
from benchmarks.streams.speed import seconds_of
from dphist import ContinualHistogram

EVENTS, LABELS, BATCH, READINGS = 10**8, 10**6, 10**6, 10


class Source:
    """Batches of events, the same each time."""

    def __init__(self, labels: int, batch: int) -> None:
        self._names = pa.array([f"label {number}" for number in range(labels)], pa.large_string())
        weights = 1 / np.arange(1, labels + 1)
        self._sums = np.cumsum(weights / weights.sum())
        self._generator = np.random.default_rng(2023)
        self._labels, self._batch = labels, batch
        self._brought = 0

    def next(self) -> pa.Table:
        """Return the next batch."""
        codes = np.minimum(
            np.searchsorted(self._sums, self._generator.random(self._batch)), self._labels - 1
        )
        new = min(self._labels - self._brought, self._batch)
        codes[:new] = np.arange(self._brought, self._brought + new)
        self._brought += new
        return pa.table({"label": self._names.take(pa.array(codes))})


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--labels", type=int, default=LABELS)
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--durable", action="store_true", help="keep the state in a file")
    chosen = parser.parse_args(arguments)
    source = Source(chosen.labels, chosen.batch)
    source.next()
    source = Source(chosen.labels, chosen.batch)
    with tempfile.TemporaryDirectory(prefix="dphist-benchmark-", dir=Path.cwd()) as place:
        path = Path(place) / "state"
        shape: dict[str, Any] = {
            "epsilon": 1,
            "delta": "1e-6",
            "horizon": chosen.events,
            "readings": READINGS,
        }
        if chosen.durable:
            stream = ContinualHistogram.open(path, **shape)
        else:
            stream = ContinualHistogram(**shape)
        with stream:
            _run(stream, source, chosen.events // chosen.batch, chosen.batch)
        if chosen.durable:
            print(f"\nState file: {path.stat().st_size / 2**20:,.0f} MiB.", flush=True)
            del stream
            gc.collect()
            again: list[ContinualHistogram] = []
            taken = seconds_of(lambda: again.append(ContinualHistogram.open(path)))
            print(f"Opened again, with a check of each row, in {taken:,.1f} s.")
            again[0].close()
    print(f"\nLoad: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.")


def _run(stream: ContinualHistogram, source: Source, batches: int, size: int) -> None:
    counter: dict[str, int] = {}
    ours = beside = 0.0
    gc.collect()
    start, theirs = resident(), 0
    rows = []
    for number in range(1, batches + 1):
        table = source.next()
        ours += seconds_of(lambda: stream.update_many(table))  # noqa: B023
        before = resident()
        beside += seconds_of(lambda: _count(table, counter))  # noqa: B023
        theirs += max(0, resident() - before)
        if number * READINGS // batches > (number - 1) * READINGS // batches:
            released: list[int] = []
            reading = seconds_of(lambda: released.append(len(stream.counts())))  # noqa: B023
            gc.collect()
            pa.default_memory_pool().release_unused()
            used = resident() - start - theirs
            rows.append(
                [
                    f"{number * size:,}",
                    f"{ours:,.1f}",
                    f"{number * size / ours:,.0f}",
                    f"{ours / beside:.2f}",
                    f"{reading:.2f}",
                    f"{released[0]:,}",
                    f"{used / 2**20:,.0f}",
                ]
            )
            print(f"{time.strftime('%H:%M:%S')} {rows[-1]}", flush=True)
    assert stream.time == batches * size
    exact = dict(zip(stream._state.labels, stream._state.counts, strict=True))
    assert exact == counter
    head = ["events", "s in all", "events/s", "times the counter without privacy", "a reading, s"]
    print_table([*head, "labels released", "memory, MiB"], rows)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\n{len(exact):,} labels; largest memory of the whole process: {most:,.0f} MiB.")


def _count(table: pa.Table, counter: dict[str, int]) -> None:
    found = pc.value_counts(table["label"])
    labels, counts = found.field("values").to_pylist(), found.field("counts").to_pylist()
    for label, count in zip(labels, counts, strict=True):
        counter[label] = counter.get(label, 0) + count


if __name__ == "__main__":
    main()
