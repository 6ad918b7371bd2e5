"""What other libraries print and warn while they hold data goes nowhere; nothing else is lost."""

import _thread
import io
import os
import signal
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import dphist as dh
from dphist.counting.engine import redaction
from dphist.counting.engine.redaction import quiet, redact_errors
from dphist.errors import DataError

SIGNALLING = np.array([0x7F800001], np.uint32).view(np.float32)
ODD = [SIGNALLING[0], -SIGNALLING[0], np.float32("nan"), np.float32("inf"), np.float32(-0.0)]
ODD += [np.finfo(np.float32).tiny / 8, np.finfo(np.float32).max, np.float32(1e-40)]


def noisy_call() -> int:
    print("of the data")
    sys.stderr.write("of the data\n")
    sys.stderr.writelines(["of the data\n"])
    warnings.warn("of the data", stacklevel=1)
    no_text: Any = ValueError("of the data")
    warnings.warn(no_text, stacklevel=1)
    np.float64(1) / np.zeros(1)
    return 7


@pytest.fixture(autouse=True)
def nobody_is_quiet() -> None:
    """Wait until frames that failed in an earlier test are quiet no longer."""
    until_nobody_is_quiet()


def until_nobody_is_quiet() -> None:
    end = time.monotonic() + 60
    while redaction._muting:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_threads_of_libraries_are_quiet_until_they_print_no_more(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a clock that the test moves."""
    clock, looks, printed = [100], [], threading.Semaphore(0)
    monkeypatch.setattr(redaction, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(redaction, "_last_dropped", 0)
    monkeypatch.setattr(redaction, "_look_after", lambda delay, _: looks.append(delay))

    def prints() -> None:
        print("of the data")
        printed.release()

    redaction.linger(3)
    assert looks.pop() == 3
    for _ in range(6):
        clock[0] += 2
        _thread.start_new_thread(prints, ())  # a library's, of which Python knows nothing
        assert printed.acquire(timeout=60)
        clock[0] += 1
        redaction._end_of_lingering(3)
        assert (looks.pop(), redaction._muting) == (2, 1)
    clock[0] += 2
    redaction._end_of_lingering(3)
    assert (looks, redaction._muting) == ([], 0)
    assert capfd.readouterr() == ("", "")


def test_lingering_ends() -> None:
    """With the clock and the timer of the system."""
    redaction.linger(0.01)
    assert redaction._muting == 1
    until_nobody_is_quiet()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12, where threads run
def test_a_forked_process_is_not_quiet_with_calls_of_other_threads() -> None:
    ready, end = threading.Event(), threading.Event()

    def hold() -> None:
        with quiet(), redaction._lock:
            ready.set()
            end.wait()

    other = threading.Thread(target=hold)
    other.start()
    ready.wait()
    process = os.fork()
    if process == 0:
        signal.alarm(20)  # or it would wait for the lock forever
        with quiet():
            pass
        kept = redaction._muting or isinstance(sys.stdout, redaction._Muted)
        os._exit(1 if kept else 0)
    end.set()
    other.join()
    assert os.waitpid(process, 0)[1] == 0
    assert not isinstance(sys.stdout, redaction._Muted)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12, where threads run
@pytest.mark.parametrize("begun", [False, True], ids=["before it", "within it"])
def test_a_process_forked_while_a_thread_begins_to_be_quiet_can_be_quiet(
    begun: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The thread had not added its filter yet, or not replaced the streams."""
    begins, end = threading.Event(), threading.Event()
    ignore = redaction._ignore_warnings

    def wait() -> None:
        if begun:
            ignore()
        if threading.current_thread() is other:
            begins.set()
            end.wait()
        if not begun:
            ignore()

    def be_quiet() -> None:
        with quiet():
            pass

    kept = warnings.filters[:]
    monkeypatch.setattr(redaction, "_ignore_warnings", wait)
    other = threading.Thread(target=be_quiet)
    other.start()
    begins.wait()
    process = os.fork()
    if process == 0:
        signal.alarm(20)
        same = warnings.filters == kept
        redact_errors(noisy_call, DataError("failed"))
        os._exit(0 if same and not redaction._muting else 1)
    end.set()
    other.join()
    assert os.waitpid(process, 0)[1] == 0
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("action", ["error", "always", "default"])
def test_nothing_is_printed_or_warned(action: Any, capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings(record=action != "error") as seen:
        warnings.simplefilter(action)
        assert redact_errors(noisy_call, DataError("failed")) == 7
        filters = warnings.filters[:]
        assert redact_errors(noisy_call, DataError("failed")) == 7
        assert warnings.filters == filters
    assert not seen
    assert capfd.readouterr() == ("", "")


def test_streams_and_filters_are_given_back_also_after_errors() -> None:
    before = sys.stdout, sys.stderr, warnings.filters[:]

    def fail() -> None:
        with quiet():
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            redact_errors(fail, DataError("failed"))
        assert (sys.stdout, sys.stderr, warnings.filters) == before


def test_other_threads_print_meanwhile(capsys: pytest.CaptureFixture[str]) -> None:
    inside, printed = threading.Event(), threading.Event()

    def work() -> None:
        with quiet():
            print("of the data")
            inside.set()
            assert printed.wait(60)
            print("of the data")

    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(work)
        assert inside.wait(60)
        print("of another thread")
        sys.stderr.write("error of another thread\n")
        assert sys.stdout.encoding
        printed.set()
        job.result(60)
    assert capsys.readouterr() == ("of another thread\n", "error of another thread\n")


@pytest.mark.parametrize("action", ["error", "always"])
def test_filters_and_streams_replaced_while_another_thread_is_quiet(action: Any) -> None:
    """They were those of the caller: a warning was shown, or an error."""
    before = sys.stdout, sys.stderr, warnings.filters[:]
    inside, end = threading.Event(), threading.Event()

    def work() -> None:
        with quiet():
            inside.set()
            assert end.wait(60)

    with ThreadPoolExecutor(1) as pool, ExitStack() as stack:
        stack.callback(end.set)
        job = pool.submit(work)
        assert inside.wait(60)
        out, err = io.StringIO(), io.StringIO()
        with (
            redirect_stdout(out),
            redirect_stderr(err),
            warnings.catch_warnings(record=action != "error") as seen,
        ):
            warnings.simplefilter(action)
            assert redact_errors(noisy_call, DataError("failed")) == 7
            print("of this thread")
        end.set()
        job.result(60)
    assert not seen
    assert (out.getvalue(), err.getvalue()) == ("of this thread\n", "")
    assert (sys.stdout, sys.stderr, warnings.filters) == before


@pytest.mark.parametrize("begins", ["before", "between", "within"])
def test_warnings_caught_while_another_thread_is_quiet_leave_no_filter(begins: str) -> None:
    """The filter of the call, or a list that nobody reads, stayed for as long as the process."""
    before = warnings.filters[:], warnings._showwarnmsg_impl
    inside, end = threading.Event(), threading.Event()

    def work() -> None:
        with quiet():
            inside.set()
            assert end.wait(60)

    def begin() -> None:
        other.start()
        assert inside.wait(60)

    def finish() -> None:
        end.set()
        other.join()

    other = threading.Thread(target=work)
    if begins == "within":
        begin()
    with warnings.catch_warnings(record=begins == "before"):
        warnings.simplefilter("error")
        (finish if begins == "within" else begin)()
    if begins == "between":
        with quiet():
            pass
        with warnings.catch_warnings():
            finish()
    elif begins == "before":
        finish()
    assert (warnings.filters, warnings._showwarnmsg_impl) == before


def test_calls_that_overlap_leave_the_filters_as_they_were() -> None:
    before = warnings.filters[:]
    first_in, second_in, first_out = (threading.Event() for _ in range(3))

    def first() -> None:
        with quiet():
            first_in.set()
            assert second_in.wait(60)
        first_out.set()

    def second() -> None:
        assert first_in.wait(60)
        with quiet():
            second_in.set()
            assert first_out.wait(60)

    with ThreadPoolExecutor(2) as pool:
        for job in (pool.submit(first), pool.submit(second)):
            job.result(60)
    assert warnings.filters == before


def test_somebody_else_s_streams_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    stdout = sys.stdout
    with quiet():
        sys.stdout = replaced = sys.__stdout__
    assert sys.stdout is replaced
    sys.stdout = stdout
    print("heard")
    assert capsys.readouterr().out == "heard\n"


def frames(values: list[Any], folder: Path) -> dict[str, Any]:
    array = np.array(values, np.float32)
    table = pa.table({"x": array, "who": np.arange(len(values))})
    pyarrow.parquet.write_table(table, folder / "t.parquet")
    return {
        "arrow": table,
        "pandas": pd.DataFrame({"x": array, "who": np.arange(len(values))}),
        "polars": pl.DataFrame({"x": array, "who": np.arange(len(values))}),
        "duckdb": duckdb.connect().from_arrow(table),
        "parquet": folder / "t.parquet",
    }


@pytest.mark.long(every=4)
@pytest.mark.parametrize("engine", ["arrow", "pandas", "polars", "duckdb", "parquet"])
@pytest.mark.parametrize("action", ["error", "always"])
def test_an_odd_float_is_counted_in_silence(
    engine: str, action: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """NumPy warned of a signalling NaN, on stderr: a warning that tells of one record."""
    for odd in ODD:
        with warnings.catch_warnings(record=action != "error") as seen:
            warnings.simplefilter(action)
            for values in ([1.0, 2.0], [1.0, 2.0, odd]):
                frame = frames(values, tmp_path)[engine]
                found = dh.bin_counts(frame, column="x", edges=[0, 1.5, 3])
                assert sum(found.counts) + sum(found.outside.values()) == len(values)
                kept = dh.bin_counts(
                    frame, column="x", edges=[0, 1.5, 3], user="who", max_records=1
                )
                assert kept.counts.tolist() == found.counts.tolist()
        assert not seen
    assert capfd.readouterr() == ("", "")


def test_without_the_wall_it_would_be_heard() -> None:
    """Power: this is what NumPy does with such a value."""
    with pytest.warns(RuntimeWarning, match="invalid value"):
        SIGNALLING.astype(np.float64)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        SIGNALLING.astype(np.float64)


def test_how_numpy_is_set_changes_nothing(tmp_path: Path) -> None:
    """Where NumPy raises, one record's odd float would be an error, and the others are none."""
    found = []
    for values in ([1.0, 2.0], [1.0, 2.0, *ODD]):
        for frame in frames(values, tmp_path).values():
            with np.errstate(all="raise"):
                found.append(dh.bin_counts(frame, column="x", edges=[0, 1.5, 3]).counts.tolist())
    # In bins are also -0.0 and the two numbers nearest to 0; infinity and the largest are beyond.
    assert found == [[1, 1]] * 5 + [[4, 1]] * 5
