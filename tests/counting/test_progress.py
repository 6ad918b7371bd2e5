"""Progress: of every kind of table, in words a person reads, and only where a person reads them."""

import io
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dphist as dh
from dphist.counting.engine import progress
from dphist.counting.engine.progress import (
    ERASED,
    Done,
    Measured,
    NotebookDisplay,
    TerminalDisplay,
    in_words,
    report_progress,
    report_to,
)
from dphist.counting.engine.spark import (
    _ConnectJobs,
    call_spark,
    measure_in_classic,
    measure_in_connect,
    measure_stages,
)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress is polled 200 times a second."""
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN", 0.005)


def standard_error(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO | None) -> None:
    """Put something else in place of standard error, which pytest has replaced itself."""
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream, modules=sys.modules))


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard error is a terminal."""
    made = Terminal()
    standard_error(monkeypatch, made)
    monkeypatch.setenv("TERM", "xterm")
    return made


ROWS = 300_000


def make_rows() -> pa.Table:
    return pa.table({"who": range(ROWS), "word": [f"w{i % 100}" for i in range(ROWS)]})


def file_of(rows: pa.Table, path: Path) -> Path:
    pq.write_table(rows, path)
    return path


FRAMES = {
    "pandas": lambda rows, _: rows.to_pandas(),
    "Polars": lambda rows, _: pl.from_arrow(rows),
    "Arrow": lambda rows, _: rows,
    "DuckDB": lambda rows, _: duckdb.from_arrow(rows),
    "Parquet": lambda rows, folder: file_of(rows, folder / "rows.parquet"),
}


