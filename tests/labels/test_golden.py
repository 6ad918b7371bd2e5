"""What each surface says of released labels, letter by letter."""

import json
from pathlib import Path

import pytest

import dphist as dh
from dphist.cli import main
from dphist.report import report_html
from dphist.report.kinds import json_of
from dphist.report.summary import summary_text
from tests.labels.told import MADE
from tests.support.golden import check_golden, text_of_axes, text_of_html

GOLDEN = Path(__file__).parent / "golden"
QUICK = ("patients, in words", "top", "discovered")
each = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.verify) for name in MADE],
)
USERS = "--label a --user b --max-labels 10"
DRY_RUNS = {
    "dry run": "labels --label a --delta 1e-6",
    "dry run of users": f"labels {USERS} --delta 1e-6 --expect-users 5000",
    "dry run of patients": f"labels {USERS} --delta 1e-6 --unit one_patient --expect-users 10",
    "dry run in words": f"labels {USERS} --delta 1e-6 --unit person/people --label-name gene "
    "--record-name visit --title T --owner O --null-users separate",
    "dry run of counts": "labels --label a --count n --max-count 3 --delta 1e-6",
    "dry run with laplace": f"labels {USERS} --delta 1e-6 --noise laplace --count-cut-users",
    "dry run without counts": f"labels {USERS} --delta 1e-6 --only-labels --expect-users 5000",
    "dry run of listed labels": f"labels {USERS} --known-labels LIST",
    "dry run of correlated noise": f"labels {USERS} --known-labels LIST --delta 1e-6 --correlated",
    "dry run of a ranking": f"top {USERS} --delta 1e-6 -k 5 --expect-users 5000",
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
def test_a_plot(name: str) -> None:
    if name.startswith("discovered"):
        with pytest.raises(dh.ParameterError, match="labels alone"):
            dh.plot(MADE[name]())
        return
    check_golden(path_of(name, "plot"), text_of_axes(dh.plot(MADE[name]())))


@pytest.mark.quick(every=3)
@pytest.mark.parametrize("name", DRY_RUNS)
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_dry_run(
    name: str, form: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    listed = tmp_path / "listed.txt"
    listed.write_text("\n".join(f"ward {n}" for n in range(30)))
    command, *given = DRY_RUNS[name].split()
    given = [str(listed) if word == "LIST" else word.replace("_", " ") for word in given]
    as_json = ["--json"] if form == "json" else []
    asked = [command, "no.csv", "--epsilon", "0.5", *given, "--dry-run", *as_json]
    assert main(asked) == 0
    said = capsys.readouterr().out
    if as_json:
        said = json.dumps(json.loads(said), indent=1, ensure_ascii=False)
    check_golden(path_of(name, f"{form}"), said)
