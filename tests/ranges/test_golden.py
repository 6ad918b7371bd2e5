"""What each surface says of histograms over ranges, letter by letter."""

import pytest

from tests.support.golden import (
    SURFACES,
    check_golden,
    dry_run,
    each_form,
    each_of,
    each_surface,
    golden_path,
    text_of_html,
)
from tests.support.ranges.told import MADE

QUICK = ("patients, in words", "map in words", "gaussian", "a corner")
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
    "dry run in rho": "--rho 0.1",
}


@each_surface
@each_of(MADE, QUICK)
def test_a_release(name: str, surface: str) -> None:
    if (name, surface) != ("three axes", "plot"):
        check_golden(golden_path(__file__, name, surface), SURFACES[surface](MADE[name]()))


@pytest.mark.parametrize("name", ["hours", "map", "three axes"])
def test_a_card_of_the_histogram_alone(name: str) -> None:
    said = text_of_html(MADE[name]().value._repr_html_())
    check_golden(golden_path(__file__, name, "value"), said)


@pytest.mark.quick(every=3)
@pytest.mark.parametrize("name", DRY_RUNS)
@each_form
def test_a_dry_run(name: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = DRY_RUNS[name].split()
    given += [] if "--rho" in given else ["--epsilon", "0.5"]
    given += [] if "--user" in given else ["--each-row-is-one-person"]
    columns = ["--column", "a", "--edges", "0,18,65,120"]
    said = dry_run(form, capsys, "ranges", "no.csv", *columns, *given)
    check_golden(golden_path(__file__, name, form), said)
