"""Outputs that are there are not replaced unless that is asked for: a rerun would spend again."""

import json
import os
from pathlib import Path

import pytest

import dphist as dh
from dphist.labels import ThresholdHistogram, TopLabels
from tests.support.command_line import run

ANONYMIZE = ("anonymize", "data.csv", "--each-row-is-one-person", "--label", "word", "--epsilon", 1)
RANGES = (
    "ranges",
    "data.csv",
    "--each-row-is-one-person",
    "--column",
    "age",
    "--edges",
    "0,50,100",
    "--epsilon",
    1,
)
LABELS = (
    "labels",
    "data.csv",
    "--each-row-is-one-person",
    "--label",
    "word",
    "--epsilon",
    1,
    "--delta",
    "1e-6",
)
TOP = (
    "top",
    "data.csv",
    "--each-row-is-one-person",
    "--label",
    "word",
    "--epsilon",
    1,
    "--delta",
    "1e-6",
)
COMMANDS = {"anonymize": ANONYMIZE, "ranges": RANGES, "labels": LABELS, "top": TOP}
OUTPUTS = {"--output": "r.json", "--table": "t.csv", "--report": "r.html"}
ALL = tuple(text for pair in OUTPUTS.items() for text in pair)
STREAM = ("stream", "--state", "s.db")
NEW = (*STREAM, "--epsilon", 20, "--delta", "1e-6", "--horizon", 5000)


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def data() -> None:
    Path("data.csv").write_text("word,age\n" + "a,10\nb,60\n" * 100)


@pytest.fixture
def unread() -> None:
    """Data that nobody opens: who does so waits."""
    os.mkfifo("data.csv")


def fed(monkeypatch, content: str, *arguments: object) -> int:
    Path("input.tmp").write_text(content)
    with Path("input.tmp").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        return run(*arguments)


@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize("option", OUTPUTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_an_output_that_is_there_is_refused_before_data_are_read(command, option, capsys) -> None:
    Path(OUTPUTS[option]).write_text("before")
    assert run(*COMMANDS[command], *ALL) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        f"dphist: {OUTPUTS[option]} exists; name another output, or replace it with --overwrite\n"
    )
    assert Path(OUTPUTS[option]).read_text() == "before"
    assert sorted(map(str, Path().iterdir())) == sorted(["data.csv", OUTPUTS[option]])


@pytest.mark.long(every=2)
@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("command", COMMANDS)
def test_it_is_replaced_where_that_is_asked_for(command) -> None:
    for path in OUTPUTS.values():
        Path(path).write_text("before")
    assert run(*COMMANDS[command], *ALL, "--overwrite", "--quiet") == 0
    assert all(Path(path).read_text() != "before" for path in OUTPUTS.values())
    assert run(*COMMANDS[command], *ALL, "--quiet") == 2
    assert run(*COMMANDS[command], *ALL, "--quiet", "--overwrite") == 0


@pytest.mark.long(every=2)
@pytest.mark.quick("---table]", every=4)
@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("option", OUTPUTS)
@pytest.mark.parametrize(
    ("command", "mechanism"),
    [
        ("anonymize", dh.AdaptiveScan),
        ("ranges", dh.AdaptiveTree),
        ("labels", ThresholdHistogram),
        ("top", TopLabels),
    ],
)
def test_a_file_that_appears_meanwhile_is_left_alone(
    command, mechanism, option, monkeypatch, capsys
) -> None:
    real = mechanism.release

    def release(*arguments: object) -> dh.Release:
        Path(OUTPUTS[option]).write_text("of somebody else")
        return real(*arguments)

    monkeypatch.setattr(mechanism, "release", release)
    assert run(*COMMANDS[command], *ALL) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "was created meanwhile by another program; nothing was written" in captured.err
    assert Path(OUTPUTS[option]).read_text() == "of somebody else"
    assert sorted(map(str, Path().iterdir())) == sorted(["data.csv", OUTPUTS[option]])


@pytest.mark.usefixtures("data")
def test_links_are_followed(capsys) -> None:
    Path("r.json").symlink_to("target.json")
    assert run(*ANONYMIZE, "--output", "r.json", "--quiet") == 0
    assert Path("r.json").is_symlink()
    assert run(*ANONYMIZE, "--output", "r.json", "--quiet") == 2
    assert "r.json exists" in capsys.readouterr().err


