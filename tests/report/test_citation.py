"""What to cite: the library, and the paper of each mechanism."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

import dphist as dh
from dphist.cli import main
from dphist.report import citation
from tests.support.mechanisms.cases import CASES, made, released

ROOT = Path(__file__).parents[2]


@pytest.mark.quick(every=3)
@pytest.mark.parametrize("name", [name for name in CASES if CASES[name][1] is not None])
def test_every_mechanism_s_paper_is_cited(name: str) -> None:
    mechanism = made(name)
    text = citation(released(mechanism, CASES[name][1]))
    assert "@software{dphist," in text
    own = mechanism.reference.startswith("This library's own")
    assert text.count("\n@") == (1 if own else 2)
    assert text.count("{") == text.count("}")
    assert text.startswith(f"% {type(mechanism).__name__}: ")


def test_the_command_prints_it(tmp_path: Path, capsys) -> None:
    path = tmp_path / "r.json"
    dh.RankSplit(epsilon=1).release(dh.Profile.from_counts([3, 2, 1])).save(path)
    assert main(["cite", str(path)]) == 0
    out = capsys.readouterr().out
    assert "@inproceedings{manurangsi2022," in out
    assert f"version = {{{version('dphist')}}}" in out
    (year,) = re.findall(r"^## \S+ \((\d{4})-", (ROOT / "CHANGELOG.md").read_text(), re.M)[:1]
    assert f"year = {{{year}}}" in out
    assert re.search(r"(url|note) = \{", out)
    assert main(["cite", str(tmp_path / "none.json")]) == 2
    assert "none.json does not exist" in capsys.readouterr().err


def test_the_page_of_references_has_every_mechanism() -> None:
    page = (ROOT / "docs" / "reference" / "references.md").read_text()
    papers = (ROOT / "src" / "dphist" / "report" / "papers.bib").read_text()
    assert papers.strip() in page
    assert f"version = {{{version('dphist')}}}" in page
    keys = set(re.findall(r"^@\w+\{(\w+),", page, re.MULTILINE))
    for name in {name.partition(",")[0] for name in CASES}:
        cited = re.search(rf"^\|.*`{name}`.*\| `(\w+)` \|$", page, re.MULTILINE)
        assert cited is not None, name
        assert cited[1] in keys
    named = re.findall(r"^\| .* \| (`.*`) \|$", page, re.MULTILINE)
    assert keys == {each for cell in named for each in re.findall(r"`(\w+)`", cell)} | AUDITS


AUDITS = {"ding2018", "bichsel2021", "gilbert2018", "kong2023"}


@pytest.mark.parametrize("name", [name for name in CASES if "," not in name])
def test_the_page_cites_what_the_command_does(name: str) -> None:
    page = (ROOT / "docs" / "reference" / "references.md").read_text()
    papers = (ROOT / "src" / "dphist" / "report" / "papers.bib").read_text()
    mechanism = made(name)
    row = re.search(rf"^\|.*`{type(mechanism).__name__}`.*\| `(\w+)` \|$", page, re.MULTILINE)
    if row[1] == "dphist":
        assert mechanism.reference.startswith("This library's own")
        assert not mechanism.paper
    else:
        assert mechanism.paper == row[1]
        entry = next(each for each in papers.split("\n@") if f"{{{row[1]}," in each)
        title = re.search(r"title = \{(.*)\}", entry)[1]
        assert f". {title}. " in mechanism.reference + " "


def test_the_citation_file_is_of_this_version() -> None:
    content = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert content["version"] == version("dphist")
    assert content["license"] == "Apache-2.0"
