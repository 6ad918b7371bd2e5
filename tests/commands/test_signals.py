"""The command line is stopped at any moment: one line, an exit code, and all outputs or none."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tests.support.storms import Storm, wait_until

PATIENCE = 600  # seconds: other processes may have the machine busy


def made(path: Path, rows: int) -> Path:
    """Write rows whose labels and users are text."""
    duckdb.sql(
        f"""
        SELECT 'label ' || hash(i) % 200000 AS label, 'user ' || hash(i + 7) % 500000 AS who,
               (hash(i * 3) % 100)::INTEGER AS age
        FROM range({rows}) t(i)
        """  # noqa: S608
    ).write_parquet(str(path))
    return path


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file whose users take about as long to be bounded as the command takes to start."""
    return made(tmp_path_factory.mktemp("large") / "large.parquet", 600_000)


@pytest.fixture(scope="module")
def huge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file whose rows take about as long to be counted as the command takes to start."""
    return made(tmp_path_factory.mktemp("huge") / "huge.parquet", 5_000_000)


def labels(file: Path) -> list[object]:
    users = ("--user", "who", "--max-labels", 5)
    return ["labels", file, "--label", "label", *users, "--epsilon", 1, "--delta", "1e-6"]


def anonymize(file: Path) -> list[object]:
    return ["anonymize", file, "--each-row-is-one-person", "--label", "label", "--epsilon", 1]


def ranges(file: Path) -> list[object]:
    return [
        "ranges",
        file,
        "--each-row-is-one-person",
        "--column",
        "age",
        "--edges",
        "0,18,65,100",
        "--epsilon",
        1,
    ]


@pytest.mark.verify
def test_a_signal_while_outputs_are_written(tmp_path: Path) -> None:
    storm = Storm(labels(made(tmp_path / "small.parquet", 20_000)), tmp_path, seed=1)
    storm.at_publication(2)
    assert storm.phases.total() == 2


@pytest.mark.verify
def test_a_few_signals(large: Path, tmp_path: Path) -> None:
    storm = Storm(labels(large), tmp_path, seed=1)
    storm.undisturbed()
    storm.at_random(9)
    storm.at_publication(3)
    assert storm.phases["stopped"] >= 3


@pytest.mark.long(every=3)
@pytest.mark.parametrize(
    ("command", "size", "signals"),
    [(labels, "large", 16), (anonymize, "huge", 12), (ranges, "huge", 12)],  # one gate for all
)
def test_a_storm_of_signals(
    command, size: str, signals: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """From the start of the command, its imports included, to the end."""
    storm = Storm(command(request.getfixturevalue(size)), tmp_path, seed=2)
    storm.undisturbed()
    storm.at_random(signals)
    assert storm.phases["stopped"] >= signals // 4
    storm.at_publication(signals // 4)
    assert storm.phases.total() == signals + signals // 4


@pytest.mark.usefixtures("hangups_heard")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.quick("[1]")
def test_the_exit_code_tells_the_signal(number: int, large: Path, tmp_path: Path) -> None:
    storm = Storm(labels(large), tmp_path, seed=3)
    ended = storm.stopped_by(number)
    assert ended.code == 128 + number
    assert ended.said == "dphist: interrupted; nothing was written\n"
    assert ended.files == ended.left == frozenset()


@pytest.mark.verify
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_what_is_ignored_from_the_start_stays_so(number: int, large: Path, tmp_path: Path) -> None:
    """A hangup under nohup, and Ctrl-C in what a script starts with `&`."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        assert Storm(ranges(large), tmp_path, seed=4).stopped_by(number).code == 0
    finally:
        signal.signal(number, before)


# A process whose standard streams are a terminal of its own, in which Ctrl-C is typed.
IN_A_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "dphist", *sys.argv[1:]])
"""


@pytest.mark.verify
def test_control_c_in_a_terminal_removes_the_bar(large: Path, tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    command = [*map(str, labels(large)), "--output", str(tmp_path / "r.json")]
    with subprocess.Popen(
        [sys.executable, "-c", IN_A_TERMINAL, *command],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    ) as child:
        os.close(follower)
        shown, typed = b"", False
        while True:
            try:
                part = os.read(leader, 1000)
            except OSError:  # the terminal closes with the program
                break
            if not part:
                break
            shown += part
            if not typed and b"reading" in shown:
                os.write(leader, b"\x03")
                typed = True
        assert child.wait(PATIENCE) == 130
    os.close(leader)
    last = shown.decode().rpartition("\x1b[2K")[2]  # what follows the bar's line, once erased
    assert last == "dphist: interrupted; nothing was written\r\n"
    assert b"\x1b[?25l" not in shown  # the cursor was never hidden
    assert list(tmp_path.iterdir()) == []


@pytest.mark.verify
def test_a_reader_that_does_not_read_does_not_hide_what_was_written(tmp_path: Path) -> None:
    """Printing waits, as the pipe is full; Ctrl-C ends that, and the outputs are there."""
    path = tmp_path / "known.txt"
    path.write_text("".join(f"label {i} {'x' * 90}\n" for i in range(20_000)))
    data = tmp_path / "data.csv"
    data.write_text("label\nlabel 1\n")
    known = ["--known-labels", str(path), "--epsilon", "1", "--table", str(tmp_path / "t.csv")]
    # The release itself is printed, which is longer than a pipe holds.
    command = [
        "labels",
        str(data),
        "--each-row-is-one-person",
        "--label",
        "label",
        *known,
        "--json",
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "dphist", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        wait_until(child, (tmp_path / "t.csv").exists)
        child.send_signal(signal.SIGINT)
        assert child.wait(PATIENCE) == 130
        assert child.stderr.read() == (
            f"dphist: {tmp_path / 't.csv'} written, but not all was printed\n"
        )
    assert len((tmp_path / "t.csv").read_text().splitlines()) == 20_001
