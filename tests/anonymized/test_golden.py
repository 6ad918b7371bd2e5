"""What each surface says of anonymized histograms, letter by letter."""

import pytest

from tests.support.anonymized.told import MADE
from tests.support.golden import (
    SURFACES,
    check_golden,
    dry_run,
    each_form,
    each_of,
    each_surface,
    golden_path,
)

# A page takes seconds: the mechanism is tried on public data, and released again.
QUICK = ("scan of patients, in words",)
DRY_RUNS = {
    "dry run": "",
    "dry run of users": "--label a --user b --max-records 5",
    "dry run of patients": "--label a --user b --max-records 5 --unit one_patient",
    "dry run of people": "--label a --user b --max-records 5 --unit person/people",
    "dry run in words": "--label a --each-row-is-one-person --label-name gene --record-name visit "
    "--title T --owner O",
    "dry run of contributions": "--sensitivity 3 --expect-total 5000 --expect-shape 0.5",
    "dry run of one total": "--expect-total 5000",
}


@each_surface
@each_of(MADE, QUICK)
def test_a_release(name: str, surface: str) -> None:
    check_golden(golden_path(__file__, name, surface), SURFACES[surface](MADE[name]()))


@pytest.mark.quick("text-dry run in words", "json-dry run of users")
@pytest.mark.parametrize("name", DRY_RUNS)
@each_form
def test_a_dry_run(name: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["anonymize", "no.csv", "--epsilon", "0.5"]
    said = dry_run(form, capsys, *command, *DRY_RUNS[name].split())
    check_golden(golden_path(__file__, name, form), said)
