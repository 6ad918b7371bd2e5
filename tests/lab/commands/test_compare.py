"""dphist compare: data of each kind, own mechanisms, what is written, exit codes."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dphist.cli import main

MODULE = """\
from dataclasses import dataclass

import dphist as dh


@dataclass(frozen=True)
class Mine:
    epsilon: float
    shift: int = 0
    guarantee = dh.PureDP(1)

    def release(self, data):
        return dh.AnonymizedHistogram(data.counts + self.shift, data.prevalences)


@dataclass(frozen=True)
class Needs:
    epsilon: float
    depth: int

    def release(self, data):
        return data


def made(epsilon):
    return dh.RankSplit(epsilon=epsilon)


three = 3
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("mine.py").write_text(MODULE)
    Path("mine.csv").write_text("count,prevalence\n1,30\n2,10\n7,3\n40,1\n")
    Path("bins.csv").write_text("count\n5\n0\n0\n900\n30\n30\n2\n0\n")
    yield
    sys.modules.pop("mine", None)


EVENTS = ["compare", "--events", "mine.csv", "--label", "a", "--delta", "1e-6"]
PROFILE = ["compare", "--profile", "mine.csv", "--seconds", "20"]


@pytest.mark.verify
def test_the_command_of_the_issue(capsys) -> None:
    words = ["--mechanism", "mine:Mine", "--epsilon", "1", ".1", "--target", "0.5"]
    assert main([*PROFILE, *words, "--output", "out.csv"]) == 0
    out = capsys.readouterr().out
    assert "Mine" in out
    assert "PartitionSampler" in out
    assert "without privacy: do not publish it if the data are secret" in " ".join(out.split())
    assert "wrote out.csv" in out
    assert "AdaptiveScan" in Path("out.csv").read_text()


