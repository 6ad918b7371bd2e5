"""Running counts of many labels: events per second, beside dpcrpy, time of single calls, memory.

    python -m benchmarks.streams.speed [--events N] [--labels N] [--turns N]

Events have one label each, whose frequencies follow Zipf's law. All contenders take turns in one
process and one thread, on the first of the same events: slow ones on fewer, as the tables say.
dpcrpy's binary mechanism (1.0.0) takes a number, or an array, an event and answers at each event.
It is fed in three ways: an array over all labels an event, with a noise mechanism that draws one;
one mechanism a label; and an array of counts for each 10,000 events, which are a single step to
it: that is another mechanism, as it can be read at these times alone. It knows the labels, and is
told their numbers; ours is told their texts.
"""

import argparse
import gc
import importlib
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.data import ROOT
from benchmarks.markdown import print_table
from dphist import ContinualHistogram
from dphist.streams.methods import Method

EVENTS, LABELS, TURNS = 10**6, 20_000, 3
EPSILON, DELTA = "0.1", "1e-6"
METHODS: tuple[Method, ...] = ("autoregressive", "binary")
EVERY = 10_000
SIZES = (100, 1000, 10_000, 100_000, 1_000_000)

IntArray = npt.NDArray[np.int64]
Take = Callable[[], object]

_MEMORY = """
import json, sys
from benchmarks.streams.speed import bytes_a_label
print(json.dumps(bytes_a_label(*json.loads(sys.argv[1]))))
"""


@dataclass(frozen=True)
class Job:
    """Events, by the numbers of their labels, and as they are fed to a stream."""

    codes: IntArray
    names: list[str]
    events: list[list[str]]
    table: pa.Table

    @classmethod
    def of(cls, events: int, labels: int) -> "Job":
        """Return events that are the same each time."""
        weights = 1 / np.arange(1, labels + 1)
        generator = np.random.default_rng(2023)
        codes = generator.choice(labels, size=events, p=weights / weights.sum())
        names = names_of(labels)
        texts = [names[code] for code in codes.tolist()]
        table = pa.table({"label": pa.array(texts, pa.large_string())})
        return cls(codes, names, [[text] for text in texts], table)

    @property
    def horizon(self) -> int:
        """The power of 2 that covers the events."""
        return 1 << (len(self.codes) - 1).bit_length()


