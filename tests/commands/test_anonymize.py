"""The command line as a user types it."""

import gzip
import json
import os
import pty
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dphist as dh
from tests.support.command_line import run
from tests.support.histograms import histogram_of
from tests.support.refusal import SENTINEL

ROOT = Path(__file__).parents[2]
SHAKESPEARE = ROOT / "data" / "words_shakespeare.csv"
PATIENCE = 600  # seconds: other processes may have the machine busy


@pytest.fixture
def records(tmp_path) -> Path:
    path = tmp_path / "records.csv"
    path.write_text("who,password\n" + "".join(f"{i},p{i % 7}\n" for i in range(100)))
    return path


def test_summary_when_no_output_is_named(capsys) -> None:
    assert run("anonymize", SHAKESPEARE, "--epsilon", "1") == 0
    out = capsys.readouterr().out
    assert "one record" in out
    assert "times as likely" in out
    assert "error" in out
    assert "labels" in out.lower()


def test_rows_without_a_user(tmp_path, capsys) -> None:
    path, out = tmp_path / "rows.csv", tmp_path / "out.json"
    path.write_text("who,word\na,x\na,x\na,y\n,x\n,z\n")
    command = ["anonymize", path, "--label", "word", "--user", "who", "--epsilon", 1]
    assert run(*command, "--max-records", 2) == 1
    assert "--null-users drop, or with --null-users separate" in capsys.readouterr().err
    separate = [*command, "--max-records", 2, "--null-users", "separate"]
    assert run(*separate, "--dry-run", "--json") == 0
    planned = json.loads(capsys.readouterr().out)
    assert run(*separate, "--output", out) == 0
    release = dh.Release.load(out)
    assert release.provenance["null_users"] == "separate"
    assert planned["guarantee"]["unit"] == "one user, or one row without a user"
    capsys.readouterr()
    for more in (["--null-users", "separate"], ["--max-records", 2, "--null-users", "keep"]):
        assert run(*command, *more) == 2
        assert "--null-users" in capsys.readouterr().err
    assert run("anonymize", path, "--label", "word", "--each-row-is-one-person",
               "--epsilon", 1, "--null-users", "drop") == 2  # fmt: skip
    assert "needs --user" in capsys.readouterr().err


@pytest.mark.verify
def test_all_outputs(tmp_path, capsys) -> None:
    paths = {kind: tmp_path / f"out.{kind}" for kind in ("json", "csv", "html")}
    code = run(
        "anonymize", SHAKESPEARE, "--epsilon", "1/2",
        "--output", paths["json"], "--table", paths["csv"], "--report", paths["html"],
    )  # fmt: skip
    assert code == 0
    release = dh.Release.load(paths["json"])
    assert release.guarantee == dh.PureDP("1/2")
    assert dh.Profile.read(paths["csv"]).distance(release.value) == 0
    assert paths["html"].read_text().lstrip().lower().startswith("<!doctype html>")
    out = capsys.readouterr().out
    assert all(str(path) in out for path in paths.values())


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
def test_raw_records_of_each_kind(suffix, records, tmp_path) -> None:
    path = tmp_path / f"data.{suffix}"
    if suffix == "csv.gz":
        path.write_bytes(gzip.compress(records.read_bytes()))
    elif suffix == "parquet":
        pq.write_table(pa.table({"password": [f"p{i % 7}" for i in range(100)]}), path)
    else:
        path = records
    out = tmp_path / "r.json"
    assert (
        run(
            "anonymize",
            path,
            "--each-row-is-one-person",
            "--label",
            "password",
            "--epsilon",
            45,
            "--output",
            out,
        )
        == 0
    )
    expected = histogram_of([15, 15, 14, 14, 14, 14, 14])
    assert dh.Release.load(out).value == expected


