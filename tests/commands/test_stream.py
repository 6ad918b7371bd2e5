"""The command `dphist stream`, fed by pipes and files, stopped in every way."""

import array
import fcntl
import json
import random
import re
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dphist as dh
from dphist.cli import main
from dphist.errors import OutputFileError
from dphist.streams import ContinualHistogram, ContinualMechanism
from tests.support.refusal import SENTINEL

PATIENCE = 600  # seconds: other processes may have the machine busy
# So much that the noise moves no count far: a few units at these horizons.
BUDGET = ("--epsilon", 20, "--delta", "1e-6", "--horizon", 5000)
STREAM = (sys.executable, "-m", "dphist", "stream")


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


def texts(*arguments: object) -> list[str]:
    return [str(argument) for argument in arguments]


def with_state(arguments: Sequence[object]) -> list[str]:
    """Return the arguments with a state, unless they name one."""
    return texts(*arguments) if "--state" in arguments else texts("--state", "s.db", *arguments)


def run_stream(monkeypatch, content: bytes | str, *arguments: object) -> int:
    """Run the command in this process with this input."""
    path = Path("input.tmp")
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with path.open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        return main(["stream", *with_state(arguments)])


@contextmanager
def started(*arguments: object, **options: object) -> Iterator[subprocess.Popen]:
    """A process of its own, which reads what is written to its `stdin`."""
    pipe = subprocess.PIPE
    options = {"stdin": pipe, "stdout": pipe, "stderr": pipe, "text": True, **options}
    with subprocess.Popen([*STREAM, *with_state(arguments)], **options) as child:  # type: ignore[call-overload]
        try:
            yield child
        finally:
            child.kill()


def feed(child: subprocess.Popen, text: str) -> None:
    child.stdin.write(text)
    child.stdin.flush()


def reading(child: subprocess.Popen) -> tuple[int, dict[str, int]]:
    """Wait for the next printed reading."""
    found = json.loads(child.stdout.readline())
    return found["time"], found["counts"]


def wait_until_full(pipe: TextIO) -> None:
    """Wait until a pipe that nobody reads takes no more, so that whoever prints there waits."""
    held = array.array("i", [0])
    while held[0] <= fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ) - select.PIPE_BUF:
        time.sleep(0.01)
        fcntl.ioctl(pipe, termios.FIONREAD, held)


def held(path: str = "s.db") -> int:
    with ContinualHistogram.open(path) as stream:
        return stream.time


def readings(out: str) -> list[tuple[int, dict[str, int]]]:
    return [(row["time"], row["counts"]) for row in map(json.loads, out.splitlines())]


def near(counts: dict[str, int], wanted: dict[str, int], error: int = 25) -> bool:
    return counts.keys() == wanted.keys() and all(
        abs(counts[label] - wanted[label]) <= error for label in wanted
    )


def test_readings_come_at_multiples_and_at_the_end(monkeypatch, capsys) -> None:
    code = run_stream(monkeypatch, "a\nb\n" * 1250, *BUDGET, "--every", 1000, "--json")
    assert code == 0
    found = readings(capsys.readouterr().out)
    assert [when for when, _ in found] == [1000, 2000, 2500]
    assert near(found[-1][1], {"a": 1250, "b": 1250})
    assert list(found[-1][1].values()) == sorted(found[-1][1].values(), reverse=True)
    # A later run goes on at the stream's multiples, not its own.
    assert run_stream(monkeypatch, "a\n" * 700, "--every", 1000, "--json", "--top", 1) == 0
    later = readings(capsys.readouterr().out)
    assert [when for when, _ in later] == [3000, 3200]
    assert near(later[-1][1], {"a": 1950})


def test_a_reading_is_not_made_twice_and_never_changes(monkeypatch, capsys) -> None:
    assert run_stream(monkeypatch, "a\n" * 200, *BUDGET, "--every", 100, "--json") == 0
    first = readings(capsys.readouterr().out)
    assert [when for when, _ in first] == [100, 200]
    for _ in range(2):
        assert run_stream(monkeypatch, "", "--json", "--output", "r.json") == 0
        assert readings(capsys.readouterr().out) == first[1:]
    assert dh.Release.load("r.json").value.times.tolist() == [100, 200]


