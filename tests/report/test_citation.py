"""What to cite: the library, and the paper of each mechanism."""

from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

import dphist as dh
from dphist.cli import main
from dphist.report.citation import citation
from tests.mechanisms.cases import CASES, made, released

ROOT = Path(__file__).parents[2]


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
    assert main(["cite", str(tmp_path / "none.json")]) == 1


def test_the_citation_file_is_of_this_version() -> None:
    content = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert content["version"] == version("dphist")
    assert content["license"] == "Apache-2.0"