def test_label_counts(tmp_path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("word,n\na,5\nb,2\na,1\nc,0\n")
    out = tmp_path / "r.json"
    code = run(
        "anonymize", path, "--label", "word", "--count", "n", "--epsilon", 45, "--output", out
    )
    assert code == 0
    assert dh.Release.load(out).value == histogram_of([6, 2])


def test_sensitivity_reaches_the_mechanism(tmp_path) -> None:
    out = tmp_path / "r.json"
    assert run("anonymize", SHAKESPEARE, "--epsilon", 1, "--sensitivity", 3, "--output", out) == 0
    assert dh.Release.load(out).mechanism.sensitivity == 3


def test_a_file_without_rows_is_released(tmp_path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("count,prevalence\n")
    assert run("anonymize", path, "--epsilon", 1, "--quiet", "--table", tmp_path / "t.csv") == 0
    assert (tmp_path / "t.csv").read_text().startswith("count,prevalence,low,high\n")


@pytest.mark.verify
def test_dry_run_reads_no_data(capsys, tmp_path) -> None:
    """A named pipe would hang if anybody opened it."""
    pipe = tmp_path / "data.csv"
    os.mkfifo(pipe)
    for file in (pipe, tmp_path / "no-such-file.csv"):
        code = run("anonymize", file, "--epsilon", "0.1", "--dry-run", "--expect-total", 10**6)
        assert code == 0
        out = capsys.readouterr().out
        assert "0.1-differential privacy" in out
        assert "1,000,000 records" in out
        assert "not opened" in out
    assert run("anonymize", pipe, "--epsilon", "0.1", "--dry-run", "--json") == 0
    errors = json.loads(capsys.readouterr().out)["expected_error"]
    assert errors["10000"] < errors["1000000"] < errors["100000000"]
    flat = ("--dry-run", "--json", "--expect-shape", "0.5")
    assert run("anonymize", pipe, "--epsilon", "0.1", *flat) == 0
    assert json.loads(capsys.readouterr().out)["expected_error"]["1000000"] < errors["1000000"]


def test_json_is_the_release_or_what_was_written(capsys, tmp_path) -> None:
    assert run("anonymize", SHAKESPEARE, "--epsilon", 1, "--json") == 0
    assert dh.Release.from_json(capsys.readouterr().out).guarantee == dh.PureDP(1)
    out = tmp_path / "r.json"
    assert run("anonymize", SHAKESPEARE, "--epsilon", 1, "--json", "--output", out) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["wrote"] == {"release": str(out)}
    assert printed["guarantee"] == {
        "name": "PureDP",
        "epsilon": "1",
        "sensitivity": 1,
        "unit": "one record",
    }


def test_quiet_prints_nothing(capsys, tmp_path) -> None:
    table = tmp_path / "t.csv"
    assert run("anonymize", SHAKESPEARE, "--epsilon", 1, "--quiet", "--table", table) == 0
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""
    assert run("anonymize", SHAKESPEARE, "--epsilon", 1, "--quiet") == 2


@pytest.mark.verify
def test_show_summarises_and_writes_again(capsys, tmp_path) -> None:
    saved, page = tmp_path / "r.json", tmp_path / "r.html"
    assert run("anonymize", SHAKESPEARE, "--epsilon", 1, "--quiet", "--output", saved) == 0
    assert run("show", saved, "--report", page) == 0
    assert "one record" in capsys.readouterr().out
    assert page.exists()
    before = saved.read_text()
    assert run("show", saved, "--json") == 0
    assert capsys.readouterr().out == before


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf", "-inf", "abc", "", "1e999999999"])
def test_absurd_epsilon_is_bad_use(epsilon, capsys) -> None:
    assert run("anonymize", SHAKESPEARE, f"--epsilon={epsilon}") == 2
    assert "epsilon" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["frobnicate"],
        ["anonymize"],
        ["anonymize", SHAKESPEARE],
        ["anonymize", SHAKESPEARE, "--epsilon", 1, "--sensitivity", 0],
        ["anonymize", SHAKESPEARE, "--epsilon", 1, "--sensitivity", "1.5"],
        ["anonymize", SHAKESPEARE, "--epsilon", 1, "--count", "n"],
        ["anonymize", SHAKESPEARE, "--epsilon", 1, "--quiet", "--json"],
        ["anonymize", SHAKESPEARE, "--epsilon", 1, "--eps", 1],
        ["anonymize", SHAKESPEARE, "--epsilon", 1, "--dry-run", "--expect-total", -5],
        ["anonymize", SHAKESPEARE, "--epsilon", 1, "--expect-total", 5],
        ["anonymize", SHAKESPEARE, "--epsilon", 1, "--expect-shape", 0.5],
        ["anonymize", SHAKESPEARE, "--epsilon", 1, "--dry-run", "--expect-shape", "steep"],
        ["anonymize", SHAKESPEARE, "--epsilon", "1e400"],
        ["anonymize", SHAKESPEARE, "--epsilon", 1, "--each-row-is-one-person", "--label", "word"],
        ["anonymize", SHAKESPEARE, "--epsilon", 1, "--output", "no/such/folder/r.json"],
        ["anonymize", SHAKESPEARE, "--epsilon", 1, "--output", SHAKESPEARE],
        ["anonymize", SHAKESPEARE, "--epsilon", 1, "--output", "x", "--table", "x"],
        ["anonymize", SHAKESPEARE, "--epsilon", 1, "--output", "/dev/null"],
        ["anonymize", "no-such-file.csv", "--epsilon", 1],
        ["show", "no-such-file.json"],
    ],
)
def test_bad_use_exits_2_with_a_reason(arguments, capsys) -> None:
    assert run(*arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("dphist: ")
    assert "Traceback" not in captured.err


def test_without_a_command_the_commands_are_listed(capsys) -> None:
    assert run() == 2
    captured = capsys.readouterr()
    assert "anonymize" in captured.out
    assert "ledger" in captured.out


def test_a_missing_column_of_parquet_names_the_ones_there_are(capsys, tmp_path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"count": [1], "prevalence": [1]}), path)
    assert (
        run("anonymize", path, "--epsilon", 1, "--each-row-is-one-person", "--label", "wrod") == 2
    )
    err = capsys.readouterr().err
    assert "wrod" in err
    assert "count" in err
    assert "prevalence" in err