def test_text_says_guarantee_time_and_top_rows(monkeypatch, capsys) -> None:
    content = "".join(f"{label}\n" * 60 for label in "abcdefghijkl")
    assert run_stream(monkeypatch, content, *BUDGET) == 0
    out = capsys.readouterr().out
    assert out.startswith("Guarantee: (20, 1e-6)-differential privacy in all, for one event.\n")
    assert "After 720 events: 12 labels\n" in out
    assert "  ... 2 more\n" in out
    assert out.endswith("The state holds 720 events.\n")
    assert run_stream(monkeypatch, "", "--top", 3) == 0
    out = capsys.readouterr().out
    assert "Continuing from a state with 720 events." in out
    assert "  ... 9 more\n" in out


def test_hostile_labels_command_no_terminal(monkeypatch, capsys) -> None:
    assert run_stream(monkeypatch, "\x1b[2J\u202e\n" * 200, *BUDGET) == 0
    assert "\\x1b[2J\\u202e" in capsys.readouterr().out


def test_all_outputs_hold_all_readings(monkeypatch, capsys) -> None:
    outputs = ("--output", "r.json", "--table", "t.csv", "--report", "r.html")
    assert run_stream(monkeypatch, "a\n" * 300, *BUDGET, "--every", 100, *outputs) == 0
    out = capsys.readouterr().out
    assert all(f"wrote {path}" in out for path in ("r.json", "t.csv", "r.html"))
    release = dh.Release.load("r.json")
    assert release.value.times.tolist() == [100, 200, 300]
    assert release.budget == dh.ApproxDP(20, "1e-6", unit="event")
    assert release.mechanism.to_approx_dp("1e-6").epsilon <= 20
    assert release.provenance == {"unit": dh.PrivacyUnit("event")}
    assert Path("t.csv").read_text().startswith("time,label,count,low,high\n100,a,")
    assert "Running counts" in Path("r.html").read_text()
    assert (
        run_stream(monkeypatch, "a\n" * 50, "--quiet", "--output", "r.json", "--table", "t.csv")
        == 0
    )
    assert capsys.readouterr().out == ""
    assert dh.Release.load("r.json").value.times.tolist() == [100, 200, 300, 350]
    assert len(Path("t.csv").read_text().splitlines()) == 5
    assert main(["show", "r.json"]) == 0
    assert "Running counts of labels" in capsys.readouterr().out
    assert not list(Path().glob("*.part"))


@pytest.mark.parametrize(
    ("content", "options", "wanted"),
    [
        ("a\n\nb,c\n" * 100, [], {"a": 100, "b,c": 100}),
        ("a\r\n\r\nb\r\n" * 100, [], {"a": 100, "b": 100}),
        ("a;b;a\n;\nb;\n" * 100, ["--separator", ";", "--max-labels", 2], {"a": 100, "b": 200}),
        ("\ufeff" + "é\n" * 300, [], {"é": 300}),
        ("a\n" * 299 + "a", [], {"a": 300}),
        (
            '{"label": "a"}\n{"label": ["b", "a"], "x": 1}\n\n{"label": null}\n' * 100,
            ["--format", "ndjson", "--max-labels", 2],
            {"a": 200, "b": 100},
        ),
        ('{"at": "\\u00e9"}\n{"at": []}\n{"at": ""}\n' * 100,
         ["--format", "ndjson", "--label", "at"], {"é": 100, "": 100}),
        ("n,label\n" + "1,a\n2,\n3,b\n" * 100, ["--format", "csv"], {"a": 100, "b": 100}),
        ("what\n" + '"a\n""b"""\n""\n\nc\n' * 100, ["--format", "csv", "--label", "what"],
         {'a\n"b"': 100, "c": 100}),
        ("x,y\n" + "1,a|b\n1,b\n1,\n" * 100,
         ["--format", "csv", "--label", "y", "--separator", "|", "--max-labels", 2],
         {"a": 100, "b": 200}),
    ],
)  # fmt: skip
@pytest.mark.quick(every=2)
def test_each_format(content, options, wanted, monkeypatch, capsys) -> None:
    assert run_stream(monkeypatch, content, *BUDGET, *options, "--json") == 0
    (when, counts), = readings(capsys.readouterr().out)  # fmt: skip
    assert when == 300
    assert near(counts, wanted)


@pytest.mark.parametrize("form", ["ndjson", "csv"])
def test_users_are_bounded(form, monkeypatch, capsys) -> None:
    rows = [(f"u{i}", "a") for i in range(300)] + [("7", "b")] * 300
    if form == "csv":
        content = "who,label\n" + "".join(f"{who},{label}\n" for who, label in rows)
    else:
        content = "".join(json.dumps({"who": who, "label": label}) + "\n" for who, label in rows)
    given = ("--format", form, "--user", "who")
    users = (*BUDGET, "--max-events-per-user", 2, "--known-labels", "known.txt")
    Path("known.txt").write_text("a\nb\n")
    assert run_stream(monkeypatch, content, *users, *given, "--json", "--output", "r.json") == 0
    (when, counts), = readings(capsys.readouterr().out)  # fmt: skip
    assert when == 600
    assert near(counts, {"a": 300, "b": 2})
    assert dh.Release.load("r.json").provenance["unit"] == dh.PrivacyUnit("user", events=2)
    assert run_stream(monkeypatch, content, *given[:2], "--json") == 2
    assert "--user is needed" in capsys.readouterr().err
    assert held() == 600


