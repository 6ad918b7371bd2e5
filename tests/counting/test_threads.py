"""Work in threads: order, errors, and what is left where no thread can be started."""

import gc
import subprocess
import sys
import threading
import time
import weakref
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist.counting.engine.threads import in_threads


@pytest.mark.parametrize("threads", [1, 2, 9])
def test_results_have_the_order_of_items(threads: int) -> None:
    def slow(number: int) -> int:
        time.sleep(0.001 * (number % 3))
        return number * number

    assert in_threads(slow, range(20), threads) == [number * number for number in range(20)]
    assert in_threads(slow, [], threads) == []


@pytest.mark.parametrize("threads", [1, 3])
def test_the_first_error_ends_the_work(threads: int) -> None:
    done: list[int] = []
    before = threading.active_count()

    def work(number: int) -> None:
        if number == 2:
            raise KeyboardInterrupt
        done.append(number)
        time.sleep(0.001)

    with pytest.raises(KeyboardInterrupt):
        in_threads(work, range(1000), threads)
    assert len(done) < 500
    assert threading.active_count() <= before


def test_it_works_alone_where_no_thread_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert in_threads(lambda number: number + 1, range(5), 4) == [1, 2, 3, 4, 5]


def test_tables_are_counted_where_no_thread_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in Python 3.12 once the main thread has ended."""

    def refuse(self: Any) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    table = pa.table({"who": [1, 1, 2], "x": [0, 0, 1]})
    monkeypatch.setattr(threading.Thread, "start", refuse)
    counts = dh.bin_counts(table, column="x", edges=[0, 1, 2], user="who", max_records=1)
    assert counts.counts.tolist() == [1, 1]
    labels = dh.LabelCounts.from_table(table, label="x", user="who", max_labels=1)
    assert labels.counts_of([0, 1]) == [1, 1]


def test_an_error_keeps_nothing_alive() -> None:
    """Without a cycle of references, which would keep large arrays after memory ran out."""
    array = np.zeros(9)
    alive = weakref.ref(array)

    def work(number: int, held: Any = array) -> None:
        raise MemoryError

    del array
    gc.disable()
    try:
        with pytest.raises(MemoryError):
            in_threads(work, range(5), 2)
        del work
        assert alive() is None
    finally:
        gc.enable()


LATE = """
import threading, time
import numpy as np, pyarrow as pa
import dphist as dh
ROWS = 70_000
table = pa.table({"who": np.arange(ROWS) % 900, "x": np.arange(ROWS) % 40})
main = threading.current_thread()
def count():
    main.join()
    time.sleep(0.2)
    counts = dh.bin_counts(table, column="x", edges=[0, 40], user="who", max_records=2)
    labels = dh.LabelCounts.from_table(table, label="x", user="who", max_labels=1)
    print(counts.counts.sum(), sum(labels.counts_of(list(range(40)))))
threading.Thread(target=count).start()
"""


@pytest.mark.verify
def test_tables_are_counted_after_the_main_thread_has_ended() -> None:
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("1800 900\n", "")