@pytest.mark.usefixtures("data")
def test_show_replaces_nothing_either(capsys) -> None:
    assert run(*LABELS, "--quiet", "--output", "r.json") == 0
    Path("t.csv").write_text("before")
    assert run("show", "r.json", "--table", "t.csv") == 2
    assert Path("t.csv").read_text() == "before"
    assert run("show", "r.json", "--table", "t.csv", "--overwrite") == 0
    assert Path("t.csv").read_text().startswith("label,count,low,high\n")


@pytest.mark.quick("[ranges]", "stream")
@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize("command", [*COMMANDS, "stream"])
def test_a_dry_run_says_so(command, capsys) -> None:
    dry = ((*NEW,) if command == "stream" else COMMANDS[command]) + (*ALL, "--dry-run")
    assert run(*dry) == 0
    assert "would be refused" not in capsys.readouterr().out
    assert run(*dry, "--json") == 0
    assert json.loads(capsys.readouterr().out)["refused_outputs"] == []
    for path in ("r.json", "t.csv"):
        Path(path).write_text("before")
    assert run(*dry) == 0
    assert (
        "It would be refused: r.json, t.csv exist; name another output, or replace them with "
        "--overwrite."
    ) in " ".join(capsys.readouterr().out.split())
    assert run(*dry, "--json") == 0
    assert json.loads(capsys.readouterr().out)["refused_outputs"] == ["r.json", "t.csv"]
    assert run(*dry, "--overwrite", "--json") == 0
    assert json.loads(capsys.readouterr().out)["refused_outputs"] == []


@pytest.mark.verify
def test_a_stream_replaces_its_own_outputs(monkeypatch, capsys) -> None:
    """What it wrote before is in what it writes now, and costs nothing more."""
    assert fed(monkeypatch, "a\n" * 300, *NEW, *ALL, "--every", 100, "--quiet") == 0
    for runs in (1, 2, 3):
        assert fed(monkeypatch, "b\n" * 300, *STREAM, *ALL, "--every", 100, "--quiet") == 0
        assert len(dh.Release.load("r.json").value) == 3 * (runs + 1)
    Path("t.csv").unlink()
    assert fed(monkeypatch, "", *STREAM, "--report", "r.html", "--quiet") == 2
    assert "r.html exists; name another" in capsys.readouterr().err
    assert fed(monkeypatch, "", *STREAM, *ALL, "--quiet") == 0
    assert run(*STREAM, *ALL, "--dry-run", *NEW[3:]) == 0
    assert "would be refused" not in capsys.readouterr().out


@pytest.mark.verify
def test_a_new_stream_replaces_nothing(monkeypatch, capsys) -> None:
    """Of a stream whose state was removed, say: it would spend again."""
    assert fed(monkeypatch, "a\n" * 300, *NEW, *ALL, "--quiet") == 0
    before = {path: Path(path).read_text() for path in OUTPUTS.values()}
    Path("s.db").unlink()
    assert fed(monkeypatch, "a\n" * 300, *NEW, *ALL, "--quiet") == 2
    assert "r.json, t.csv, r.html exist; name another output" in capsys.readouterr().err
    assert {path: Path(path).read_text() for path in OUTPUTS.values()} == before
    assert not Path("s.db").exists()
    assert fed(monkeypatch, "a\n" * 300, *NEW, *ALL, "--quiet", "--overwrite") == 0


@pytest.mark.long(every=2)
@pytest.mark.quick("[---table]", "[another stream---table]")
@pytest.mark.parametrize("option", OUTPUTS)
@pytest.mark.parametrize("strange", ["", "no output of dphist\n", "another stream", "\udcff"])
def test_a_stream_replaces_nothing_of_anybody_else(option, strange, monkeypatch, capsys) -> None:
    path = OUTPUTS[option]
    if strange == "another stream":
        other = ("stream", "--state", "other.db", *NEW[3:], option, path)
        assert fed(monkeypatch, "a\n" * 400, *other, "--quiet", "--every", 100) == 0
    else:
        Path(path).write_bytes(strange.encode(errors="surrogateescape"))
    before = Path(path).read_bytes()
    assert fed(monkeypatch, "a\n" * 300, *NEW, "--every", 100, "--json") == 0
    assert fed(monkeypatch, "a\n", *STREAM, *ALL, "--json") == 2
    err = capsys.readouterr().err
    assert f"{path} exists; name another output, or replace it with --overwrite" in err
    assert "not known to be of this stream" in err
    assert Path(path).read_bytes() == before
    with dh.ContinualHistogram.open("s.db") as stream:
        assert stream.time == 300
    assert fed(monkeypatch, "a\n", *STREAM, *ALL, "--overwrite", "--quiet") == 0
    assert Path(path).read_bytes() != before


