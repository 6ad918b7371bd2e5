"""Processes of Spark that are killed: the result is right, or an error, and no charge is lost.

Run by `test_sessions.py` in a process of its own, which ends without Spark: the last test kills it.
Executors are processes of their own. A task that waits for a file holds the work where it is.
"""

import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dphist as dh
from dphist.errors import DataError, LedgerError
from tests.support.counting.contribution_engines import bounded
from tests.support.counting.spark import release_killed
from tests.support.counting.spark.rows import BINS, KEY, NAMES, ROWS, TABLE, as_dict
from tests.support.counting.spark.sessions import session

pytestmark = pytest.mark.filterwarnings(
    "ignore:PySpark does not yet fully support pandas", "ignore::ResourceWarning"
)

MECHANISM = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=3)
KEPT = bounded([(who, term, 1) for who, term, *_ in ROWS], 3, 1, KEY, "spark")


@pytest.fixture(autouse=True)
def one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "token_hex", lambda _: KEY)


def new_ledger(folder: Path) -> dh.Ledger:
    """A ledger in a folder of its own."""
    folder.mkdir()
    return dh.Ledger.create(folder / "l.ledger", epsilon=100, delta="1/10", unit="one user")


@pytest.fixture
def ledger(tmp_path: Path) -> dh.Ledger:
    return new_ledger(tmp_path / "ledger")


def wait_for(condition: Callable[[], Any], seconds: float = 400) -> Any:
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def kill(process: int) -> None:
    """End a process that this one started, as `gated` named it, or Spark's own Java machine."""
    os.kill(process, signal.SIGKILL)


def has_ended(process: int) -> bool:
    """Whether a process has ended, also one that nobody waits for, as in a container."""
    try:
        about = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return about.rpartition(") ")[2].startswith("Z")


class InThread(threading.Thread):
    """A call, and what it returned or raised."""

    def __init__(self, call: Callable[[], Any]) -> None:
        super().__init__(daemon=True)  # after a failure nobody lets it end
        self.call = call
        self.start()

    def run(self) -> None:
        try:
            self.returned = self.call()
        except BaseException as error:
            self.raised = error

    def result(self) -> Any:
        self.join(400)
        assert not self.is_alive()
        if hasattr(self, "raised"):
            raise self.raised
        return self.returned


def gated(folder: Path) -> Any:
    """The rows in three partitions; after the first, tasks wait until there is a file `go`.

    Each task makes a file of its partition and of the executor, the parent of Python's parent.
    """
    held = str(folder)

    def wait(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyspark

        yield from batches
        task: Any = pyspark.TaskContext.get()
        with open(f"/proc/{os.getppid()}/stat") as stat:  # noqa: PTH123
            executor = stat.read().rpartition(") ")[2].split()[1]
        open(f"{held}/{task.partitionId()}-{executor}", "w").close()  # noqa: PTH123
        while task.partitionId() and not os.path.exists(f"{held}/go"):  # noqa: PTH110
            time.sleep(0.02)

    rows = session().createDataFrame(TABLE)
    return rows.repartition(3).mapInArrow(wait, rows.schema)


def noted(folder: Path, partition: str = "*") -> list[int]:
    """The executors of a partition so far."""
    return [int(path.name.partition("-")[2]) for path in folder.glob(f"{partition}-*")]


READERS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "labels": (lambda rows: as_dict(dh.LabelCounts.from_table(rows, **NAMES, max_labels=3)), KEPT),
    "bins": (
        lambda rows: dh.bin_counts(rows, **BINS, user="who", max_records=len(ROWS)).counts.tolist(),
        dh.bin_counts(TABLE, **BINS).counts.tolist(),
    ),
}


@pytest.mark.parametrize("reader", READERS)
def test_an_executor_that_is_lost_while_it_counts_costs_nothing(
    reader: str, tmp_path: Path
) -> None:
    """It had finished one partition, whose rows are lost with it, and worked on another."""
    read, expected = READERS[reader]
    reading = InThread(lambda: read(gated(tmp_path)))
    wait_for(lambda: len(noted(tmp_path)) >= 3)
    lost = noted(tmp_path, "0")[0]
    assert lost in noted(tmp_path, "1") + noted(tmp_path, "2")
    kill(lost)
    (tmp_path / "go").touch()
    assert reading.result() == expected
    assert set(noted(tmp_path, "0")) > {lost}


def test_a_worker_of_python_that_is_lost_costs_nothing(tmp_path: Path) -> None:
    mark = str(tmp_path / "mark")

    def die(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        try:
            open(mark, "x").close()  # noqa: PTH123
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)

    rows = session().createDataFrame(TABLE).repartition(3)
    found = dh.LabelCounts.from_table(rows.mapInArrow(die, rows.schema), **NAMES, max_labels=3)
    assert as_dict(found) == KEPT
    assert Path(mark).exists()


def assert_charged_once(ledger: dh.Ledger, folder: Path) -> None:
    """The charge stays, the key is refused, nothing else is written, and another key pays again."""
    assert {path.name for path in folder.iterdir()} <= {"l.ledger", "l.ledger-journal"}
    counts = dh.LabelCounts.from_table(TABLE, **NAMES, max_labels=3)
    reference = new_ledger(folder / "reference")
    reference.release(MECHANISM, counts, by="ana", key="1")
    assert ledger.spent == reference.spent
    with pytest.raises(LedgerError, match="not finished"):
        ledger.release(MECHANISM, counts, by="ana", key="k")
    ledger.release(MECHANISM, counts, by="ana", key="another")
    reference.release(MECHANISM, counts, by="ana", key="2")
    assert ledger.spent == reference.spent
    assert ledger.verify() == len(ledger.entries())


def test_executors_that_are_lost_before_a_release_release_nothing(
    tmp_path: Path, ledger: dh.Ledger
) -> None:
    """The counts are lost with them, and users are not bounded a second time."""
    (tmp_path / "go").touch()
    counts = dh.LabelCounts.from_table(gated(tmp_path), **NAMES, max_labels=3)
    for executor in set(noted(tmp_path)):
        kill(executor)
    with pytest.raises(DataError, match=r"nothing was released: count them again"):
        ledger.release(MECHANISM, counts, by="ana", key="k")
    assert_charged_once(ledger, tmp_path / "ledger")


def test_a_process_that_is_killed_while_it_releases_is_charged_once(
    tmp_path: Path, ledger: dh.Ledger
) -> None:
    """That of Python, which draws the noise; its Java machine ends by itself."""
    mark = tmp_path / "mark"
    command = [
        sys.executable,
        release_killed.__file__,
        str(tmp_path / "ledger/l.ledger"),
        str(mark),
    ]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        java = int(wait_for(lambda: mark.exists() and mark.read_text()))
        kill(process.pid)
    wait_for(lambda: has_ended(java))
    assert_charged_once(ledger, tmp_path / "ledger")


def test_a_driver_that_is_lost_while_it_counts_is_charged_once(
    tmp_path: Path, ledger: dh.Ledger
) -> None:
    """Spark's Java machine, after the charge. No other test has Spark afterwards."""
    data = dh.ledger.Deferred(
        lambda: dh.LabelCounts.from_table(gated(tmp_path), **NAMES, max_labels=3), "one user"
    )
    releasing = InThread(lambda: ledger.release(MECHANISM, data, by="ana", key="k"))
    wait_for(lambda: noted(tmp_path, "1") + noted(tmp_path, "2"))
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    kill(gateway.proc.pid)
    with pytest.raises(DataError, match="'term' and 'who'"):
        releasing.result()
    assert_charged_once(ledger, tmp_path / "ledger")