@pytest.mark.verify
@pytest.mark.parametrize("delta", [(), ("--delta", 0)])
def test_a_pure_stream_is_begun_with_or_without_a_delta(delta, monkeypatch, capsys) -> None:
    Path("known.txt").write_text("a\nb\n")
    new = ("--method", "laplace", "--epsilon", 20, *delta, "--horizon", 500)
    assert run_stream(monkeypatch, "a\n" * 40, *new, "--known-labels", "known.txt") == 0
    assert "Guarantee: 20-differential privacy (pure) in all" in capsys.readouterr().out
    with ContinualHistogram.open("s.db") as stream:
        assert stream.guarantee == stream.budget == dh.PureDP(20, unit="event")
    # The same command continues it.
    assert run_stream(monkeypatch, "a\n", *new, "--known-labels", "known.txt") == 0
    assert held() == 41


def test_known_labels_are_released_from_the_start(monkeypatch, capsys) -> None:
    pq.write_table(pa.table({"x": ["a", "b"]}), "known.parquet")
    known = (*BUDGET, "--known-labels", "known.parquet", "--json")
    assert run_stream(monkeypatch, "a\nz\n" * 40, *known) == 0
    assert near(readings(capsys.readouterr().out)[0][1], {"a": 40, "b": 0})


@pytest.mark.quick("[lines", '[ndjson-{"label": "a"}\\n-[', "[csv")
@pytest.mark.parametrize(
    ("form", "good", "bad", "said"),
    [
        ("lines", b"a\n", b"\xff" + SENTINEL.encode() + b"\n", "is not UTF-8"),
        ("ndjson", b'{"label": "a"}\n', f'["{SENTINEL}"]\n'.encode(), "must be a JSON object"),
        ("ndjson", b'{"label": "a"}\n', f'{{"label": "{SENTINEL}\n'.encode(), "a JSON object"),
        ("ndjson", b'{"label": "a"}\n', b'{"label": 918273645}\n', "a text, a list of texts"),
        ("ndjson", b'{"label": "a"}\n', b'{"label": ["a", null]}\n', "a text, a list of texts"),
        ("ndjson", b'{"label": "a"}\n', b'{"lable": "a"}\n', "field 'label'"),
        ("ndjson", b'{"label": "a"}\n', b'{"label": "\\ud800"}\n', "a JSON object"),
        ("ndjson", b'{"label": "a"}\n', b"[" * 100_000 + b"\n", "a JSON object"),
        ("csv", b"a\n", f"{SENTINEL},{SENTINEL}\n".encode(), "as many fields"),
        ("csv", b"a\n", f'"{SENTINEL}"x\n'.encode(), "is not CSV"),
        ("csv", b"a\n", f'"{SENTINEL}\n'.encode(), "is not CSV"),
    ],
)
def test_a_malformed_line_is_named_and_what_came_before_stays(
    form, good, bad, said, monkeypatch, capsys
) -> None:
    head = b"label\n" if form == "csv" else b""
    options = (*BUDGET, "--format", form, "--output", "r.json")
    assert run_stream(monkeypatch, head + good * 150 + bad + good * 9, *options) == 1
    captured = capsys.readouterr()
    line = 152 if form == "csv" else 151
    if bad != f'"{SENTINEL}\n'.encode():
        assert f"line {line} " in captured.err
    assert said in captured.err
    assert captured.err.endswith("; the state holds 150 events\n")
    for secret in (SENTINEL, "918273645", "Traceback"):
        assert secret not in captured.err + captured.out
    assert held() == 150
    assert dh.Release.load("r.json").value.times.tolist() == [150]
    # Once the line is right, the same input goes on where it stopped.
    mended = head + good * 150 + good * 10
    assert run_stream(monkeypatch, mended, "--format", form, "--resume", "--quiet",
               "--output", "r.json") == 0  # fmt: skip
    assert held() == 160


