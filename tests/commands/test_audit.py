"""dphist audit: names, parameters, exit codes, programs."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dphist.cli import main

MODULE = """\
import random

def leaks(count):
    return count + random.randrange(2)

class Other:
    pass

three = 3
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("mine.py").write_text(MODULE)
    Path("pairs.json").write_text("[[0, 1]]")
    yield
    sys.modules.pop("mine", None)


def test_a_function_is_refuted(capsys) -> None:
    arguments = ["audit", "mine:leaks", "--epsilon", "1", "--neighbours", "pairs.json"]
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert "leaks: epsilon 1 is refuted (confidence 0.999)." in captured.out
    assert "refuted: leaks" in captured.err
    assert main([*arguments, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["event"].startswith("the outcome is")


@pytest.mark.verify
def test_a_program_is_refuted(capsys) -> None:
    Path("leak.sh").write_text("cat\n")
    claim = ["--epsilon", "1", "--neighbours", "pairs.json"]
    assert main(["audit", "--program", "sh leak.sh", *claim]) == 1
    assert "is refuted" in capsys.readouterr().out


def test_a_mechanism_with_parameters(capsys) -> None:
    arguments = ["audit", "ThresholdHistogram", "--epsilon", "2", "--set", "max_labels=1"]
    assert main([*arguments, "--seconds", "0.3"]) == 0
    out = capsys.readouterr().out
    assert "epsilon 2 and delta 0.05 is not refuted" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give a MECHANISM, or --all"),
        (["LeafCounts", "--all"], "give a MECHANISM, or --all"),
        (["Nothing"], "must be one of AdaptiveScan, "),
        (["mine:nothing"], "nothing is named mine:nothing"),
        (["nowhere:leaks"], "nothing is named nowhere:leaks"),
        (["mine:three"], "mine:three is neither"),
        (["mine:Other"], "must be a mechanism"),
        (["mine:leaks", "--epsilon", "1"], "neighbours must be given"),
        (["mine:leaks", "--neighbours", "pairs.json"], "epsilon must be given"),
        (["mine:leaks", "--epsilon", "1", "--neighbours", "none.json"], "does not exist"),
        (["mine:leaks", "--epsilon", "1", "--neighbours", "mine.py"], "must be JSON"),
        (["mine:leaks", "--set", "a=3"], "for a class of mechanisms"),
        (["LeafCounts", "--set", "bins"], "--set must be NAME=VALUE"),
        (["LeafCounts", "--set", "wings=3"], "wings"),
        (["--program", "sh"], "--program needs"),
        (["LeafCounts", "--seconds", "-1"], "seconds must be"),
    ],
)
def test_what_is_wrong_is_said(arguments, message, capsys) -> None:
    assert main(["audit", *arguments]) in (1, 2)
    assert message in capsys.readouterr().err
