"""dphist audit: names, parameters, exit codes, programs."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dphist.cli import main
from dphist.lab.auditing.named import everything, mechanisms

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
    assert "The claim of ε = 1 is refuted (confidence 0.999)." in captured.out
    assert "refuted: leaks" in captured.err
    assert main([*arguments, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["event"].startswith("the outcome is")


@pytest.mark.verify
def test_a_program_is_refuted(capsys) -> None:
    Path("leak.sh").write_text("cat\n")
    claim = ["--epsilon", "1", "--neighbours", "pairs.json"]
    assert main(["audit", "--program", "sh leak.sh", *claim]) == 1
    assert "is refuted" in capsys.readouterr().out


@pytest.mark.verify
def test_a_mechanism_with_parameters(capsys) -> None:
    arguments = ["audit", "ThresholdHistogram", "--epsilon", "2", "--set", "max_labels=1"]
    assert main([*arguments, "--seconds", "0.3"]) == 0
    out = capsys.readouterr().out
    assert "ε = 2, δ = 0.05 is not refuted" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "one of the arguments MECHANISM --all is required"),
        (["LeafCounts", "--all"], "--all: not allowed with argument MECHANISM"),
        (["Nothing"], "must be one of AdaptiveScan, "),
        (["mine:nothing"], "nothing is named mine:nothing"),
        (["nowhere:leaks"], "nothing is named nowhere:leaks"),
        (["mine:three"], "mine:three is neither"),
        (["mine:Other"], "must be a mechanism"),
        (["mine:leaks", "--epsilon", "1"], "neighbours must be given"),
        (["mine:leaks", "--neighbours", "pairs.json"], "epsilon must be given"),
        (["mine:leaks", "--epsilon", "1", "--neighbours", "none.json"], "does not exist"),
        (["mine:leaks", "--epsilon", "1", "--neighbours", "mine.py"], "must be a file of JSON"),
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


@pytest.mark.verify
def test_a_page_shows_the_curve_and_every_layer() -> None:
    arguments = ["audit", "LeafCounts", "--epsilon", "3", "--set", "bins=1", "--seconds", "2"]
    assert main([*arguments, "--report", "page.html", "--quiet"]) == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert "The claim of ε = 3 is not refuted (confidence 0.999)." in page.replace("\u00a0", " ")
    for heading in ("<dt>Exact</dt>", "<dt>Replay</dt>", "<dt>Statistical</dt>"):
        assert heading in page
    assert "<svg" in page
    assert "://" not in page.replace("http://www.w3.org/", "")
    assert "<script" not in page


def test_a_page_of_what_is_hostile_shows_it_as_text() -> None:
    Path("hostile.py").write_text("def leaks(data):\n    return '<script>' + str(data)\n")
    claim = ["--epsilon", "1", "--neighbours", "pairs.json", "--report", "page.html"]
    assert main(["audit", "hostile:leaks", "--seconds", "20", *claim]) == 1
    page = Path("page.html").read_text(encoding="utf-8")
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "is refuted" in page


def test_a_page_replaces_no_file_unless_it_is_told_to(capsys) -> None:
    pairs = Path("pairs.json").read_text()
    claim = ["--epsilon", "1", "--neighbours", "pairs.json", "--seconds", "1"]
    assert main(["audit", "hostile:leaks", *claim, "--report", "pairs.json"]) == 2
    assert "would destroy it" in capsys.readouterr().err
    assert Path("pairs.json").read_text() == pairs
    Path("page.html").write_text("mine")
    assert main(["audit", "hostile:leaks", *claim, "--report", "page.html"]) == 2
    assert "page.html exists" in capsys.readouterr().err
    assert Path("page.html").read_text() == "mine"


def test_parameters_are_not_for_programs(capsys) -> None:
    claim = ["--epsilon", "1", "--neighbours", "pairs.json", "--set", "x=1"]
    assert main(["audit", "--program", "cat", *claim]) == 2
    assert "--program does not go with --set" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--epsilon", "--delta", "--neighbours"])
def test_all_claims_are_audited_with_their_own(option: str, capsys) -> None:
    assert main(["audit", "--all", option, "1"]) == 2
    assert f"--all does not go with {option}" in capsys.readouterr().err


@pytest.mark.verify
def test_layers_are_chosen(capsys) -> None:
    arguments = ["audit", "SortedCounts", "--seconds", "1", "--layers", "replay", "--json"]
    assert main(arguments) == 0
    (layer,) = json.loads(capsys.readouterr().out)["layers"]
    assert layer["verdict"] == "holds"


def test_noise_that_does_not_account_for_the_claim_is_an_error(capsys) -> None:
    Path("twice.py").write_text(TWICE)
    arguments = ["audit", "twice:run", "--epsilon", "1", "--neighbours", "pairs.json"]
    assert main([*arguments, "--seconds", "1", "--layers", "replay"]) == 1
    captured = capsys.readouterr()
    assert "noise does not account for the claim: run" in captured.err
    said = " ".join(captured.out.split())
    assert "The noise costs epsilon 2, which the claim does not cover (pair 1)." in said


TWICE = """\
import random
from dphist.lab.auditing.replay import replayable

laplace = replayable(lambda scale: random.choice([-1, 1]) * random.expovariate(1 / scale),
                     epsilon=lambda scale: 1 / scale)

def run(count):
    return [count + laplace(1), count + laplace(1)]
"""


@pytest.mark.parametrize(("epsilon", "code"), [("0.4", 1), ("2", 0), (None, 0)])
@pytest.mark.quick(every=3)
def test_a_claim_about_a_mechanism_is_the_one_that_is_stated(epsilon, code, capsys) -> None:
    """Of an instance; a class is made such that it keeps the claim."""
    Path("made.py").write_text("import dphist as dh\nscan = dh.SortedCounts(epsilon=1, labels=2)\n")
    claim = [] if epsilon is None else ["--epsilon", epsilon]
    assert main(["audit", "made:scan", *claim, "--seconds", "1", "--layers", "replay"]) == code
    sys.modules.pop("made")
    assert f"The claim of ε = {epsilon or 1} is " in capsys.readouterr().out
    arguments = ["audit", "SortedCounts", *claim, "--seconds", "1", "--layers", "replay"]
    assert main(arguments) == 0


def test_everything_has_a_name_of_its_own() -> None:
    known = everything(slow=True)
    assert set(mechanisms()) < set(known)
    for engine in ("pandas", "polars", "arrow", "duckdb", "spark"):
        assert {f"labels of {engine}", f"profile of {engine}", f"bins of {engine}"} < set(known)
    assert "ledger" in known
    assert not any("spark" in name for name in everything())


@pytest.mark.long(every=4)
@pytest.mark.quick("[ledger]", "[bins of duckdb]", every=2)
@pytest.mark.parametrize("name", [each for each in everything() if each not in mechanisms()])
def test_tables_and_ledgers_are_audited(name: str, capsys) -> None:
    assert main(["audit", name, "--seconds", "1.5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["name"] == name
    assert not found["refuted"]
    verdicts = {each["layer"]: each["verdict"] for each in found["layers"]}
    if name.startswith(("labels", "profile", "bins", "ledger")):
        assert verdicts["replay"] == "holds"


@pytest.mark.verify
def test_every_mechanism_can_be_audited(capsys) -> None:
    assert main(["audit", "--all", "--seconds", "45", "--confidence", "0.9999999", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found) == len(everything())
    assert all(not each["refuted"] for each in found)
    assert sum(each["samples"] > 0 for each in found) >= 14
