"""What each surface says of running counts, letter by letter."""

import json
from pathlib import Path

import pytest

import dphist as dh
from dphist.cli import main
from dphist.report import report_html
from dphist.report.kinds import json_of
from dphist.report.summary import summary_text
from tests.streams.told import MADE
from tests.support.golden import check_golden, text_of_axes, text_of_html

GOLDEN = Path(__file__).parent / "golden"
QUICK = ("patients, in words",)
each = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.verify) for name in MADE],
)
USERS = "--horizon 9000 --delta 1e-6 --format csv --user u --max-events-per-user 3"
DRY_RUNS = {
    "dry run": "--horizon 1000 --delta 1e-6",
    "dry run of many labels": "--horizon 1000000 --delta 1e-6 --max-labels 5 --readings 20 "
    "--method autoregressive --expect-events 2000000",
    "dry run of users": f"{USERS} --expect-events 5000",
    "dry run of patients": f"{USERS} --unit one_patient --output there.json",
    "dry run in words": f"{USERS} --unit person/people --label-name ward --record-name visit "
    "--title T --owner O --max-labels 2",
    "dry run without a horizon": "--horizon none --readings 100 --delta 1e-6",
    "dry run without a horizon, expecting events": "--horizon none --readings 100 --delta 1e-6 "
    "--expect-events 1000",
    "dry run of listed labels": "--horizon 1000 --delta 1e-6 --known-labels listed.txt",
    "dry run of a pure stream": "--horizon 1000 --delta 0 --known-labels listed.txt",
    "dry run of a stream that goes on": "--horizon 1000 --delta 1e-6 --method binary "
    "--state listed.txt --output there.json",
}


def path_of(name: str, surface: str) -> Path:
    return GOLDEN / f"{name.replace(',', '').replace(' ', '_')}.{surface}.txt"


@each
def test_a_page(name: str) -> None:
    check_golden(path_of(name, "page"), text_of_html(report_html(MADE[name]())))


@each
def test_a_summary(name: str) -> None:
    check_golden(path_of(name, "summary"), summary_text(MADE[name]()))


@each
def test_a_card(name: str) -> None:
    check_golden(path_of(name, "card"), text_of_html(MADE[name]()._repr_html_()))


@each
def test_json(name: str) -> None:
    found = json_of(MADE[name]())
    check_golden(path_of(name, "json"), json.dumps(found, indent=1, ensure_ascii=False))


@each
@pytest.mark.filterwarnings("ignore:Glyph:UserWarning")  # the font has no letter for them
def test_a_plot(name: str) -> None:
    check_golden(path_of(name, "plot"), text_of_axes(dh.plot(MADE[name]())))


@pytest.mark.parametrize("name", ["patients, in words", "odd labels", "nothing", "dates"])
@pytest.mark.parametrize("form", ["table", "safe_table"])
def test_a_table(name: str, form: str) -> None:
    found = MADE[name]().to_csv(spreadsheet_safe=form == "safe_table")
    check_golden(path_of(name, form), "\n".join(map(ascii, found.splitlines(keepends=True))))


@pytest.mark.quick(every=3)
@pytest.mark.parametrize("name", DRY_RUNS)
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_dry_run(
    name: str,
    form: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("listed.txt").write_text("tea\nmilk\n")
    Path("there.json").write_text("{}")
    given = [word.replace("_", " ") for word in DRY_RUNS[name].split()]
    state = [] if "--state" in given else ["--state", "s.db"]
    as_json = ["--json"] if form == "json" else []
    assert main(["stream", "--epsilon", "1", *state, *given, "--dry-run", *as_json]) == 0
    said = capsys.readouterr().out
    if as_json:
        said = json.dumps(json.loads(said), indent=1, ensure_ascii=False)
    check_golden(path_of(name, form), said)
