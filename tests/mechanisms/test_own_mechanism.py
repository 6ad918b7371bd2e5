"""A mechanism of somebody else's, in a package of its own, is saved, loaded, shown like ours."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.release.mechanisms import find_package, savable
from tests.support.installing import install

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "examples" / "own_mechanism"
MAKE = """
import sys, dphist as dh
from geometric_bins import GeometricBins
GeometricBins(epsilon="1/3", bins=4).release([5, 9, 100, 3]).save(sys.argv[1])
"""
LOAD = """
import sys, dphist as dh
release = dh.Release.load(sys.argv[1])
print(release.mechanism, release.value.error(0, 2) > 0, release.redecode() == release)
dh.write_report(release, sys.argv[2])
dh.plot(release)
"""
REFUSED = """
import sys, dphist as dh
try:
    dh.Release.load(sys.argv[1])
except dh.ReleaseFileError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example, installed by pip."""
    target = tmp_path_factory.mktemp("target")
    install(PROJECT, target, tmp_path_factory.mktemp("scratch"))
    return target


@pytest.fixture(scope="module")
def saved(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("releases") / "r.json"
    assert run_code(MAKE, path, among=installed) == ""
    return path


def run_code(code: str, *arguments: object, among: Path | None = None) -> str:
    return called([sys.executable, "-c", code, *map(str, arguments)], among)


def called(command: list[str], among: Path | None) -> str:
    paths = [str(ROOT / "src"), *([str(among)] if among else [])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "MPLBACKEND": "agg"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_example_is_short() -> None:
    module = PROJECT / "src" / "geometric_bins" / "__init__.py"
    body = module.read_text().partition("@dh.register")[2]
    assert len([line for line in body.splitlines() if line.strip()]) <= 50


@pytest.mark.verify
def test_a_fresh_process_loads_shows_and_reports_it(
    installed: Path, saved: Path, tmp_path: Path
) -> None:
    """Nothing imports the package but its entry point."""
    assert json.loads(saved.read_text())["package"] == "geometric-bins"
    shown = run_code(LOAD, saved, tmp_path / "r.html", among=installed)
    assert shown == "GeometricBins(epsilon=Fraction(1, 3), bins=4) True True\n"
    page = (tmp_path / "r.html").read_text()
    for said in ("GeometricBins", "Privacy parameter of the whole release.", "Ghosh"):
        assert said in page
    told = called([sys.executable, "-m", "dphist", "show", str(saved)], installed)
    assert "GeometricBins" in told


@pytest.mark.verify
def test_it_stands_beside_others_on_real_data(installed: Path, tmp_path: Path) -> None:
    script = PROJECT / "beside_others.py"
    told = called(
        [sys.executable, str(script), str(tmp_path / "out"), "--seconds", "20"], installed
    )
    assert "Error of ranges, records; smaller is better" in told
    for name in ("GeometricBins", "AdaptiveTree", "HB", "DAWA"):
        assert told.count(f" {name} ") >= 4  # two measures at two epsilons
    held = (tmp_path / "out" / "compared.csv").read_text()
    assert held.count("\nGeometricBins,") == 4
    assert (tmp_path / "out" / "compared.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.verify
def test_it_is_compared_by_the_name_that_it_registers(installed: Path, tmp_path: Path) -> None:
    bins = tmp_path / "bins.csv"
    bins.write_text("count\n5\n0\n900\n30\n")
    words = ["compare", "--bins", str(bins), "--mechanism", "GeometricBins", "--only"]
    told = called([sys.executable, "-m", "dphist", *words, "--target", "0.5"], installed)
    assert told.count("  GeometricBins  ") == 4  # two measures at two epsilons


@pytest.mark.verify
def test_without_the_package_it_says_which_to_install(saved: Path) -> None:
    said = run_code(REFUSED, saved)
    assert "made by GeometricBins of the package geometric-bins" in said
    assert "the package geometric-bins; install that package" in said


@dataclass(frozen=True)
class Whole:
    """A mechanism as far as `register` looks."""

    epsilon: str = "1"
    guarantee = dh.PureDP(1)
    noise_scale = 1
    description = reference = "None."

    def release(self, data: object, source: object = None) -> dh.Release:
        value = dh.AnonymizedHistogram([1], [1])
        return dh.Release(value, self.guarantee, self)  # type: ignore[arg-type]

    def decode(self, noisy: object) -> None:
        raise dh.UnsupportedError("nothing is kept")

    def expected_error(self) -> float:
        return 0.0

    intervals = expected_error


def test_what_is_no_mechanism_is_not_registered() -> None:
    assert isinstance(Whole(), dh.Mechanism)
    with pytest.raises(dh.ParameterError, match="frozen dataclass"):
        dh.register(object)
    with pytest.raises(dh.ParameterError, match="frozen dataclass"):
        dh.register(Whole())

    @dataclass
    class Loose:
        epsilon: int = 1

    with pytest.raises(dh.ParameterError, match="must be frozen"):
        dh.register(Loose)

    @dataclass(frozen=True)
    class Bare:
        guarantee: int = 1

    with pytest.raises(dh.ParameterError, match="must have noise_scale, description, reference"):
        dh.register(Bare)


def test_a_mechanism_is_loaded_once_it_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    from dphist.release import mechanisms as module

    monkeypatch.setattr(module, "_OTHERS", {})
    text = Whole().release([]).to_json()
    with pytest.raises(dh.ReleaseFileError, match="made by Whole of the package tests"):
        dh.Release.from_json(text)
    assert dh.register(Whole) is Whole
    assert dh.Release.from_json(text).mechanism == Whole()


@pytest.mark.verify
def test_names_of_ours_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class of another package has our name beside ours, not in its place."""
    from dphist.release import mechanisms as module

    monkeypatch.setattr(module, "_OTHERS", {})
    other = dataclass(frozen=True)(type("LeafCounts", (Whole,), {"__module__": "elsewhere"}))
    savable(other)
    ours = dh.LeafCounts(epsilon=1, bins=2).release([1, 2])
    assert "package" not in json.loads(ours.to_json())
    assert type(dh.Release.from_json(ours.to_json()).mechanism) is dh.LeafCounts
    text = other().release([]).to_json()
    assert type(dh.Release.from_json(text).mechanism) is other
    assert (find_package(other), find_package(dh.LeafCounts)) == ("elsewhere", None)


