"""What test_durable.py runs in other processes and kills: a stream that counts and is read.

Each line it prints is an acknowledgement, what it says had returned before; or says that something
begins. For each line it reads, a new process is forked from one that has imported all there is to
import.
"""

import json
import os
import random
import sys

from dphist.streams import ContinualHistogram, ContinualMechanism


def main(path: str, method: str, windows: str) -> None:
    # The design of the noise takes a moment, and is remembered.
    ContinualMechanism(epsilon=1, delta="1e-6", horizon=10**6, max_labels=2, method=method)  # type: ignore[arg-type]
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            feed(path, method, windows)
        _, status = os.waitpid(child, 0)
        print(f"\nended {os.waitstatus_to_exitcode(status)}", flush=True)


def feed(path: str, method: str, windows: str) -> None:
    print(os.getpid(), flush=True)
    stream = ContinualHistogram.open(
        path,
        epsilon=1,
        delta="1e-6",
        horizon=10**6,
        max_labels=2,
        method=method,
        windows=int(windows) or None,
    )
    chance = random.Random(os.getpid())
    say("opened", stream.time, stream.counts())
    while True:
        number = chance.choice([1, 1, 7, 60])
        say("counting", stream.time, None)
        # Event t has label t mod 3, so that the counts at any time are known.
        events = [[f"l{(stream.time + i) % 3}", "all"] for i in range(number)]
        if number == 1:
            stream.update(events[0])
        else:
            stream.update_many(events)
        say("counted", stream.time, None)
        if chance.random() < 0.5:
            say("reading", stream.time, None)
            say("read", stream.time, stream.counts())
        if chance.random() < 0.1:
            say("released", stream.time, {str(t): 0 for t in stream.release().value.times.tolist()})


def say(what: str, time: int, counts: dict[str, int] | None) -> None:
    print(json.dumps([what, time, counts]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