@pytest.mark.quick("[pandas]")
@pytest.mark.parametrize("kind", FRAMES)
def test_rows_and_seconds_are_told_of_every_table(kind: str, tmp_path: Path, often: None) -> None:
    frame = FRAMES[kind](make_rows(), tmp_path)
    seen: list[Done] = []
    counts = dh.LabelCounts.from_table(
        frame, label="word", user="who", max_labels=1, progress=seen.append
    )
    assert counts.counts_of(["w7"]) == [ROWS // 100]
    assert seen == sorted(seen)
    assert seen[-1] == 1
    assert all(each < 1 for each in seen[:-1])
    assert all(each.unit == "rows" for each in seen)
    seconds = [each.seconds for each in seen]
    assert seconds == sorted(seconds)
    assert 0 < seconds[-1] < 60
    if kind != "DuckDB":  # nobody knows how many rows a query will have
        assert {each.total for each in seen} == {ROWS}
    if kind != "Parquet":
        read = [each.done for each in seen if each.done is not None]
        assert read == sorted(read)
        assert max(read) == ROWS


def test_only_the_end_is_1(often: None) -> None:
    """DuckDB may say that all of a file is read while it still counts."""
    seen: list[Done] = []
    two = threading.Event()

    def note(done: Done) -> None:
        seen.append(done)
        if len(seen) == 2:
            two.set()

    with report_progress(lambda: Measured(1.0), note):
        assert two.wait(60)
    assert seen[-1] == 1
    assert all(each < 1 for each in seen[:-1])


def test_of_a_text_file_bytes_are_told(tmp_path: Path, often: None) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("word\n" + "".join(f"w{i % 100}\n" for i in range(ROWS)))
    seen: list[Done] = []
    dh.Profile.from_table(path, label="word", progress=seen.append)
    assert (seen[-1].total, seen[-1].unit) == (path.stat().st_size, "bytes")


def test_bins_of_a_frame_have_progress_too(often: None) -> None:
    rows = pd.DataFrame({"x": range(ROWS)})
    seen: list[Done] = []
    dh.bin_counts(rows, column="x", edges=[0, ROWS], progress=seen.append)
    assert seen[-1] == 1
    assert seen[-1].total == ROWS


@pytest.mark.parametrize(
    ("done", "words"),
    [
        (Done(0.005, total=200, done=1, seconds=7200), "0 %, 1 of 200 rows, 2:00:00"),
        (Done(0.5, total=40, done=20, unit="tasks", note="stage 2 of 3", seconds=61),
         "50 %, 20 of 40 tasks, stage 2 of 3, 1:01, about 1:01 left"),
        (Done(0.99, total=40, done=40, note="counting", seconds=5),
         "99 %, 40 of 40 rows, counting, 5 s"),
        (Done(0.25, total=1500, unit="bytes", seconds=1), "25 % of 1.5 KB, 1 s, about 3 s left"),
        (Done(0.25, seconds=1), "25 %, 1 s, about 3 s left"),
        (Done(0.0, done=5, unit="bytes"), "5 bytes, 0 s"),
    ],
)  # fmt: skip
def test_in_words(done: Done, words: str) -> None:
    assert in_words(done) == words


def test_a_terminal_shows_one_line_and_has_none_of_it_in_the_end(
    terminal: Terminal, often: None
) -> None:
    with ExitStack() as stack:
        report = report_to(stack, True)
        assert report is not None
        report(Done(0.5, total=2000, done=1000, seconds=3))
        shown = terminal.getvalue()
    bar = "[##########----------]"
    line = f"reading {bar} 50 %, 1,000 of 2,000 rows, 3 s, about 3 s left"
    assert shown == ERASED + line[:79]
    assert terminal.getvalue() == shown + ERASED


@pytest.mark.quick("[True]")
@pytest.mark.parametrize("fails", [False, True])
def test_true_shows_progress_on_a_terminal(
    fails: bool, terminal: Terminal, often: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what ends with an error is erased."""
    count = progress.RowsRead.count

    def slowly(read: progress.RowsRead, rows: int) -> None:
        count(read, rows)
        end = time.monotonic() + 20
        while not terminal.getvalue() and time.monotonic() < end:
            time.sleep(0.001)

    monkeypatch.setattr(progress.RowsRead, "count", slowly)
    rows = make_rows()
    if fails:
        rows = pa.concat_tables([rows, pa.table({"who": [1], "word": pa.array([None], "string")})])
    try:
        dh.LabelCounts.from_table(rows, label="word", user="who", max_labels=1, progress=True)
    except dh.DataError:
        assert fails
    shown = terminal.getvalue()
    assert f"of {len(rows):,} rows" in shown
    assert shown.endswith(ERASED)
    assert "\n" not in shown


@pytest.mark.parametrize("kind", ["pipe", "dumb", "none"])
def test_nothing_is_shown_where_nobody_watches(
    kind: str, terminal: Terminal, monkeypatch: pytest.MonkeyPatch, often: None
) -> None:
    """Numbers of rows are secret: a log must not have them."""
    log = terminal if kind == "dumb" else io.StringIO()
    monkeypatch.setenv("TERM", "dumb" if kind == "dumb" else "xterm")
    standard_error(monkeypatch, None if kind == "none" else log)
    with ExitStack() as stack:
        report = report_to(stack, True)
        if report is not None:  # a reading may end before it would be called
            report(Done(0.5, total=1000, done=500))
    rows = pa.table({"word": ["a"] * 1000})
    dh.Profile.from_table(rows, label="word", progress=True)
    assert log.getvalue() == ""


def test_a_notebook_shows_it_and_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, str]] = []

    class Output:
        def update(self, bundle: dict[str, str], raw: bool) -> None:
            shown.append(bundle)

    def display(bundle: dict[str, str], raw: bool, display_id: bool) -> Output:
        shown.append(bundle)
        return Output()

    fake = SimpleNamespace(
        get_ipython=lambda: SimpleNamespace(kernel=object()),
        display=SimpleNamespace(display=display),
    )
    monkeypatch.setitem(sys.modules, "IPython", fake)
    with ExitStack() as stack:
        report = report_to(stack, True)
        assert report is not None
        assert isinstance(progress.open_display(), NotebookDisplay)
        shown.clear()
        report(Done(0.5, total=2000, done=1000, seconds=3))
    assert shown[0]["text/plain"] == "reading 50 %, 1,000 of 2,000 rows, 3 s, about 3 s left"
    assert shown[0]["text/html"].startswith('<progress value="0.500" max="1"></progress> reading')
    assert shown[-1] == {"text/plain": "", "text/html": ""}


def test_a_terminal_that_is_gone_costs_nothing(often: None) -> None:
    gone = Terminal()
    display = TerminalDisplay(gone)
    display(Done(0.1))
    gone.close()
    display.close()
    with report_progress(lambda: Measured(0.5), display):
        time.sleep(0.02)


def test_the_thread_ends_with_the_work(often: None) -> None:
    with report_progress(lambda: Measured(0.5), lambda _: None):
        pass
    assert not any(each.name == "dphist-progress" for each in threading.enumerate())


def test_tasks_of_stages() -> None:
    assert measure_stages([]).fraction < 0
    assert measure_stages([(0, 0)]).fraction < 0
    assert measure_stages([(4, 4), (6, 3)]) == Measured(0.625, 10, 7, "tasks", "stage 2")
    assert measure_stages([(4, 4)]).fraction == 0.5  # Spark may plan more


def test_a_second_query_of_a_call_forgets_no_stage(often: None) -> None:
    """Spark Connect tells of no stages while a query is planned."""
    handlers: list[Any] = []
    session = SimpleNamespace(
        registerProgressHandler=handlers.append, removeProgressHandler=handlers.remove
    )
    told = [SimpleNamespace(stage_id=1, num_tasks=8, num_completed_tasks=4)]
    seen: list[Done] = []
    with _ConnectJobs(session).watch(threading.current_thread(), seen.append):
        for stages in (told, []):
            handlers[0](stages=stages)
            time.sleep(0.05)
    assert len(seen) > 5
    assert all(each.total == 8 for each in seen)
    assert not handlers


def test_a_stage_that_never_begins_is_not_counted() -> None:
    """One whose results exist already is known to Spark, with none of its tasks done."""
    told = [
        SimpleNamespace(stage_id=number, num_tasks=8, num_completed_tasks=done)
        for number, done in ((9, 0), (3, 8), (5, 0), (8, 4), (10, 0))
    ]
    assert measure_in_connect(told) == Measured(0.625, 24, 12, "tasks", "stage 3")
    assert measure_in_connect(told[:1]).total == 8
    assert measure_in_connect([]).fraction < 0

    class Tracker:
        def getJobInfo(self, job: int) -> Any:  # noqa: N802
            return None if job == 3 else SimpleNamespace(stageIds=[job, 7, 8])

        def getStageInfo(self, stage: int) -> Any:  # noqa: N802
            done = {1: 10, 2: 5}.get(stage, 0)
            running = int(stage == 2)
            made = SimpleNamespace(numTasks=10, numActiveTasks=running, numCompletedTasks=done)
            return None if stage == 8 else made

    tags = SimpleNamespace(getJobIdsForTag={"mine": [1, 2, 3]}.get)
    java = SimpleNamespace(sc=lambda: SimpleNamespace(statusTracker=lambda: tags))
    context = SimpleNamespace(statusTracker=Tracker, _jsc=java)
    assert measure_in_classic(context, "mine") == Measured(0.625, 20, 15, "tasks", "stage 2")


def test_a_spark_that_tells_nothing_costs_nothing(often: None) -> None:
    """Nor one that cannot mark its jobs."""
    seen: list[Done] = []
    assert call_spark(SimpleNamespace(), lambda: 5, seen.append) == 5
    assert seen == []


def test_a_spark_that_ends_before_the_call_begins_costs_no_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thread of PySpark's copies properties of the caller's first, which then fails."""
    pyspark = pytest.importorskip("pyspark")
    marked: list[str] = []

    class Failing(threading.Thread):
        def __init__(self, work: Any, *, session: Any, **settings: Any) -> None:
            super().__init__(**settings)

        def run(self) -> None:
            return

    Session = type("Session", (), {"__module__": "pyspark.sql.connect.session"})  # noqa: N806
    setattr(Session, "addTag", lambda _, tag: marked.append(tag))  # noqa: B010
    monkeypatch.setattr(pyspark, "InheritableThread", Failing)
    assert call_spark(Session(), lambda: 5) == 5
    assert not marked  # the caller's thread
    monkeypatch.setattr(Failing, "start", lambda _: 1 / 0)
    assert call_spark(Session(), lambda: 5) == 5
    assert not marked
