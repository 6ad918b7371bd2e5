"""What each surface says of histograms over ranges, letter by letter."""

import json
from pathlib import Path

import pytest

import dphist as dh
from dphist.cli import main
from dphist.report import report_html
from dphist.report.kinds import json_of
from dphist.report.summary import summary_text
from tests.ranges.told import MADE
from tests.support.golden import check_golden, text_of_axes, text_of_html

GOLDEN = Path(__file__).parent / "golden"
PLOTTED = [name for name in MADE if name != "three axes"]
QUICK = ("patients, in words", "map in words", "gaussian", "a corner")
each_drawn = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.verify) for name in MADE],
)
USERS = "--user b --max-records 5"
DRY_RUNS = {
    "dry run": "",
    "dry run of users": USERS,
    "dry run of patients": f"{USERS} --unit one_patient",
    "dry run of people": f"{USERS} --unit person/people",
    "dry run in words": "--record-name visit --title T --owner O",
    "dry run of contributions": "--sensitivity 3 --expect-total 5000 --mechanism tree",
    "dry run of rows": "--count n --max-records 4 --mechanism leaves",
    "dry run of an expected total": "--expected-total 5000",
    "dry run of two axes": "--column b --edges 0,5,10",
}
RHO = "dry run in rho"


def path_of(name: str, surface: str) -> Path:
    return GOLDEN / f"{name.replace(',', '').replace(' ', '_')}.{surface}.txt"


@each_drawn
def test_a_page(name: str) -> None:
    check_golden(path_of(name, "page"), text_of_html(report_html(MADE[name]())))


@pytest.mark.quick(every=3)
@pytest.mark.parametrize("name", MADE)
def test_a_summary(name: str) -> None:
    check_golden(path_of(name, "summary"), summary_text(MADE[name]()))


@each_drawn
def test_a_card(name: str) -> None:
    check_golden(path_of(name, "card"), text_of_html(MADE[name]()._repr_html_()))


@pytest.mark.parametrize("name", ["hours", "map", "three axes"])
def test_a_card_of_the_histogram_alone(name: str) -> None:
    check_golden(path_of(name, "value"), text_of_html(MADE[name]().value._repr_html_()))


@pytest.mark.quick(every=3)
@pytest.mark.parametrize("name", MADE)
def test_json(name: str) -> None:
    found = json_of(MADE[name]())
    check_golden(path_of(name, "json"), json.dumps(found, indent=1, ensure_ascii=False))


@pytest.mark.quick(every=3)
@pytest.mark.parametrize("name", PLOTTED)
def test_a_plot(name: str) -> None:
    check_golden(path_of(name, "plot"), text_of_axes(dh.plot(MADE[name]())))


@pytest.mark.quick(every=3)
@pytest.mark.parametrize("name", [*DRY_RUNS, RHO])
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_dry_run(name: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = [word.replace("_", " ") for word in DRY_RUNS.get(name, "").split()]
    given += ["--rho", "0.1"] if name == RHO else ["--epsilon", "0.5"]
    as_json = ["--json"] if form == "json" else []
    columns = ["--column", "a", "--edges", "0,18,65,120"]
    assert main(["ranges", "no.csv", *columns, *given, "--dry-run", *as_json]) == 0
    said = capsys.readouterr().out
    if as_json:
        said = json.dumps(json.loads(said), indent=1, ensure_ascii=False)
    check_golden(path_of(name, f"{form}"), said)