@dataclass(frozen=True)
class Feed:
    """How events come: in batches, or by `update` one at a time, and how often is read."""

    batch: int | None
    every: int | None
    durable: bool = False
    known: bool = True
    table: bool = False
    readings_stated: bool = False  # as `readings`, how often is read

    def run(self, method: Method, job: Job, events: int) -> float:
        """Return events per second, and leave nothing behind."""
        shape: dict[str, Any] = {"epsilon": EPSILON, "horizon": job.horizon, "method": method}
        shape |= {"labels": job.names} if self.known else {"delta": DELTA}
        if self.readings_stated and self.every is not None:
            shape["readings"] = -(-job.horizon // self.every)
        with tempfile.TemporaryDirectory(prefix="dphist-benchmark-") as place:
            if self.durable:
                stream = ContinualHistogram.open(Path(place) / "state", **shape)
            else:
                stream = ContinualHistogram(**shape)
            with stream:
                given = job.table[:events] if self.table else job.events[:events]
                return events / seconds_of(lambda: self._feed(stream, given))

    def _feed(self, stream: ContinualHistogram, events: Any) -> None:
        every = self.every or len(events)
        for begin in range(0, len(events), every):
            part = events[begin : begin + every]
            if self.batch is None:
                for event in part:
                    stream.update(event)
            else:
                for start in range(0, len(part), self.batch):
                    stream.update_many(part[start : start + self.batch])
            if self.every is not None:
                stream.counts()


def names_of(labels: int) -> list[str]:
    """Return the labels."""
    return [f"label {number}" for number in range(labels)]


def seconds_of(take: Take) -> float:
    """Return the time of a call."""
    start = time.perf_counter()
    take()
    return time.perf_counter() - start


# dpcrpy.


def dpcrpy_vector(job: Job, events: int) -> float:
    """Return its events per second: an array an event, 1 at the event's label."""
    mechanism, step = _binary_mechanism(job.horizon, len(job.names)), np.zeros(len(job.names))

    def feed() -> None:
        for code in job.codes[:events].tolist():
            step[code] = 1
            mechanism.dpRelease(step)
            step[code] = 0

    return events / seconds_of(feed)


def dpcrpy_by_label(job: Job, events: int) -> float:
    """Return the same of one mechanism a label, all of which must be told of each event."""
    mechanisms = [_binary_mechanism(job.horizon, None) for _ in job.names]

    def feed() -> None:
        for code in job.codes[:events].tolist():
            for label, mechanism in enumerate(mechanisms):
                mechanism.dpRelease(int(label == code))

    return events / seconds_of(feed)


def dpcrpy_blocks(job: Job, events: int) -> float:
    """Return the same where `EVERY` events are one step, counted beforehand: another mechanism."""
    mechanism = _binary_mechanism(-(-job.horizon // EVERY), len(job.names))
    places = {name: place for place, name in enumerate(job.names)}
    numbers = len(job.names)

    def feed() -> None:
        for start in range(0, events, EVERY):
            # Texts to numbers and counts, as ours does it too.
            part = itertools.chain.from_iterable(job.events[start : min(start + EVERY, events)])
            codes = np.fromiter((places[label] for label in part), np.int64)
            mechanism.dpRelease(np.bincount(codes, minlength=numbers))

    return events / seconds_of(feed)


def _binary_mechanism(horizon: int, labels: int | None) -> Any:
    """Return a mechanism for one count, or for an array of counts."""
    noise: Any = importlib.import_module("dpcrpy.framework.noiMech").GaussNoiMech

    class Noise(noise):  # type: ignore[misc]
        def genNoise(self, shape: Any = None) -> Any:  # noqa: N802 - its name in dpcrpy
            return super().genNoise(labels if shape is None else shape)

    binary: Any = importlib.import_module("dpcrpy.treeMethods.binMech").BinMech
    return binary((horizon - 1).bit_length(), Noise(sigma0=1 / float(EPSILON)))


def has_dpcrpy() -> bool:
    """Whether dpcrpy can be imported."""
    try:
        importlib.import_module("dpcrpy.treeMethods.binMech")
    except ImportError:
        return False
    return True


# Events per second.


def print_events(job: Job, turns: int) -> None:
    """Print events per second of every way of feeding, and medians of ratios to dpcrpy's array."""
    beside = has_dpcrpy()
    contenders = _contenders(job, beside)
    taken = [{name: run() for name, (_, run) in contenders.items()} for _ in range(turns)]
    rows = []
    for name, (events, _) in contenders.items():
        rate = statistics.median(turn[name] for turn in taken)
        ratio = "-"
        if beside:
            ratios = [turn[name] / turn[REFERENCE] for turn in taken]
            middle = statistics.median(ratios)
            ratio = f"{middle:,.3g}" if middle < 1000 else f"{middle:,.0f}"
        rows.append([name, f"{events:,}", f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}", ratio])
    head = [f"{len(job.names):,} labels, horizon {job.horizon:,}", "events timed"]
    print_table([*head, "events per second", "times dpcrpy, array"], rows)


REFERENCE = "dpcrpy, an array an event, answers at each"


def _contenders(job: Job, beside: bool) -> dict[str, tuple[int, Callable[[], float]]]:
    """Return by name how many events are timed, and what times them."""
    all_events = len(job.codes)
    found: dict[str, tuple[int, Callable[[], float]]] = {}

    def add(name: str, most: int, run: Callable[[int], float]) -> None:
        events = min(most, all_events)
        found[name] = events, lambda: run(events)

    if beside:
        add(REFERENCE, 2000, lambda events: dpcrpy_vector(job, events))
        add("dpcrpy, one mechanism a label", 4, lambda events: dpcrpy_by_label(job, events))
        name = f"dpcrpy, {EVERY:,} events a step, answers at each step"
        add(name, all_events, lambda events: dpcrpy_blocks(job, events))
    for method in METHODS:
        for words, most, feed in _feeds():

            def run(events: int, method: Method = method, feed: Feed = feed) -> float:
                return feed.run(method, job, events)

            add(f"dphist, {method}, {words}", most, run)
    return found


def _feeds() -> list[tuple[str, int, Feed]]:
    """Return the ways to feed, in words, with the most events to time."""
    million = 10**6
    batches = {1: 20_000, 1000: million, 100_000: million}
    ways = []
    for every in (None, EVERY):
        read = "" if every is None else f", read every {every:,}"
        ways.append((f"update{read}", 100_000, Feed(None, every)))
        for size, most in batches.items():
            if every is None or size <= every:
                ways.append((f"batches of {size:,}{read}", most, Feed(size, every)))
    often = f", read every {EVERY:,}"
    ways.append((f"batches of {EVERY:,}{often}", million, Feed(EVERY, EVERY)))
    stated = Feed(EVERY, EVERY, readings_stated=True)
    ways.append((f"batches of {EVERY:,}{often}, as stated", million, stated))
    ways.append((f"Arrow, batches of {EVERY:,}{often}", million, Feed(EVERY, EVERY, table=True)))
    ways.append(("Arrow, batches of 100,000", million, Feed(100_000, None, table=True)))
    ways.append(("update, read at each", 100, Feed(None, 1)))
    for size in (1000, 100_000):
        words = f"labels not known, batches of {size:,}"
        ways.append((words, million, Feed(size, None, known=False)))
    ways.append(("labels not known, update", 100_000, Feed(None, None, known=False)))
    unknown = "labels not known, batches of 1,000"
    ways.append((unknown + often, million, Feed(1000, EVERY, known=False)))
    ways.append(("on disk, update", 2000, Feed(None, None, durable=True)))
    for size, most in ((1000, 200_000), (100_000, million)):
        ways.append((f"on disk, batches of {size:,}", most, Feed(size, None, durable=True)))
    ways.append((f"on disk, batches of 1,000{often}", 200_000, Feed(1000, EVERY, durable=True)))
    return ways


# Single calls, by the number of labels.


def print_calls(sizes: Sequence[int], turns: int) -> None:
    """Print the time of one update, of readings, and the memory of a label."""
    rows = []
    for labels in sizes:
        for method in METHODS:
            rows.append([f"{labels:,}, {method}", *_call_times(method, labels, turns)])
    head = ["labels, method", "update, µs", "counts an event later, ms", "again, ms"]
    print_table([*head, "of which noise, ms"], rows)
    print()
    measured = []
    for labels in [size for size in sizes if size >= 10_000] or sizes[-1:]:
        for method in METHODS:
            asked = [sys.executable, "-c", _MEMORY, json.dumps([method, labels])]
            result = subprocess.run(asked, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)
            before, after, noise = json.loads(result.stdout)
            cells = (f"{before:,.0f}", f"{after:,.0f}", f"{noise:,.0f}")
            measured.append([f"{labels:,}, {method}", *cells])
    head = ["labels not known, method", "bytes a label, not read yet", "once read, and read again"]
    print_table([*head, "of which its noise"], measured)


def _call_times(method: Method, labels: int, turns: int) -> list[str]:
    """Time calls on a stream that has had so many labels, of which an event touches one."""
    stream = ContinualHistogram(epsilon=EPSILON, delta=DELTA, horizon=2**20, method=method)
    names = names_of(labels)
    for start in range(0, labels, 100_000):
        stream.update_many([[name] for name in names[start : start + 100_000]])
    stream.counts()
    events = [[names[place]] for place in np.random.default_rng(5).integers(labels, size=2000)]

    def updates() -> None:
        for event in events:
            stream.update(event)

    update = statistics.median(seconds_of(updates) / len(events) for _ in range(turns))
    after, again, noise = [], [], []
    stream.counts()
    for _ in range(max(turns, 4)):  # dyadic blocks begin at every other event, or less often
        stream.update(events[0])
        after.append(seconds_of(stream.counts))
        again.append(seconds_of(stream.counts))
        table = stream._state.noise
        now = table.times[-1]
        noise.append(seconds_of(lambda: table.counter.step(table.rows, now, now + 1, None)))  # noqa: B023
    cells = (after, again, noise)
    return [f"{update * 1e6:.1f}", *(f"{statistics.mean(cell) * 1e3:.3g}" for cell in cells)]


def bytes_a_label(method: Method, labels: int) -> list[float]:
    """Return resident bytes a label before and after readings, and what its noise takes."""
    shape: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "horizon": 2**20}
    warm = ContinualHistogram(**shape, method=method)  # code is loaded, and buffers made
    warm.update_many([[f"label {number}"] for number in range(1000)])
    warm.counts()
    stream = ContinualHistogram(**shape, method=method)
    gc.collect()
    start = _resident()
    for first in range(0, labels, 1000):
        names = [[f"label {number}"] for number in range(first, min(first + 1000, labels))]
        stream.update_many(names)
    gc.collect()
    unread = _resident() - start
    stream.counts()
    stream.update([])
    stream.counts()
    gc.collect()
    noise = stream._state.noise.rows.nbytes
    return [unread / labels, (_resident() - start) / labels, noise / labels]


def _resident() -> int:
    """Return the resident memory of this process, bytes (Linux)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


# Late labels.


def print_late(events: int, turns: int) -> None:
    """Print what it costs to read at every event while each brings a label of its own."""
    rows = []
    for method in METHODS:
        for name, early in (("a new one at each event", False), ("all from the start", True)):
            taken = [_late(method, events, early) for _ in range(turns)]
            rows.append([f"{method}, {name}", f"{statistics.median(taken) * 1e3 / events:.3g}"])
    head = [f"{events:,} labels, {events:,} events, read at each"]
    print_table([*head, "ms an event and reading"], rows)


def _late(method: Method, events: int, early: bool) -> float:
    names = names_of(events)
    shape: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "horizon": 2**20}
    stream = ContinualHistogram(**shape, method=method, max_labels=1)
    if early:
        stream.update_many([[name] for name in names])
        stream.counts()

    def feed() -> None:
        for name in names:
            stream.update([name])
            stream.counts()

    return seconds_of(feed)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--events", type=int, default=EVENTS, help=f"default {EVENTS:,}")
    add("--labels", type=int, default=LABELS, help=f"default {LABELS:,}")
    add("--turns", type=int, default=TURNS, help=f"default {TURNS}")
    add("--sizes", nargs="+", type=int, default=list(SIZES), help="numbers of labels for calls")
    add("--late", type=int, default=2000, help="late labels, default 2,000")
    chosen = parser.parse_args(arguments)
    if not has_dpcrpy():
        print("dpcrpy is not installed (the extra `bench`): there are no ratios.\n")
    print_events(Job.of(chosen.events, chosen.labels), chosen.turns)
    print()
    print_calls(chosen.sizes, chosen.turns)
    print()
    print_late(chosen.late, chosen.turns)


if __name__ == "__main__":
    main()
