"""What each surface says of running counts, letter by letter."""

from pathlib import Path

import pytest

from tests.support.golden import (
    SURFACES,
    check_golden,
    dry_run,
    each_form,
    each_of,
    each_surface,
    golden_path,
)
from tests.support.streams.told import MADE

QUICK = ("patients, in words",)
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


@each_surface
@each_of(MADE, QUICK)
@pytest.mark.filterwarnings("ignore:Glyph:UserWarning")  # the font has no letter for them
def test_a_release(name: str, surface: str) -> None:
    check_golden(golden_path(__file__, name, surface), SURFACES[surface](MADE[name]()))


@pytest.mark.parametrize("name", ["patients, in words", "odd labels", "nothing", "dates"])
@pytest.mark.parametrize("form", ["table", "safe_table"])
def test_a_table(name: str, form: str) -> None:
    found = MADE[name]().to_csv(spreadsheet_safe=form == "safe_table")
    lines = map(ascii, found.splitlines(keepends=True))
    check_golden(golden_path(__file__, name, form), "\n".join(lines))


@pytest.mark.quick(every=3)
@pytest.mark.parametrize("name", DRY_RUNS)
@each_form
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
    given = DRY_RUNS[name].split()
    given += [] if "--state" in given else ["--state", "s.db"]
    said = dry_run(form, capsys, "stream", "--epsilon", "1", *given)
    check_golden(golden_path(__file__, name, form), said)