def test_a_missing_column_of_text_shows_no_field(capsys) -> None:
    """The first line of a file without a header is a record."""
    assert (
        run("anonymize", SHAKESPEARE, "--epsilon", 1, "--each-row-is-one-person", "--label", "wrod")
        == 2
    )
    err = capsys.readouterr().err
    assert "'wrod'; it has 2 fields, separated by commas" in err
    assert "give --delimiter" in err
    assert "prevalence" not in err


@pytest.mark.verify
def test_a_delimiter_may_be_named(capsys, tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("who;word\n1;a\n2;a\n2;b\n")
    asked = ("anonymize", path, "--epsilon", 1000, "--each-row-is-one-person", "--label", "word")
    assert run(*asked) == 2
    assert "it has this column with semicolons: give --delimiter ';'" in capsys.readouterr().err
    assert run(*asked, "--delimiter", ";", "--table", tmp_path / "o.csv") == 0
    assert (tmp_path / "o.csv").read_text() == "count,prevalence,low,high\n1,1,1,1\n2,1,1,1\n"
    path.write_text("who\tword\n1\ta\n2\ta\n2\tb\n")
    capsys.readouterr()
    assert run(*asked) == 2
    assert "give --delimiter tab" in capsys.readouterr().err
    assert run(*asked, "--delimiter", "tab", "--table", tmp_path / "p.csv") == 0
    assert (tmp_path / "p.csv").read_bytes() == (tmp_path / "o.csv").read_bytes()


@pytest.mark.verify
@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("bad.csv", f"count,prevalence\n-1,2\n{SENTINEL},1\n", []),
        ("bad.csv", "count,prevalence\n1.5,918273645\n", []),
        ("bad.csv", "count,prevalence\n918273645,\n", []),
        ("bad.csv", "count,prevalence\n99999999999999999999,918273645\n", []),
        ("bad.csv", f"label,n\n{SENTINEL},-918273645\n", ["--label", "label", "--count", "n"]),
        (
            "bad.csv",
            f"label\n{SENTINEL}\n{SENTINEL},x,y\n",
            ["--each-row-is-one-person", "--label", "label"],
        ),
        ("bad.parquet", f"label\n{SENTINEL}\n", ["--each-row-is-one-person", "--label", "label"]),
        ("bad.csv.gz", f"label\n{SENTINEL}\n", ["--each-row-is-one-person", "--label", "label"]),
        ("bad.json", "{}", []),
    ],
)
def test_bad_data_exit_1_and_show_nothing(name, content, options, capsys, tmp_path) -> None:
    path = tmp_path / name
    path.write_text(content)
    out = tmp_path / "r.json"
    assert run("anonymize", path, "--epsilon", 1, "--output", out, *options) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("dphist: ")
    for secret in (SENTINEL, "918273645", "Traceback"):
        assert secret not in captured.err
    assert sorted(p.name for p in tmp_path.iterdir()) == [name]


def test_an_edited_release_exits_1(capsys, tmp_path) -> None:
    saved = tmp_path / "r.json"
    assert run("anonymize", SHAKESPEARE, "--epsilon", 1, "--quiet", "--output", saved) == 0
    saved.write_text(saved.read_text().replace('"epsilon": "1"', '"epsilon": "0.5"'))
    assert run("show", saved) == 1
    assert "changed after it was written" in capsys.readouterr().err


