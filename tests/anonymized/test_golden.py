"""What each surface says of anonymized histograms, letter by letter."""

import json
from pathlib import Path

import pytest

import dphist as dh
from dphist.cli import main
from dphist.report import report_html
from dphist.report.kinds import json_of
from dphist.report.summary import summary_text
from tests.anonymized.told import MADE
from tests.support.golden import check_golden, text_of_axes, text_of_html

GOLDEN = Path(__file__).parent / "golden"
QUICK = ("scan of patients, in words",)
# A page takes seconds: the mechanism is tried on public data, and released again.
each_page = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.verify) for name in MADE],
)
DRY_RUNS = {
    "dry run": "",
    "dry run of users": "--label a --user b --max-records 5",
    "dry run of patients": "--label a --user b --max-records 5 --unit one_patient",
    "dry run of people": "--label a --user b --max-records 5 --unit person/people",
    "dry run in words": "--label a --label-name gene --record-name visit --title T --owner O",
    "dry run of contributions": "--sensitivity 3 --expect-total 5000 --expect-shape 0.5",
    "dry run of one total": "--expect-total 5000",
}


def path_of(name: str, surface: str) -> Path:
    return GOLDEN / f"{name.replace(',', '').replace(' ', '_')}.{surface}.txt"


@each_page
def test_a_page(name: str) -> None:
    check_golden(path_of(name, "page"), text_of_html(report_html(MADE[name]())))


@each_page
def test_a_summary(name: str) -> None:
    check_golden(path_of(name, "summary"), summary_text(MADE[name]()))


@pytest.mark.quick(every=4)
@pytest.mark.parametrize("name", MADE)
def test_a_card(name: str) -> None:
    check_golden(path_of(name, "card"), text_of_html(MADE[name]()._repr_html_()))


@pytest.mark.quick(every=3)
@pytest.mark.parametrize("name", MADE)
def test_json(name: str) -> None:
    found = json_of(MADE[name]())
    check_golden(path_of(name, "json"), json.dumps(found, indent=1, ensure_ascii=False))


@pytest.mark.quick(every=4)
@pytest.mark.parametrize("name", MADE)
def test_a_plot(name: str) -> None:
    check_golden(path_of(name, "plot"), text_of_axes(dh.plot(MADE[name]())))


@pytest.mark.quick("text-dry run in words", "json-dry run of users")
@pytest.mark.parametrize("name", DRY_RUNS)
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_dry_run(name: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = [word.replace("_", " ") for word in DRY_RUNS[name].split()]
    as_json = ["--json"] if form == "json" else []
    assert main(["anonymize", "no.csv", "--epsilon", "0.5", *given, "--dry-run", *as_json]) == 0
    said = capsys.readouterr().out
    if as_json:
        said = json.dumps(json.loads(said), indent=1, ensure_ascii=False)
    check_golden(path_of(name, f"{form}"), said)
