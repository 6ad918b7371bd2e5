"""Progress of `dphist stream`: events and seconds on a terminal, nothing elsewhere."""

import io
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from dphist.commands.stream import run
from dphist.commands.stream.run import StreamProgress
from dphist.counting.engine import progress
from dphist.counting.engine.progress import ERASED


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, path: Path, stream: io.StringIO, asked: bool) -> str:
    """Feed half of a file; return what is shown before the line is erased."""
    standard = SimpleNamespace(stderr=stream, modules=sys.modules)
    monkeypatch.setattr(progress, "sys", standard)
    monkeypatch.setattr(run, "_SECONDS_BETWEEN", 0)
    monkeypatch.setenv("TERM", "xterm")
    with path.open("rb") as file:
        line = StreamProgress(file.fileno(), shown=asked)
        line.add(os.read(file.fileno(), 500), 250)
        text = stream.getvalue()
        line.close()
    assert stream.getvalue() == (text + ERASED if text else "")
    return text


def test_events_and_the_time_left_on_a_terminal(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "events"
    path.write_bytes(b"a\n" * 500)
    text = shown(monkeypatch, path, Terminal(), True)
    assert text.startswith(f"{ERASED}reading [##########----------] 250 events, 0 s, about")


def test_nothing_elsewhere(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "events"
    path.write_bytes(b"a\n" * 500)
    assert shown(monkeypatch, path, io.StringIO(), True) == ""
    assert shown(monkeypatch, path, Terminal(), False) == ""
