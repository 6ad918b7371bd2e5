"""A query that is stopped leaves nothing running, and everything usable."""

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dphist as dh
from dphist.counting.engine.interruptible import interruptible
from dphist.counting.engine.progress import of_query, report_progress

# Hours of work, whose interruption DuckDB notices at once.
ENDLESS = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE hash(a.range, b.range) = 1"


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as made:
        yield made
        # Nothing of a query is left: of one that runs, DuckDB refuses to be closed.
        assert made.execute("SELECT 42").fetchall() == [(42,)]
    assert [each.name for each in threading.enumerate() if each.name.startswith("dphist")] == []


def test_results_and_errors_pass(connection) -> None:
    assert interruptible(connection, lambda: connection.execute("SELECT 1").fetchall()) == [(1,)]
    with pytest.raises(duckdb.ParserException):
        interruptible(connection, lambda: connection.execute("SELEKT"))


def test_a_query_is_stopped(connection) -> None:
    def call() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        connection.execute(ENDLESS).fetchall()

    with pytest.raises(KeyboardInterrupt):
        interruptible(connection, call)


def test_a_signal_while_the_thread_is_started(connection, monkeypatch) -> None:
    """The thread runs by then, and is waited for; its query may not have begun."""

    class Thread(threading.Thread):
        def start(self) -> None:
            super().start()
            signal.raise_signal(signal.SIGINT)
            begun.set()

    begun = threading.Event()
    monkeypatch.setattr(threading, "Thread", Thread)

    def call() -> None:
        begun.wait()
        time.sleep(0.3)  # an interrupt that comes before the query begins is forgotten
        connection.execute(ENDLESS).fetchall()

    with pytest.raises(KeyboardInterrupt):
        interruptible(connection, call)


def test_asking_twice_changes_nothing(connection) -> None:
    def call() -> None:
        for _ in range(20):
            os.kill(os.getpid(), signal.SIGINT)
        connection.execute(ENDLESS).fetchall()

    with pytest.raises(KeyboardInterrupt):
        interruptible(connection, call)


def test_any_handler_that_raises_stops_the_query(connection) -> None:
    """As of an alarm, of which a program may make a time limit."""

    class TooLong(Exception):  # noqa: N818
        pass

    def handler(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(TooLong):
            interruptible(connection, lambda: connection.execute(ENDLESS).fetchall())
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_handler_that_does_not_raise_stops_nothing(connection) -> None:
    heard = []
    before = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:

        def call() -> list[tuple[int]]:
            os.kill(os.getpid(), signal.SIGTERM)
            return connection.execute("SELECT count(*) FROM range(100000000)").fetchall()

        assert interruptible(connection, call) == [(100_000_000,)]
        assert heard == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_progress_ends_with_a_stopped_query(connection) -> None:
    connection.execute("SET enable_progress_bar_print = false")
    connection.execute("SET enable_progress_bar = true")
    shown: list[float] = []

    def call() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        connection.execute(ENDLESS).fetchall()

    with pytest.raises(KeyboardInterrupt), report_progress(of_query(connection), shown.append):
        interruptible(connection, call)
    assert 1.0 not in shown


@pytest.mark.verify
@pytest.mark.parametrize("kind", ["frame", "file"])
def test_counting_goes_on_after_any_number_of_interruptions(
    kind: str, tmp_path: Path, temporary: Path
) -> None:
    rows = 300_000
    table = pa.table({"who": range(rows), "word": [f"w{i % 1000}" for i in range(rows)]})
    data: object = table
    if kind == "file":
        data = tmp_path / "r.parquet"
        pq.write_table(table, data)

    counted: list[dh.LabelCounts] = []  # as Python drops what is raised while an object goes

    def count() -> None:
        shown: list[float] = []
        counted.append(
            dh.LabelCounts.from_table(
                data, label="word", user="who", max_labels=2, progress=shown.append
            )
        )

    begun = time.monotonic()
    count()
    seconds = time.monotonic() - begun
    chance = random.Random(3)
    for _ in range(15):
        killer = threading.Timer(chance.uniform(0, seconds), os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            killer.start()
            count()
            while True:  # it had been counted before
                time.sleep(0.001)
        killer.join()
        counted.clear()
        assert list(temporary.iterdir()) == []
    count()
    assert counted[0].counts_of(["w0", "w999"]) == [300, 300]
    counted.clear()
