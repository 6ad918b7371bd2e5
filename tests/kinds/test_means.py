"""A kind in a folder of its own: nothing in src/ knows it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dphist as dh
from dphist.cli import main
from dphist.commands import registry
from dphist.release import kind_names, mechanisms
from dphist.release import release as release_files
from dphist.report.html import report_html
from dphist.report.summary import summary_text
from dphist.report.table import table_csv
from tests.kinds.means.amounts import Amounts
from tests.kinds.means.kind import KIND
from tests.kinds.means.mechanism import NoisyMean

ROOT = Path(__file__).parents[2]
MECHANISM = NoisyMean(epsilon=1, most=100)
DATA = Amounts([10, 20, 30, 500] * 1000, 100)


REGISTERING = """
import dphist as dh
from tests.kinds.means.kind import KIND
from tests.kinds.means.mechanism import NoisyMean

dh.register(NoisyMean)
dh.register(KIND)
"""


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the kind for one test."""
    monkeypatch.setattr(kind_names, "_REGISTERED", {})
    monkeypatch.setattr(mechanisms, "_OTHERS", {})
    monkeypatch.setattr(release_files, "_KINDS", dict(release_files._KINDS))
    dh.register(NoisyMean)
    dh.register(KIND)


@pytest.fixture
def release() -> dh.Release:
    return MECHANISM.release(DATA)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "amounts.txt"
    path.write_text("10\n20\n30\n500\n" * 1000)
    return path


def test_it_is_released_saved_and_loaded(release: dh.Release, tmp_path: Path) -> None:
    assert release.value.mean == pytest.approx(40, abs=3)
    release.save(tmp_path / "r.json")
    loaded = dh.Release.load(tmp_path / "r.json")
    assert loaded == release == loaded.redecode()
    assert json.loads(release.to_json())["kind"] == "means"
    assert loaded.to_pandas().columns.tolist() == ["total", "records", "mean"]


def test_it_is_shown(release: dh.Release) -> None:
    mean = f"{release.value.mean:,.2f}"
    for shown in (report_html(release), summary_text(release), release._repr_html_()):
        assert mean in shown
        assert "Mean amount" in shown
    assert "Released mean" in release.value._repr_html_()
    assert table_csv(release).startswith("total,records,mean\n")
    assert dh.plot(release)[0].get_title(loc="left") == "Mean amount"
    assert "The maximum of an amount." in report_html(release)
    assert "total, records, mean" in report_html(release)


def test_a_ledger_is_charged_for_it(tmp_path: Path) -> None:
    ledger = dh.Ledger.create(tmp_path / "x.ledger", epsilon=3, unit="one record")
    release = ledger.release(MECHANISM, DATA, by="ana", key="mean")
    assert (ledger.spent.epsilon, ledger.stored("mean")) == (1, release)
    with pytest.raises(dh.ParameterError, match="must be Amounts for NoisyMean, not Profile"):
        ledger.release(MECHANISM, dh.Profile.from_counts([1]), by="ana", key="profile")
    with pytest.raises(dh.ParameterError, match="must be Profile for AdaptiveScan, not Amounts"):
        ledger.release(dh.AdaptiveScan(epsilon=1), DATA, by="ana", key="amounts")
    assert ledger.spent.epsilon == 1


def test_it_has_a_command(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["mean", str(file), "--epsilon", "1", "--most", "100"]
    outputs = {"--output": "r.json", "--table": "t.csv", "--report": "r.html"}
    paths = [word for name, held in outputs.items() for word in (name, str(file.parent / held))]
    ledger = file.parent / "x.ledger"
    dh.Ledger.create(ledger, epsilon=1, unit="one record")
    assert main([*given, "--dry-run", "--ledger", str(ledger), "--by", "ana", "--key", "k"]) == 0
    assert "FILE was not opened" in capsys.readouterr().out
    assert main([*given, *paths, "--ledger", str(ledger), "--by", "ana", "--key", "k"]) == 0
    assert dh.Release.load(file.parent / "r.json").value.mean == pytest.approx(40, abs=3)
    assert (file.parent / "t.csv").read_text().startswith("total,records,mean\n")
    assert "Mean amount" in (file.parent / "r.html").read_text()
    assert dh.Ledger.open(ledger).spent.epsilon == 1
    assert main([*given, "--quiet"]) == 2
    with pytest.raises(SystemExit):
        main(["--help"])
    assert KIND.commands["mean"].summary in capsys.readouterr().out
    assert registry.command_of("show").text != registry.command_of("mean").text


def test_a_package_has_it_in_a_shell(file: Path) -> None:
    """An entry point of the package imports it, for the command and to load a release."""
    info = file.parent / "packages" / "means-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: means\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[dphist.kinds]\nmeans = registering_means\n")
    (info.parent / "registering_means.py").write_text(REGISTERING)
    paths = os.pathsep.join(map(str, (ROOT, info.parent)))

    def run(*given: object) -> str:
        called = [sys.executable, "-m", "dphist", *map(str, given)]
        environment = {**os.environ, "PYTHONPATH": paths}
        done = subprocess.run(called, capture_output=True, text=True, env=environment)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    saved = file.parent / "r.json"
    run("mean", file, "--epsilon", 1, "--most", 100, "--output", saved)
    assert run("show", saved).startswith("Mean amount, released with differential privacy")
