"""A kind in a folder of its own: nothing in src/ knows it."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import MISSING, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.cli import main
from dphist.commands import registry
from dphist.document.kind import Kind
from dphist.lab.auditing.named import make_named
from dphist.lab.comparing.compare import open_case
from dphist.planning.document import make_document
from dphist.planning.document import table_csv as table_of_plan
from dphist.release import kind_names, mechanisms
from dphist.release import release as release_files
from dphist.render.html import page
from dphist.render.text import text
from dphist.report import report_html, summary_text, table_csv
from tests.support.abouts import ABOUT
from tests.support.golden import text_of_html
from tests.support.means.amounts import Amounts
from tests.support.means.kind import KIND
from tests.support.means.mechanism import NoisyMean

ROOT = Path(__file__).parents[2]
MECHANISM = NoisyMean(epsilon=1, most=100)
DATA = Amounts([10, 20, 30, 500] * 1000, 100)
PLANNED = ["--expect-total", "4000", "--most", "100"]

REGISTERING = """
import dphist as dh
from tests.support.means.kind import KIND
from tests.support.means.mechanism import NoisyMean

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
def change(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what registers the kind with other declarations in its place."""

    def changed(**declared: Any) -> None:
        kind: Kind = replace(KIND, **declared)
        monkeypatch.setitem(kind_names._REGISTERED, KIND.name, kind)

    return changed


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
    assert table_csv(release).startswith("total,records,mean,low,high\n")
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
    with pytest.raises(dh.ParameterError, match="data must be Amounts"):
        ledger.release(MECHANISM, [1, 2], by="ana", key="list")
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
    assert (file.parent / "t.csv").read_text().startswith("total,records,mean,low,high\n")
    assert "Mean amount" in (file.parent / "r.html").read_text()
    assert dh.Ledger.open(ledger).spent.epsilon == 1
    assert main([*given, "--quiet"]) == 2
    with pytest.raises(SystemExit):
        main(["--help"])
    assert KIND.commands["mean"].summary in capsys.readouterr().out
    assert registry.find_command("show").text != registry.find_command("mean").text


def test_a_configuration_holds_its_command(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    section = '[pay]\ncommand = "mean"\nfile = "amounts.txt"\nepsilon = 1\noutput = "r.json"\n'
    Path("all.toml").write_text(section)
    assert main(["run", "all.toml"]) == 2
    assert "[pay] must have most" in capsys.readouterr().err
    Path("all.toml").write_text(f"{section}most = 100\n")
    assert main(["run", "all.toml"]) == 0
    assert main(["mean", "--config", "all.toml", "--overwrite"]) == 0
    assert dh.Release.load("r.json").value.mean == pytest.approx(40, abs=3)
    Path("all.toml").write_text('[pay]\ncommand = "median"\n')
    assert main(["run", "all.toml"]) == 2
    assert "labels, top, tables, groups, stream, mean: command" in capsys.readouterr().err


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


def planned() -> dh.Plan:
    criteria = ["mean < 50", "epsilon <= 1"]
    return dh.plan("means", total=4000, most=100, epsilon=["0.5", 1], criteria=criteria)


def test_it_is_planned(tmp_path: Path) -> None:
    plan = planned()
    plan.save(tmp_path / "plan.json")
    again = dh.Plan.load(tmp_path / "plan.json")
    assert again == plan
    assert again.to_pandas()["mean_error"].tolist() == plan.column("mean_error")
    assert table_of_plan(plan).splitlines()[0] == "epsilon,mean_error,guessed_right"
    said = ["A mean", "4,000 records", "Mean ±", "Standard error of the mean of 4"]
    command = "dphist mean FILE --epsilon 1 --most 100 --output release.json --report page.html"
    for each in (*said, command):
        assert each in text(make_document(plan))
        assert each in text_of_html(page(make_document(plan)))
    assert "Error of the mean" in plan._repr_html_()
    kind_names._REGISTERED.clear()
    with pytest.raises(dh.ReleaseFileError, match="of a kind that is not registered"):
        dh.Plan.load(tmp_path / "plan.json")


def test_a_release_is_compared_with_its_plan(release: dh.Release) -> None:
    assert [verdict.holds for verdict in dh.check(release, planned())] == [True, True]
    with pytest.raises(dh.ParameterError, match="it is of means"):
        dh.check(release, dh.plan("ranges", bins=4, total=9, epsilon=1))


def test_planning_has_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "means", *PLANNED, "--epsilon", "1,2", "--json"]) == 0
    asked = dh.plan("means", total=4000, most=100, epsilon=["1", "2"])
    assert dh.Plan.from_json(capsys.readouterr().out) == asked
    assert main(["plan", "means", "--epsilon", "1"]) == 2
    assert "--expect-total" in capsys.readouterr().err


def test_planning_is_declared_in_whole_or_in_part(change: Callable[..., None]) -> None:
    assert KIND.planning is not None
    change(planning=replace(KIND.planning, command=None, options=None))
    assert "as a command" not in text(make_document(planned()))
    assert main(["plan", "means", *PLANNED]) == 2
    change(planning=None)
    with pytest.raises(dh.ParameterError, match="the kind means declares no settings of a plan"):
        planned()
    with pytest.raises(
        dh.ParameterError, match="one of anonymized, ranges, labels, tables, groups, streams"
    ):
        dh.plan("median")


def test_it_is_audited(change: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    audit = partial(dh.audit, seconds=1, layers=["replay"])
    mechanism = make_named("NoisyMean", epsilon=1, delta=None, parameters={})
    assert mechanism == NoisyMean(epsilon=1, most=3)
    (replay,) = audit(mechanism).layers
    assert replay.verdict == "holds"
    monkeypatch.setattr(NoisyMean, "guarantee", dh.PureDP("0.9"))
    found = audit(mechanism)
    assert (found.refuted, found.certain) == (True, True)
    assert "one more of 3" in found.neighbours
    change(auditing=None)
    with pytest.raises(dh.ParameterError, match="must be given: no kind of dphist says"):
        audit(mechanism)


def test_it_is_compared(tmp_path: Path, change: Callable[..., None]) -> None:
    run = partial(dh.compare, epsilons=[1], seconds=5, most=2, output=tmp_path / "found.csv")
    found = run([partial(NoisyMean, most=200)], DATA, published=True)
    assert sorted(row.mechanism for row in found) == ["NoisyMean", "NoisyMean(most=200)"]
    assert {(row.given, row.unit) for row in found} == {("nothing", "units")}
    assert found.kind == found.settings["kind"] == "means"
    assert str(found).startswith("Mechanisms for means, compared")
    assert "Amounts         4,000" in str(found)
    assert "The distance of the mean" in found._repr_html_()
    assert run([partial(NoisyMean, most=200)], DATA, published=True).rows == found.rows
    with pytest.raises(dh.ParameterError, match="data of another kind"):
        run([dh.LeafCounts], [1, 2])
    with pytest.raises(dh.ParameterError, match=r"^data must be a Profile, .*, or Amounts$"):
        run([NoisyMean], {1: 2})
    assert KIND.comparing is not None
    change(comparing=replace(KIND.comparing, takes=lambda data: isinstance(data, list)))
    assert open_case([1, 2])[0].name == "means", "what was registered last is asked first"
    change(comparing=None)
    with pytest.raises(dh.ParameterError, match=r"a sequence of events, each a sequence of labels"):
        run([NoisyMean], {1: 2})


def test_comparing_has_a_command(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["compare", "--amounts", str(file), "--epsilon", "1", "--seconds", "1"]
    assert main([*given, "--most", "100", "--mechanism", "NoisyMean", "--only"]) == 0
    assert capsys.readouterr().out.startswith("Mechanisms for means, compared")
    assert main(given) == 2
    assert "--amounts needs --most" in capsys.readouterr().err


def test_it_is_disclosed(release: dh.Release) -> None:
    found = dh.disclose(release, about=ABOUT).content["deployment"]
    assert "`NoisyMean`" in found["implementation"]["mechanisms"]
    assert found["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}
    assert "The maximum of an amount." in json.dumps(found)


def test_the_guide_lists_what_a_kind_declares() -> None:
    guide = (ROOT / "docs/guides/own-kind.md").read_text()
    declared = [(e.name, e.default is e.default_factory is MISSING) for e in fields(Kind)]
    listed = re.findall(r"^\| `(\w+)` \| (yes|no) \|", guide, re.MULTILINE)
    assert listed == [(name, "yes" if needed else "no") for name, needed in declared]
    lacking = [name for name, _ in declared if not getattr(KIND, name)]
    # A mean has no small counts, and its differences are those of any number.
    assert lacking == ["may_hide_small", "differing"]


def test_a_kind_without_differences_says_so() -> None:
    release = MECHANISM.release(DATA)
    with pytest.raises(dh.UnsupportedError, match="declares none"):
        dh.difference(release, release)