def test_an_unforeseen_error_shows_its_type_only(capsys, monkeypatch) -> None:
    def explode(*_: object, **__: object) -> None:
        raise RuntimeError(SENTINEL)

    monkeypatch.setattr(dh.Profile, "read", explode)
    assert run("anonymize", SHAKESPEARE, "--epsilon", 1) == 1
    err = capsys.readouterr().err
    assert "RuntimeError" in err
    assert SENTINEL not in err


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt, 130), (MemoryError, 1)])
def test_interruptions_leave_nothing(error, code, capsys, monkeypatch, tmp_path) -> None:
    def stop(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(dh.AdaptiveScan, "release", stop)
    assert run("anonymize", SHAKESPEARE, "--epsilon", 1, "--output", tmp_path / "r.json") == code
    assert "nothing was written" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def installed() -> list[str]:
    return [sys.executable, "-m", "dphist"]


def test_installed_command_prints_its_version() -> None:
    command = Path(sys.executable).parent / "dphist"
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"dphist {version('dphist')}"


@pytest.mark.long(every=2)
@pytest.mark.verify
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("asked", ["--version", "--help", "anonymize --help"])
def test_what_could_not_be_printed_is_no_success(asked: str, unbuffered: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*installed(), *asked.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert done.returncode == 1
    assert done.stderr == "dphist: could not print: No space left on device\n"


@pytest.mark.verify
def test_a_reader_that_goes_away_gets_no_traceback() -> None:
    command = f"{sys.executable} -m dphist anonymize {SHAKESPEARE} --epsilon 1 --json | head -c 5"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr


@pytest.mark.verify
def test_nothing_of_progress_reaches_a_pipe(records) -> None:
    arguments = [
        "anonymize",
        str(records),
        "--each-row-is-one-person",
        "--label",
        "password",
        "--epsilon",
        "1",
    ]
    done = subprocess.run([*installed(), *arguments], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "\x1b" not in done.stdout


@pytest.mark.verify
def test_progress_is_shown_to_a_person(records) -> None:
    """On a pseudo-terminal the bar appears on standard error."""
    leader, follower = pty.openpty()
    arguments = [
        "anonymize",
        str(records),
        "--each-row-is-one-person",
        "--label",
        "password",
        "--epsilon",
        "1",
    ]
    child = subprocess.Popen(
        [*installed(), *arguments],
        stdout=subprocess.DEVNULL,
        stderr=follower,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 1000)
        except OSError:  # the terminal closes with the program
            break
        if not part:
            break
        shown += part
    os.close(leader)
    assert child.wait() == 0
    assert b"reading" in shown


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    """Ten million distinct labels: seconds of work for the query."""
    path = tmp_path_factory.mktemp("large") / "large.parquet"
    rows = duckdb.sql("SELECT md5(i::VARCHAR) AS label FROM range(10000000) t(i)")
    rows.write_parquet(str(path))
    return path


@pytest.mark.verify
@pytest.mark.usefixtures("hangups_heard")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_query_and_leaves_nothing(number, large, tmp_path) -> None:
    out, temporary = tmp_path / "out", tmp_path / "temporary"
    out.mkdir(), temporary.mkdir()
    command = [
        *installed(),
        "anonymize",
        large,
        "--each-row-is-one-person",
        "--label",
        "label",
        "--epsilon",
        "1",
    ]
    child = subprocess.Popen(
        [*command, "--output", out / "r.json"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    deadline = time.monotonic() + PATIENCE
    # Until the query is about to begin: Python tries out the folder with a file of its own before.
    while not list(temporary.glob("dphist-*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    child.send_signal(number)
    _, err = child.communicate(timeout=PATIENCE)
    assert child.returncode == 128 + number
    assert err == "dphist: interrupted; nothing was written\n"
    assert list(out.iterdir()) == list(temporary.iterdir()) == []


@pytest.mark.verify
def test_a_full_disk_behind_standard_output_is_named() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*installed(), "anonymize", SHAKESPEARE, "--epsilon", "1"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "dphist: could not print: No space left on device\n"


@pytest.mark.verify
@pytest.mark.parametrize("json_too", [[], ["--json"]])
def test_what_was_written_is_said_even_if_printing_fails(json_too, tmp_path) -> None:
    out = tmp_path / "r.json"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*installed(), "anonymize", SHAKESPEARE, "--epsilon", "1", "--output", out, *json_too],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == f"dphist: {out} written, but not all was printed\n"
    assert dh.Release.load(out).guarantee == dh.PureDP(1)


@pytest.mark.verify
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_terminal_can_show_what_is_printed(encoding, tmp_path) -> None:
    done = subprocess.run(
        [
            *installed(),
            "anonymize",
            SHAKESPEARE,
            "--epsilon",
            "1",
            "--output",
            tmp_path / "ü☃.json",
        ],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        check=True,
    )
    assert done.stderr == b""


def test_a_command_that_draws_nothing_does_not_load_matplotlib() -> None:
    code = "import sys, dphist.cli; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_it_runs_as_a_module() -> None:
    subprocess.run([sys.executable, "-m", "dphist", "--version"], check=True)


def test_writing_over_the_input_is_called_that(capsys, records) -> None:
    assert (
        run(
            "anonymize",
            records,
            "--each-row-is-one-person",
            "--label",
            "password",
            "--epsilon",
            1,
            "--table",
            records,
        )
        == 2
    )
    assert "is an input; writing there would destroy it" in capsys.readouterr().err
