"""Pages, summaries, commands, plans, ledgers and audits of histograms by group."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.cli import main
from dphist.groups.charts import MOST_GROUPS, draw_charts
from dphist.planning.document import make_document
from dphist.render.text import text
from dphist.report import make_json, report_html, summary_text, table_csv
from tests.support.abouts import ABOUT
from tests.support.golden import text_of_html

PLACES = ["Bern", "Uri", "Zug", "empty"]


def frame() -> pd.DataFrame:
    draw = np.random.default_rng(4)
    place = draw.choice([*PLACES[:3], "elsewhere"], 4000, p=[0.6, 0.3, 0.06, 0.04])
    fare = draw.gamma(3, 8, 4000) * np.where(place == "Uri", 2, 1)
    return pd.DataFrame({"place": place, "fare": fare, "who": draw.integers(0, 900, 4000)})


def count(**more: Any) -> dh.GroupedCounts:
    given = {"groups": {"place": PLACES}, "column": "fare", "bins": dh.Axis.regular(0, 100, 1)}
    return dh.GroupedCounts.from_table(frame(), **{**given, **more})


def release(data: dh.GroupedCounts, **asked: Any) -> dh.Release:
    given = {"epsilon": 1, "groups": data.groups, "bins": data.bins, "max_rows": data.max_rows}
    return dh.GroupedHistogram(**{**given, **asked}).release(data)


@pytest.fixture(scope="module")
def made() -> dh.Release:
    return release(count(user="who", max_rows=3))


def test_every_surface_names_groups_that_are_too_small(made: dh.Release) -> None:
    page, summary = text_of_html(report_html(made)), summary_text(made)
    for shown in (page, summary):
        assert "Fare by place" in shown
        assert "Too small" in shown
        assert "empty" in shown
        assert "not known" in shown
        assert "in no bin, or of no group" in " ".join(shown.split())
        assert "one user" in shown
    assert "Groups without a mark are too small beside the noise" in page
    told = make_json(made)
    assert told["groups"] == {"place": {"values": PLACES, "other": False}}
    rows = {row["group"]: row for row in told["quantiles"]}
    assert rows["empty"]["0.5"] is None
    assert isinstance(rows["Bern"]["0.5"], list)
    assert "HistogramsByGroup" in repr(made.value)
    assert "Released histograms by group" in made.value._repr_html_()


def test_the_table_has_a_row_for_each_bin(made: dh.Release, tmp_path: Path) -> None:
    lines = table_csv(made).splitlines()
    assert lines[0] == "place,start,stop,count,error,low,high"
    assert len(lines) == 1 + 400
    assert lines[1].startswith("Bern,0,1,")
    assert made.to_pandas().columns.tolist() == ["place", "start", "stop", "count", "error"]
    odd = {"place": ["a,b", '"q"']}
    quoted = dh.GroupedHistogram(epsilon=1, groups=odd, bins=2).release([[1, 2], [3, 4]])
    assert '"a,b",0,1,' in table_csv(quoted)
    dh.write_report(made, tmp_path / "page.html")


def test_the_chart_is_sorted_by_median_and_draws_the_largest_groups() -> None:
    draw = np.random.default_rng(3)
    centers = draw.permutation(80)
    counts = np.zeros((80, 100), np.int64)
    for at, center in enumerate(centers):
        counts[at, center : center + 15] = 40 + at
    mechanism = dh.GroupedHistogram(epsilon=4, groups={"g": range(80)}, bins=100)
    made = mechanism.release(counts)
    (chart,) = draw_charts(made)
    assert len(chart.lines[0].x) == MOST_GROUPS
    assert (np.diff(chart.lines[0].x) >= 0).all()
    assert (np.diff(chart.lines[0].y) < 0).all()
    assert f"the {MOST_GROUPS} largest of 80 groups" in chart.note
    assert (chart.spans[0].low <= chart.lines[0].x).all()
    assert len(made.plot()) == 1


def test_of_empty_groups_alone_pages_are_made() -> None:
    made = dh.GroupedHistogram(epsilon="1/100", groups={"g": ["x", "y"]}, bins=30).release(
        np.zeros((2, 30), np.int64)
    )
    assert "too small beside the noise for medians" in " ".join(summary_text(made).split())
    assert "<svg" in report_html(made)
    assert made._repr_html_()


def test_groups_that_were_found_are_told_as_such() -> None:
    data = count(groups={"place": dh.DiscoverKeys(share="0.3")})
    made = release(data, epsilon=None, rho="0.2", delta="1e-6")
    assert made.value.labels[-1] == "other"
    shown = text_of_html(report_html(made))
    assert "Groups found" in shown
    assert "those with a noisy number of records above" in shown
    assert "groups are found" in shown
    told = make_json(made)
    assert told["found_groups"]["found_from"] > told["found_groups"]["threshold"]
    disclosed = dh.disclose(made, about=ABOUT).to_yaml()
    assert "at most 1,000 groups" in disclosed
    assert "Bern" not in disclosed


def test_a_ledger_charges_before_and_refuses_other_bounds(tmp_path: Path) -> None:
    ledger = dh.Ledger.create(tmp_path / "a.ledger", epsilon=3, unit="one user")
    data = count(user="who", max_rows=3)
    mechanism = dh.GroupedHistogram(epsilon=1, groups=data.groups, bins=100, max_rows=3)
    paid = ledger.release(mechanism, data, by="ana", key="fares")
    assert ledger.spent.epsilon == 1
    assert ledger.stored("fares") == paid
    less = dh.GroupedHistogram(epsilon=1, groups=data.groups, bins=100, max_rows=2)
    with pytest.raises(dh.BoundsError, match="max_rows=3"):
        ledger.release(less, data, by="ana", key="less")
    assert ledger.spent.epsilon == 1


def test_it_is_planned_and_checked(made: dh.Release) -> None:
    plan = dh.plan(
        "groups", bins=100, total=2000, max_rows=[1, 3], epsilon=["0.5", 1],
        criteria=["rank error < 1000"],
    )  # fmt: skip
    assert dh.Plan.from_json(plan.to_json()) == plan
    assert len(plan) == 4
    shown = text(make_document(plan))
    assert "Quantiles of groups" in shown
    command = "dphist groups FILE --group NAME=VALUES --column COLUMN --bins START:STOP:WIDTH"
    assert command in " ".join(shown.split())
    one, three = (row["rank_error"] for row in plan if row["epsilon"] == 1)
    assert one < three
    (verdict,) = dh.check(made, plan)
    assert verdict.holds


@pytest.mark.parametrize("asked", [{"epsilon": 1}, {"epsilon": 1, "max_rows": 2}], ids=str)
def test_an_audit_refutes_nothing(asked: dict[str, Any]) -> None:
    mechanism = dh.GroupedHistogram(groups={"a": ["x", "y"]}, bins=4, **asked)
    found = dh.audit(mechanism, seconds=3)
    assert not found.refuted


def test_an_audit_needs_listed_groups() -> None:
    mechanism = dh.GroupedHistogram(
        rho=1, delta="1e-6", groups={"a": dh.DiscoverKeys(share=".5")}, bins=4
    )
    with pytest.raises(dh.UnsupportedError, match="groups that are found have no bins"):
        dh.audit(mechanism, delta="1e-3", seconds=1)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    frame().to_parquet("fares.parquet")
    Path("places.txt").write_text("\n".join(PLACES))
    return tmp_path


PLAIN = ["groups", "fares.parquet", "--column", "fare", "--epsilon", "1"]
BASE = [*PLAIN, "--bins", "0:100:1"]
LISTED = [*BASE, "--group", "place=@places.txt"]


@pytest.mark.usefixtures("folder")
def test_the_command_releases_and_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    users = ["--user", "who", "--max-rows", "3", "--unit", "rider"]
    assert main([*LISTED, *users, "--dry-run"]) == 0
    quoted = capsys.readouterr().out
    assert "FILE was not opened" in quoted
    assert "place: 4 values: Bern, Uri, Zug, empty" in quoted
    outputs = ["--output", "r.json", "--table", "t.csv", "--report", "r.html"]
    assert main([*LISTED, *users, *outputs, "--other"]) == 0
    made = dh.Release.load("r.json")
    assert made.value.labels == (*PLACES, "other")
    assert made.guarantee.unit.who == "rider"
    assert Path("t.csv").read_text().startswith("place,start,stop,count,error,low,high\n")
    assert main([*LISTED, "--each-row-is-one-person", "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told["groups"] == {"place": {"values": PLACES, "other": False}}


@pytest.mark.usefixtures("folder")
def test_the_command_finds_groups(capsys: pytest.CaptureFixture[str]) -> None:
    found = [*BASE, "--group", "place=discover:0.2:50", "--each-row-is-one-person"]
    assert main([*found, "--output", "r.json"]) == 2
    assert "--delta must be given" in capsys.readouterr().err
    assert main([*found, "--delta", "1e-6", "--output", "r.json"]) == 0
    assert {"Bern", "Uri", "other"} <= {*dh.Release.load("r.json").value.labels}
    assert main([*found, "--delta", "1e-6", "--dry-run"]) == 0
    assert "Groups found" in capsys.readouterr().out


WRONG: dict[str, tuple[list[str], str]] = {
    "no values": (["--group", "place"], "--group must be written as NAME=VALUES"),
    "bins as groups": (["--group", "place=0:9:1"], "--group must list values"),
    "bins that are values": (["--group", "place=a", "--bins", "3,4"], "--bins must be written"),
    "bins that do not divide": (["--group", "place=a", "--bins", "0:9:2"], "--bins must give"),
    "the same column": (["--group", "fare=a"], "--column must be text, and another"),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("given", "said"), WRONG.values(), ids=WRONG)
def test_what_the_command_refuses(
    given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bins = [] if "--bins" in given else ["--bins", "0:100:1"]
    assert main([*PLAIN, *bins, *given, "--each-row-is-one-person", "--output", "r.json"]) == 2
    assert said in capsys.readouterr().err
    assert not Path("r.json").exists()