@pytest.mark.verify
def test_users_must_be_there(monkeypatch, capsys) -> None:
    users = (*BUDGET, "--max-events-per-user", 2, "--user", "who")
    for form, content in (
        ("ndjson", '{"label": "a", "who": 1}\n{"label": "a", "who": null}\n'),
        ("ndjson", '{"label": "a", "who": 1}\n{"label": "a", "who": true}\n'),
        ("ndjson", '{"label": "a", "who": 1}\n{"label": "a", "who": ""}\n'),
        ("csv", "label,who\na,1\na,\n"),
    ):
        assert (
            run_stream(monkeypatch, content, *users, "--format", form, "--state", f"{form}.db") == 1
        )
        assert f"line {3 if form == 'csv' else 2} must have a user" in capsys.readouterr().err


def test_the_horizon_is_reached_and_said(monkeypatch, capsys) -> None:
    tight = (*BUDGET[:4], "--horizon", 400)
    assert (
        run_stream(monkeypatch, "a\n" * 401, *tight, "--json", "--every", 150, "--output", "r") == 1
    )
    captured = capsys.readouterr()
    assert [when for when, _ in readings(captured.out)] == [150, 300, 400]
    assert "the horizon of 400 events is reached" in captured.err
    assert captured.err.endswith("; the state holds 400 events\n")
    assert dh.Release.load("r").value.times.tolist() == [150, 300, 400]
    assert run_stream(monkeypatch, "", "--json") == 0


def test_a_bound_of_readings_is_kept_and_the_outputs_are_written(monkeypatch, capsys) -> None:
    options = ("--every", 100, "--readings", 2, "--json", "--output", "r.json")
    assert run_stream(monkeypatch, "a\n" * 350, *BUDGET, *options) == 1
    out, err = capsys.readouterr()
    assert [when for when, _ in readings(out)] == [100, 200]
    said = (
        "dphist: the bound of 2 readings is reached, and no further one was made; all input was "
        "counted, and the state holds {} events\n"
    )
    assert err == said.format(350)
    assert dh.Release.load("r.json").value.times.tolist() == [100, 200]
    # Later runs count too, and write what was read before.
    assert run_stream(monkeypatch, "a\n" * 25, "--quiet", "--output", "o2.json") == 1
    assert capsys.readouterr() == ("", said.format(375))
    assert dh.Release.load("o2.json").value.times.tolist() == [100, 200]
    assert held() == 375


def test_the_first_error_is_the_one_that_is_said(monkeypatch, capsys) -> None:
    """No reading is left, nor can an output be written: neither hides that the input is short."""
    options = ("--every", 100, "--readings", 1, "--json")
    assert run_stream(monkeypatch, "a\n" * 150, *BUDGET, *options) == 1
    short = "dphist: the input has 1 event less than the state holds, so it does not begin with "
    capsys.readouterr()
    assert run_stream(monkeypatch, "a\n" * 149, "--resume", "--json") == 1
    assert capsys.readouterr().err.startswith(short)
    monkeypatch.setattr("dphist.commands.stream.run.write_outputs", refuse)
    assert run_stream(monkeypatch, "a\n" * 149, "--resume", "--json", "--output", "r.json") == 1
    err = capsys.readouterr().err
    assert err.startswith(short)
    assert err.endswith("; the state holds 150 events; r.json cannot be written\n")


def refuse(*_: object) -> None:
    raise OutputFileError("r.json cannot be written")


@pytest.mark.parametrize(
    ("content", "options", "code", "said"),
    [
        ("lable\na\n", ["--format", "csv"], 2, "column 'label'"),
        ("", ["--format", "csv"], 2, "column 'label'"),
        ("[1]\n", ["--format", "ndjson", "--output", "r.json"], 1, "no state is kept"),
    ],
)
@pytest.mark.quick(every=3)
def test_a_new_state_is_kept_only_if_it_counted_an_event(
    content, options, code, said, monkeypatch, capsys
) -> None:
    assert run_stream(monkeypatch, content, *BUDGET, *options) == code
    assert said in capsys.readouterr().err
    assert [path.name for path in Path().iterdir()] == ["input.tmp"]
    other = (*BUDGET[:4], "--horizon", 70)
    assert run_stream(monkeypatch, "a\n" * 60, *other, "--json") == 0
    # An old one stays, whatever comes, as does one that is made of an input without events.
    assert run_stream(monkeypatch, content, "--state", "new.db", *BUDGET, "--json") == 0
    assert run_stream(monkeypatch, content, *options) == code
    assert held() == 60
    assert run_stream(monkeypatch, "", *BUDGET, "--state", "empty.db", "--json") == 0
    assert run_stream(monkeypatch, "x\n", "--state", "empty.db", "--format", "csv", "--json") == 2
    assert held("empty.db") == 0