def test_a_release_saved_in_python_replaces_a_file() -> None:
    """Saving spends nothing, and is done over again in notebooks."""
    release = dh.AdaptiveScan(epsilon=1).release(dh.Profile.from_counts([3, 4]))
    for _ in range(2):
        release.save("r.json")
    assert dh.Release.load("r.json") == release


QUIET = ("--every", 100, "--quiet")


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.quick(every=2)
def test_a_stream_does_not_replace_a_release_without_labels_of_another(
    times, monkeypatch, capsys
) -> None:
    """A table of it is a header, with which every other one begins."""
    few = (*NEW[3:-1], 5000, "--quiet")
    other = ("stream", "--state", "other.db", *few)
    assert fed(monkeypatch, "rare\n" * times, *other, "--output", "r.json") == 0
    before = Path("r.json").read_text()
    assert dh.Release.load("r.json").value.labels == []
    assert fed(monkeypatch, "a\n" * 300, "stream", "--state", "s.db", *few, "--table", "t.csv") == 0
    assert fed(monkeypatch, "a\n", *STREAM, "--output", "r.json", "--quiet") == 2
    assert "not known to be of this stream" in capsys.readouterr().err
    assert Path("r.json").read_text() == before


@pytest.mark.parametrize("left", ["first letter", "half a line", "half a number", "header"])
def test_a_stream_replaces_no_part_of_its_table(left, monkeypatch, capsys) -> None:
    assert fed(monkeypatch, "a\n" * 300, *NEW, *QUIET, "--table", "t.csv") == 0
    whole = Path("t.csv").read_text()
    header = whole.index("\n") + 1
    assert len(whole) > header + 8
    cuts = {"first letter": 1, "half a line": header + 3, "half a number": len(whole) - 2}
    part = whole[: cuts.get(left, header)]
    Path("t.csv").write_text(part)
    assert fed(monkeypatch, "a\n", *STREAM, "--table", "t.csv", "--quiet") == 2
    assert "not known to be of this stream" in capsys.readouterr().err
    assert Path("t.csv").read_text() == part
    Path("t.csv").write_text(whole)
    assert fed(monkeypatch, "a\n", *STREAM, "--table", "t.csv", "--quiet") == 0


def test_a_stream_goes_on_from_outputs_without_labels(monkeypatch) -> None:
    assert fed(monkeypatch, "rare\n", *NEW, *ALL, "--quiet") == 0
    assert Path("t.csv").read_text() == "time,label,count,low,high\n"
    assert fed(monkeypatch, "rare\n", *STREAM, *ALL, "--quiet") == 0
    assert len(dh.Release.load("r.json").value) == 2


@pytest.mark.verify
def test_what_may_be_replaced_is_decided_again_at_the_end(monkeypatch, capsys) -> None:
    """Between the first event and the last one somebody else may write to the same place."""
    assert fed(monkeypatch, "a\n" * 300, *NEW, *ALL, *QUIET) == 0
    other = ("stream", "--state", "other.db", *NEW[3:], "--output", "o.json", *QUIET)
    assert fed(monkeypatch, "a\n" * 400, *other) == 0  # noise alone can coincide
    strange = Path("o.json").read_text()
    real = dh.ContinualHistogram.record

    def record(stream: dh.ContinualHistogram) -> dict[str, int]:
        Path("r.json").write_text(strange)
        return real(stream)

    monkeypatch.setattr(dh.ContinualHistogram, "record", record)
    table = Path("t.csv").read_text()
    assert fed(monkeypatch, "a\n", *STREAM, *ALL, "--quiet") == 1
    assert "r.json changed meanwhile, and is not known" in capsys.readouterr().err
    assert Path("r.json").read_text() == strange
    assert Path("t.csv").read_text() == table
