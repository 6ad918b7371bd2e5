"""What test_store.py runs in other processes, to kill them, fork them, or be refused by them."""

import contextlib
import functools
import gc
import hashlib
import json
import os
import signal
import sys
import types
from pathlib import Path

Rows = dict[str, list[tuple[int | bytes, bytes]]]


def batch(number: int) -> Rows:
    """Return the rows of a numbered batch, some of which earlier batches wrote too."""
    size = 1500 if number % 3 == 0 else 20
    labels = [
        (place, hashlib.blake2b(b"%d %d" % (number, place)).digest() * 2)
        for place in range(number % 7, 3 * size, 3)
    ]
    return {
        "label": list(labels),
        "mark": [(b"mark %d" % number, b"m" * number)],
        "clock": [(0, number.to_bytes(8, "big"))],
    }


def _commit_batches(path: str) -> None:
    from dphist.streams.store.store import Store

    sys.stdin.readline()  # the imports are done; the clock starts
    store = Store.open(path)
    ((_, content),) = store.rows("clock")
    number = int.from_bytes(content, "big")
    while True:
        number += 1
        print(f"begin {number}", flush=True)
        store.commit(batch(number))
        print(f"done {number}", flush=True)


def _hold(path: str) -> None:
    from dphist.errors import StateError
    from dphist.streams.store.store import Store

    try:
        store = Store.open(path)
    except StateError as error:
        print(error, flush=True)
        return
    print("open", flush=True)
    sys.stdin.read()
    store.close()


def _attempt(action: str, path: str) -> None:
    from dphist.errors import DphistError
    from dphist.streams.store.store import Store

    try:
        getattr(Store, action)(path).close()
        print("done", flush=True)
    except DphistError as error:
        print(type(error).__name__, error, flush=True)


def _die_in_commit(path: str) -> None:
    """Die when the pages are in the file, and the journal that takes them back beside it."""
    from dphist.streams.store.store import Store

    store = Store.open(path)
    connection = store._owned.connection
    connection.execute("PRAGMA cache_size = 4")

    def die(statement: str) -> None:
        if statement == "COMMIT":
            os.kill(os.getpid(), signal.SIGKILL)

    connection.set_trace_callback(die)
    store.commit(batch(3))


def _fork(path: str) -> None:
    from dphist.errors import StateError
    from dphist.streams.store.store import Store

    store = Store.create(path)
    store.commit(batch(1))
    started = store.rows("label")
    next(started)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        outcomes = []
        for attempt in (
            lambda: store.commit(batch(2)),
            lambda: list(store.rows("label")),
            lambda: list(started),
            lambda: store.take(),
            lambda: Store.open(path).close(),
        ):
            try:
                attempt()
                outcomes.append("done")
            except StateError as error:
                outcomes.append(str(error))
        with contextlib.closing(store):
            pass
        del store, started
        gc.collect()
        os.write(writer, json.dumps(outcomes).encode())
        sys.exit(0)  # the whole shutting down of an interpreter, not os._exit
    os.waitpid(child, 0)
    store.commit(batch(2))
    store.commit(batch(3))
    print(os.read(reader, 100_000).decode(), flush=True)

    # A child that lives on does not keep the lock of a parent that has died.
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        os.close(write_end)
        for stream in (1, 2):
            os.close(stream)
        os.write(writer, b"forked")
        os.read(read_end, 1)  # until the parent has died
        os.read(0, 1)  # until the test is done
        os._exit(0)
    os.read(reader, 6)
    sys.stdin.readline()
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    # The store needs a few small modules; the whole package takes seconds to import.
    for name in ("dphist", "dphist.streams"):
        module = types.ModuleType(name)
        module.__path__ = [str(Path(sys.argv[3], *name.split(".")))]
        sys.modules[name] = module
    commands = {
        "batches": _commit_batches,
        "hold": _hold,
        "die": _die_in_commit,
        "fork": _fork,
        "open": functools.partial(_attempt, "open"),
        "create": functools.partial(_attempt, "create"),
    }
    commands[sys.argv[1]](sys.argv[2])  # type: ignore[operator]