@pytest.mark.verify
def test_a_state_without_events_yet_is_locked_and_removed_when_stopped() -> None:
    with started(*BUDGET, "--every-seconds", 0.2, "--json") as child:
        assert reading(child) == (0, {})
        second = subprocess.run(
            [*STREAM, *texts("--state", "s.db", *BUDGET, "--json")],
            input="b\n", capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert second.returncode == 1
        assert "s.db is in use" in second.stderr
        child.send_signal(signal.SIGINT)
        assert child.wait(PATIENCE) == 130
        assert child.stderr.read() == (
            "dphist: stopped; no event was counted, so that no state is kept\n"
        )
    assert list(Path().iterdir()) == []


def test_one_is_not_written_as_many(monkeypatch, capsys) -> None:
    Path("known.txt").write_text("a\n")
    assert run_stream(monkeypatch, "a\n", *BUDGET, "--known-labels", "known.txt") == 0
    out = capsys.readouterr().out
    assert "After 1 event: 1 label\n" in out
    assert out.endswith("The state holds 1 event.\n")
    assert run_stream(monkeypatch, "") == 0
    assert "Continuing from a state with 1 event.\n" in capsys.readouterr().out


def test_resume_skips_what_the_state_holds(monkeypatch, capsys) -> None:
    rows = [f"w{i % 3}\n" for i in range(900)]
    assert run_stream(monkeypatch, "".join(rows[:400]), *BUDGET, "--json") == 0
    assert run_stream(monkeypatch, "".join(rows), "--resume", "--json") == 0
    (_, _), (when, counts) = readings(capsys.readouterr().out)
    assert when == 900
    assert near(counts, {f"w{i}": 300 for i in range(3)})
    assert run_stream(monkeypatch, "".join(rows[:800]), "--resume", "--json") == 1
    assert "100 events less than the state holds" in capsys.readouterr().err
    assert held() == 900


@pytest.mark.verify
def test_a_new_state_needs_all_and_an_old_one_nothing_else(monkeypatch, capsys) -> None:
    assert run_stream(monkeypatch, "a\n", "--json") == 2
    assert "--epsilon, --delta and --horizon are needed" in capsys.readouterr().err
    assert not Path("s.db").exists()
    assert run_stream(monkeypatch, "a\n", *BUDGET, "--json") == 0
    assert run_stream(monkeypatch, "a\n", *BUDGET, "--json") == 0  # the same ones
    assert held() == 2
    for other in (
        ["--max-labels", 2],
        ["--method", "binary"],
        ["--epsilon", 1, "--delta", "1e-6", "--horizon", 5000],
        ["--epsilon", 20, "--delta", "1e-6", "--horizon", 6000],
    ):
        capsys.readouterr()
        assert run_stream(monkeypatch, "a\n", *other, "--json") == 2
        assert "must be as the stream" in capsys.readouterr().err
    assert held() == 2


@pytest.mark.verify
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--epsilon", 1], "--delta and --horizon"),
        (["--epsilon", 1, "--horizon", 9], "--delta"),
        (["--epsilon", 1, "--horizon", 9, "--method", "laplace"], "laplace need --known-labels"),
        (["--epsilon", 0, "--delta", "1e-6", "--horizon", 9], "epsilon must be"),
        (["--epsilon", 1, "--delta", 0, "--horizon", 9], "laplace need --known-labels"),
        (["--epsilon", 1, "--delta", 1, "--horizon", 9], "delta must be"),
        (["--epsilon", 1, "--delta", "1e-6", "--horizon", 0], "horizon must be"),
        (["--epsilon", 1, "--delta", "1e-6", "--horizon", 2.5], "whole number"),
        ([*BUDGET, "--max-labels", 0], "--max-labels must be"),
        ([*BUDGET, "--every", 0], "every must be"),
        ([*BUDGET, "--every-seconds", 0], "seconds above 0"),
        ([*BUDGET, "--every-seconds", "nan"], "--every-seconds: must be a number"),
        ([*BUDGET, "--every", 5, "--every-seconds", 5], "not allowed with"),
        ([*BUDGET, "--top", 0], "top must be"),
        ([*BUDGET, "--quiet"], "--quiet"),
        ([*BUDGET, "--quiet", "--top", 3, "--output", "r"], "--top"),
        ([*BUDGET, "--quiet", "--json"], "not allowed with"),
        ([*BUDGET, "--method", "best"], "--method"),
        ([*BUDGET, "--format", "xml"], "--format"),
        ([*BUDGET, "--label", "x"], "--label and --user need"),
        ([*BUDGET, "--user", "x", "--max-events-per-user", 2], "--label and --user need"),
        ([*BUDGET, "--format", "csv", "--user", "x"], "--max-events-per-user"),
        ([*BUDGET, "--format", "csv", "--max-events-per-user", 2], "--user"),
        (
            [*BUDGET, "--format", "csv", "--max-events-per-user", 2, "--user", "label"],
            "different columns",
        ),
        ([*BUDGET, "--format", "ndjson", "--separator", ","], "--separator"),
        ([*BUDGET, "--separator", ""], "--separator"),
        ([*BUDGET, "--format", "csv", "--label", "no"], "column 'no'"),
        ([*BUDGET, "--known-labels", "no.txt"], "no.txt does not exist"),
        ([*BUDGET, "--expect-events", 5], "--dry-run"),
        ([*BUDGET, "--output", "no/r.json"], "folder"),
        ([*BUDGET, "--output", "s.db"], "would destroy it"),
        ([*BUDGET, "--output", "x", "--table", "x"], "twice"),
        ([*BUDGET, "--output", "input.tmp"], "is the input"),
        ([*BUDGET, "--state", "input.tmp"], "is the input"),
        ([*BUDGET, "--state", "no/s.db"], "folder"),
        ([*BUDGET, "--state", "."], "not a regular file"),
    ],
)
def test_bad_use_exits_2_with_a_reason(arguments, said, monkeypatch, capsys) -> None:
    assert run_stream(monkeypatch, "label\na\n", *arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("dphist: ")
    assert said in captured.err
    assert Path("input.tmp").read_text() == "label\na\n"
    assert [path.name for path in Path().iterdir()] == ["input.tmp"]


def test_dry_run_reads_nothing_and_makes_nothing(capsys) -> None:
    # Standard input is not touched: it would be the terminal's.
    asked = ("stream", "--state", "no/such/s.db", "--dry-run", "--epsilon", 1, "--delta", "1e-6")
    assert main(texts(*asked, "--horizon", 10**6, "--expect-events", 10**5)) == 0
    out = " ".join(capsys.readouterr().out.split())
    for said in (
        "(1, 1e-6)-differential privacy in all, for one event",
        "Threshold A label is in a reading if ",
        "a label is in it with a chance of 95 % or more.",
        "of 100,000 events are ",
        "standard error at most ",
        "numbers for each label: ",
        "No input was read, and no state was made.",
    ):
        assert said in out
    assert main(texts(*asked, "--horizon", 10**6, "--expect-events", 10**5, "--json")) == 0
    shown = json.loads(capsys.readouterr().out)
    mechanism = dh.calibrate(ContinualMechanism, epsilon=1, delta="1e-6", horizon=10**6)
    assert shown["threshold"] == float(mechanism.threshold)
    assert shown["standard_error"] == mechanism.standard_error
    likely = shown["released_with_chance"]["0.95"]
    assert likely == pytest.approx(shown["threshold"] + 1.645 * shown["standard_error"], abs=1.01)
    assert shown["shares"]["0.95"] == likely / 10**5
    assert shown["guarantee"]["unit"] == "one event"
    assert list(Path().iterdir()) == []
    assert main(texts(*asked, "--horizon", 9, "--max-events-per-user", 1, "--readings", 2,
                      "--format", "csv", "--user", "who")) == 0  # fmt: skip
    out = capsys.readouterr().out
    said, run = out[: out.rindex("\n\n")], out[out.rindex("\n\n") :]
    assert "At most 1 event of a user counts over the whole stream" in " ".join(said.split())
    assert "for all readings together, at most 2, over the whole" in " ".join(said.split())
    # Nothing has happened yet but this run, which its last line is about.
    assert "No input was read" in run
    assert not re.search(r"\b(was|were|had)\b", said)
    assert main(texts(*asked[:4])) == 2
    assert "--horizon are needed for a dry run, such as" in capsys.readouterr().err


@pytest.mark.verify
def test_a_complete_line_counts_before_the_next_comes() -> None:
    with started(*BUDGET, "--every", 100, "--json") as child:
        feed(child, "a\n" * 99 + "a")
        feed(child, "\nb")
        when, counts = reading(child)
        assert when == 100
        assert near(counts, {"a": 100})
        for letter in "bbb\n":
            feed(child, letter)
            time.sleep(0.01)
        feed(child, "a\n" * 99)
        assert reading(child)[0] == 200
        child.stdin.close()
        assert child.wait(PATIENCE) == 0
        assert child.stdout.read() == ""
        assert child.stderr.read() == ""
    assert held() == 200


@pytest.mark.verify
def test_readings_on_a_clock_come_while_nothing_else_does() -> None:
    with started(*BUDGET, "--every-seconds", 0.3, "--json") as child:
        feed(child, "a\n" * 60)
        assert reading(child)[0] in (0, 60)  # before the first event, if starting took long
        feed(child, "a\n" * 60)
        times = [reading(child)[0]]
        while times[-1] < 120:
            times.append(reading(child)[0])
        feed(child, "b\n" * 60)
        assert reading(child)[0] == 180
        child.stdin.close()
        assert child.wait(PATIENCE) == 0
        assert child.stdout.read() == ""  # nothing new at the end


@pytest.mark.verify
@pytest.mark.usefixtures("hangups_heard")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_being_asked_to_stop_closes_and_writes(number, tmp_path, monkeypatch) -> None:
    """What was read from the input is counted, read and written.

    Unless the first reading is still being printed as the signal comes: that may be stopped
    anywhere, and nothing further is begun. Then it is tried again.
    """
    for attempt in range(8):
        (tmp_path / str(attempt)).mkdir()
        monkeypatch.chdir(tmp_path / str(attempt))
        with started(*BUDGET, "--every", 100, "--json", "--output", "r.json") as child:
            feed(child, "a\n" * 130)  # in one piece
            assert reading(child)[0] == 100
            child.send_signal(number)
            out, err = child.communicate(timeout=PATIENCE)
        count = held()
        assert child.returncode == 128 + number
        assert err == f"dphist: stopped; the state holds {count} events\n"
        assert [100, *(when for when, _ in readings(out))] == sorted({100, count})
        assert dh.Release.load("r.json").value.times.tolist() == sorted({100, count})
        if count != 100:
            break
    assert count == 130


@pytest.mark.verify
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_a_signal_that_is_ignored_from_the_start_keeps_it_running(number: int) -> None:
    """A hangup under nohup, and Ctrl-C in what a script starts with `&`."""

    def ignore() -> None:
        signal.signal(number, signal.SIG_IGN)

    with started(*BUDGET, "--every", 100, "--json", preexec_fn=ignore) as child:
        feed(child, "a\n" * 100)
        assert reading(child)[0] == 100
        child.send_signal(number)
        feed(child, "a\n" * 100)
        assert reading(child)[0] == 200


@pytest.mark.verify
def test_stopping_while_nobody_reads_what_is_printed() -> None:
    """The pipe is full, so that printing waits; being asked to stop does not."""
    Path("known.txt").write_text("".join(f"label {i}\n" for i in range(4000)))
    known = (*BUDGET, "--known-labels", "known.txt", "--every", 1, "--json")
    with started(*known, "--table", "t.csv") as child:
        feed(child, "label 1\n" * 20)
        wait_until_full(child.stdout)  # type: ignore[arg-type]
        child.send_signal(signal.SIGINT)
        assert child.wait(PATIENCE) == 130
        assert "stopped; the state holds" in child.stderr.read()
    count = held()
    assert 1 <= count <= 20
    rows = Path("t.csv").read_text().splitlines()
    assert rows[-1].startswith(f"{count},")


@pytest.mark.verify
def test_a_reader_that_leaves_is_no_error_of_ours() -> None:
    with started(*BUDGET, "--every", 10, "--json", "--output", "r.json") as child:
        feed(child, "a\n" * 40)
        assert reading(child)[0] == 10
        child.stdout.close()
        for _ in range(200):  # until a print meets the closed pipe
            if child.poll() is not None:
                break
            try:
                feed(child, "a\n" * 10)
            except BrokenPipeError:
                break
            time.sleep(0.05)
        assert child.wait(PATIENCE) == 1
        assert child.stderr.read() == ""
    count = held()
    assert dh.Release.load("r.json").value.times[-1] == count


@pytest.mark.verify
def test_a_full_disk_behind_standard_output_is_named(tmp_path) -> None:
    Path("in.txt").write_text("a\n" * 50)
    with Path("/dev/full").open("w") as full, Path("in.txt").open() as file:
        done = subprocess.run(
            [*STREAM, *texts("--state", "s.db", *BUDGET, "--json", "--output", "r.json")],
            stdin=file,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "dphist: could not print: No space left on device\n"
    assert dh.Release.load("r.json").value.times.tolist() == [50]
    assert held() == 50


@pytest.mark.verify
def test_a_closed_input_is_named() -> None:
    command = " ".join([*STREAM, *texts("--state", "s.db", *BUDGET, "--json", "<&-")])
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "dphist: standard input is closed; events are read from it\n"
    assert not Path("s.db").exists()


OPENS = """
import os, sys, dphist.cli
from dphist.__main__ import run

def main():
    found = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
    os.write(found, str(found).encode())
    return 0

dphist.cli.main = main
run()
"""


@pytest.mark.verify
@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-", "1>&- 2>&-"])
def test_no_file_takes_the_place_of_a_closed_descriptor(closed: str) -> None:
    """What is printed would be written into it."""
    command = f"{sys.executable} -c '{OPENS}' found.txt {closed}"
    subprocess.run(["bash", "-c", command], check=True)
    assert int(Path("found.txt").read_text()) > 2


WARNS = """
import os, dphist
from dphist.__main__ import run

real = dphist.ContinualHistogram.close

def close(stream):
    os.write(2, b"a warning " * 1000)
    real(stream)

dphist.ContinualHistogram.close = close
run()
"""


@pytest.mark.verify
def test_a_state_is_whole_though_standard_error_is_closed() -> None:
    """What a library warns of is no part of it."""
    words = texts("stream", "--state", "s.db", *BUDGET, "--json")
    command = " ".join([f"{sys.executable} -c '{WARNS}'", *words, "2>&-"])
    for events in (1, 2):
        done = subprocess.run(["bash", "-c", command], input=b"a\n", check=False)
        assert done.returncode == 0
        with dh.ContinualHistogram.open("s.db") as stream:
            assert stream.time == events


@pytest.mark.verify
def test_a_second_process_is_refused() -> None:
    with started(*BUDGET, "--every", 10, "--json") as child:
        feed(child, "a\n" * 10)
        assert reading(child)[0] == 10
        second = subprocess.run(
            [*STREAM, "--state", "s.db", "--json"],
            input="b\n" * 500,
            capture_output=True,
            text=True,
            check=False,
        )
        assert second.returncode == 1
        assert second.stdout == ""
        assert "s.db is in use" in second.stderr
        assert "Traceback" not in second.stderr
        feed(child, "a\n" * 10)
        assert reading(child)[0] == 20


def test_a_copied_state_is_refused_unless_it_is_said_to_be_moved(monkeypatch, capsys) -> None:
    assert run_stream(monkeypatch, "a\n" * 20, *BUDGET, "--json") == 0
    Path("copy.db").write_bytes(Path("s.db").read_bytes())
    assert run_stream(monkeypatch, "a\n", "--state", "copy.db", "--json") == 1
    assert "copy" in capsys.readouterr().err
    assert run_stream(monkeypatch, "a\n", "--state", "copy.db", "--moved", "--json") == 0
    assert readings(capsys.readouterr().out)[0][0] == 21


@pytest.mark.verify
def test_killed_at_any_moment_it_goes_on_from_where_it_was() -> None:
    """The same file is fed again and again; no event is lost or counted twice."""
    choose = random.Random(4)
    Path("in.txt").write_text("".join(f"w{i % 4}\n" for i in range(20_000)))
    printed: dict[int, dict[str, int]] = {}
    stops, last = [], 0
    budget = (*BUDGET[:4], "--horizon", 20_000)
    for kills in (*[True] * 8, False):
        with Path("in.txt").open() as file, started(
            *budget, "--every", 100, "--json", "--resume", stdin=file
        ) as child:  # fmt: skip
            whole = []
            if kills:
                whole = [child.stdout.readline() for _ in range(choose.randrange(1, 12))]
                time.sleep(choose.uniform(0, 0.01))
                child.kill()
            whole += child.stdout.readlines()
            code = child.wait(PATIENCE)
        for when, counts in readings("".join(row for row in whole if row.endswith("\n"))):
            assert printed.setdefault(when, counts) == counts
            last = max(last, when)
        stops.append(held())
        assert stops[-1] >= last  # what was printed had been recorded
    assert code == 0
    assert stops[-1] == 20_000
    assert len({stop for stop in stops if 0 < stop < 20_000}) >= 5  # or nothing was tried
    assert near(printed[20_000], {f"w{i}": 5000 for i in range(4)})
    assert run_once("--json", "--output", "r.json") == printed[20_000]
    value = dh.Release.load("r.json").value
    for when, counts in printed.items():
        table = value.at(when)
        assert dict(zip(table.labels, table.counts.tolist(), strict=True)) == counts


def run_once(*arguments: object) -> dict[str, int]:
    done = subprocess.run(
        [*STREAM, *with_state(arguments)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return readings(done.stdout)[0][1]