def test_only_what_is_named_with_parameters(capsys) -> None:
    words = ["--mechanism", "mine:Mine", "--mechanism", "mine:made", "--set", "shift=2", "--only"]
    assert main([*PROFILE, *words, "--epsilon", "1", "--json", "--target", "0.5"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["private"] is False
    errors = {row["mechanism"]: row["error"] for row in found["rows"]}
    assert set(errors) == {"Mine", "made"}
    assert errors["Mine"] == 2 * 44


@pytest.mark.verify
def test_pictures_and_pages(capsys) -> None:
    words = ["--mechanism", "RankSplit", "--only", "--quiet", "--epsilon", "1", "--target", "0.5"]
    assert main([*PROFILE, *words, "--plot", "out.png", "--report", "out.html"]) == 0
    assert capsys.readouterr().out == ""
    assert Path("out.png").read_bytes().startswith(b"\x89PNG")
    assert "Not private" in Path("out.html").read_text()
    Path("out.svg").write_text("earlier")
    assert main([*PROFILE, *words, "--plot", "out.svg"]) == 2
    assert "out.svg exists" in capsys.readouterr().err
    assert main([*PROFILE, *words, "--plot", "out.svg", "--overwrite"]) == 0
    assert "<svg" in Path("out.svg").read_text()


def test_bins_of_a_line_and_of_a_grid(capsys) -> None:
    words = ["--mechanism", "LeafCounts", "--only", "--epsilon", "1", "--json", "--target", "0.5"]
    assert main(["compare", "--bins", "bins.csv", *words]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["bins"] == "8"
    with gzip.open("grid.csv.gz", "wt") as file:
        file.write("row,col,count\n0,0,5\n3,2,7\n3,2,1\n")
    assert main(["compare", "--bins", "grid.csv.gz", *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["data"] == {"records": "13", "bins": "4 x 3", "sensitivity": "1"}


def test_labels_of_users(capsys) -> None:
    rows = [f"{who},{'tea' if turn else 'milk'}" for who in range(200) for turn in range(2)]
    Path("rows.csv").write_text("who,what\n" + "\n".join(rows) + "\n")
    words = ["compare", "--labels", "rows.csv", "--label", "what", "--user", "who"]
    words += ["--max-labels", "1", "--epsilon", "4", "--target", "0.5", "--json"]
    assert main([*words]) == 2
    assert "--labels needs --delta: the total delta, such as 1e-6" in capsys.readouterr().err
    assert main([*words, "--delta", "1e-6"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["data"]["max_labels"] == "1"
    assert found["data"]["records"] == "200"
    assert not found["left_out"]


@pytest.mark.verify
def test_events_in_their_order(capsys) -> None:
    labels = ["tea", None, "milk", "tea"] * 100
    pq.write_table(pa.table({"what": labels}), "events.parquet")
    words = ["--label", "what", "--epsilon", "4", "--delta", "1e-6", "--target", "1", "--json"]
    assert main(["compare", "--events", "events.parquet", *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["data"]["events"] == "400"
    Path("events.csv").write_text("what\n" + "\n".join(x or '""' for x in labels) + "\n")
    assert main(["compare", "--events", "events.csv", *words]) == 0
    assert json.loads(capsys.readouterr().out)["data"] == found["data"]
    pq.write_table(pa.table({"what": [["tea"], ["milk"]]}), "lists.parquet")
    assert main(["compare", "--events", "lists.parquet", *words]) == 2
    assert "column 'what' must hold a text in each row" in capsys.readouterr().err


@pytest.mark.quick(every=3)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["compare"],
            "--profile --bins --labels --rows --by-group --events --by-region is required",
        ),
        (["compare", "--profile", "mine.csv", "--bins", "bins.csv"], "not allowed with"),
        (["compare", "--profile", "mine.csv", "--labels", "rows.csv"], "not allowed with"),
        (["compare", "--profile", "nowhere.csv"], "nowhere.csv does not exist"),
        (["compare", "--labels", "mine.csv", "--delta", "1e-6"], "--labels needs --label"),
        (["compare", "--events", "mine.csv", "--label", "a", "--delta", "1e-6"], "column 'a'"),
        (["compare", "--bins", "mine.csv", "--output", "mine.csv"], "would destroy it"),
        ([*PROFILE, "--max-labels", "1"], "--max-labels does not go with --profile"),
        (["compare", "--bins", "mine.csv", "--user", "who"], "--user does not go with --bins"),
        ([*EVENTS, "--user", "who"], "--user does not go with --events"),
        ([*PROFILE, "--only"], "--only needs --mechanism"),
        ([*PROFILE, "--epsilon", "0"], "--epsilon must be greater than 0"),
        ([*PROFILE[:-2], "--seconds", "0"], "--seconds must be a number above 0"),
        ([*PROFILE, "--target", "-1"], "--target must be"),
        ([*PROFILE, "--mechanism", "Nobody"], "--mechanism must be one of AdaptiveScan"),
        ([*PROFILE, "--mechanism", "mine:nothing"], "nothing is named mine:nothing"),
        ([*PROFILE, "--mechanism", "mine:three"], "is neither"),
        ([*PROFILE, "--mechanism", "mine:Needs"], "add --set depth=VALUE"),
        ([*PROFILE, "--mechanism", "mine:Mine", "--set", "deep=1"], "has that parameter"),
        ([*PROFILE, "--mechanism", "mine:Mine", "--set", "deep"], "--set must be NAME=VALUE"),
        ([*PROFILE, "--plot", "out.gif"], "--plot must end in .png, .svg or .pdf"),
        ([*PROFILE, "--output", "nowhere/out.csv"], "folder of nowhere/out.csv"),
    ],
)
def test_wrong_commands_are_explained(words, said, capsys) -> None:
    assert main(words) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert not captured.out
    assert not Path("out.csv").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("count\n5\n-1\n", "column count must hold whole numbers"),
        ("count\n", "at least one bin"),
        ("bins\n3\n", "must have a column count"),
        ("row,col,count\n0,1\n", "more or fewer fields"),
        ("row,col,count\n0,999999999,1\n999999999,0,1\n", "at most"),
    ],
)
def test_bins_that_cannot_be_read(text, said, capsys) -> None:
    Path("bins.csv").write_text(text)
    assert main(["compare", "--bins", "bins.csv"]) in (1, 2)
    assert said in capsys.readouterr().err


def test_a_file_of_other_data_is_refused(capsys) -> None:
    words = ["--mechanism", "RankSplit", "--only", "--epsilon", "1", "--target", "0.5"]
    assert main([*PROFILE, *words, "--output", "out.csv"]) == 0
    Path("mine.csv").write_text("count,prevalence\n1,31\n")
    assert main([*PROFILE, *words, "--output", "out.csv"]) == 2
    assert "--output must be of the same settings, and out.csv is of other data" in (
        capsys.readouterr().err
    )


@pytest.mark.verify
def test_ctrl_c_keeps_what_was_measured() -> None:
    command = [sys.executable, "-m", "dphist", *PROFILE[:-1], "60", "--target", "0"]
    command += ["--epsilon", "1", "--output", "out.csv"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )
    output = Path("out.csv")
    for _ in range(6000):
        if output.exists():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    shown, said = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "s: interrupted\n" in shown
    assert "Sorted L1 error, records" in shown
    assert said.strip() == "dphist: interrupted; what was measured is in out.csv"
    assert len([line for line in output.read_text().splitlines() if line[:1] != "#"]) > 1
    assert not list(Path().glob(".*.part"))