class _Costly:
    """Another guarantee than that of the noise, as of a mechanism that does more beside it."""

    @property
    def guarantee(self) -> dh.ApproxDP:
        return dh.ApproxDP(3, "0.01", dh.PrivacyUnit("user"))


class _CostlyLabels(_Costly, dh.ThresholdHistogram):  # type: ignore[misc]
    pass


class _CostlyBins(dh.LeafCounts):
    guarantee = _Costly.guarantee  # type: ignore[assignment]


class _CheaperTree(dh.HierarchicalTree):
    """States the guarantee of the tree, and what else it says of its noise."""


@pytest.mark.parametrize(
    "made",
    [
        _CostlyLabels(epsilon="0.1", delta="1e-6", max_labels=1, noise="gaussian"),
        _CostlyBins(epsilon="0.1", bins=3),
    ],
)
def test_who_states_another_guarantee_inherits_nothing_of_the_former(made: Any) -> None:
    assert made.epsilon_guarantee is None
    assert made.to_approx_dp("0.02").epsilon == 3
    assert made.privacy_losses().delta == Fraction(1, 100)
    assert made.exchanged == made.guarantee.for_exchange()
    total = dh.FixedPlan([made], "0.02").fixed
    assert 2.9 < total.epsilon <= 3
    event = made.dp_event()
    assert "0.01" in str(event)
    tree = _CheaperTree(epsilon=1, bins=8)
    assert tree.privacy_losses() == dh.HierarchicalTree(epsilon=1, bins=8).privacy_losses()
