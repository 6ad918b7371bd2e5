"""What each surface says of released labels, letter by letter."""

from pathlib import Path

import pytest

import dphist as dh
from tests.support.golden import (
    SURFACES,
    check_golden,
    dry_run,
    each_form,
    each_of,
    each_surface,
    golden_path,
)
from tests.support.labels.told import MADE

QUICK = ("patients, in words", "top", "discovered")
USERS = "--label a --user b --max-labels 10"
DRY_RUNS = {
    "dry run": "labels --label a --delta 1e-6 --each-row-is-one-person",
    "dry run of users": f"labels {USERS} --delta 1e-6 --expect-users 5000",
    "dry run of patients": f"labels {USERS} --delta 1e-6 --unit one_patient --expect-users 10",
    "dry run in words": f"labels {USERS} --delta 1e-6 --unit person/people --label-name gene "
    "--record-name visit --title T --owner O --null-users separate",
    "dry run of counts": "labels --label a --count n --max-count 3 --delta 1e-6",
    "dry run with laplace": f"labels {USERS} --delta 1e-6 --noise laplace --users-by-labels 1000",
    "dry run without counts": f"labels {USERS} --delta 1e-6 --only-labels --expect-users 5000",
    "dry run of listed labels": f"labels {USERS} --known-labels LIST",
    "dry run of other labels": f"labels {USERS} --known-labels LIST --other",
    "dry run of correlated noise": f"labels {USERS} --known-labels LIST --delta 1e-6 --correlated",
    "dry run of a ranking": f"top {USERS} --delta 1e-6 -k 5 --expect-users 5000",
}


@each_surface
@each_of(MADE, QUICK)
def test_a_release(name: str, surface: str) -> None:
    if surface == "plot" and name.startswith("discovered"):
        with pytest.raises(dh.ParameterError, match="labels alone"):
            dh.plot(MADE[name]())
        return
    check_golden(golden_path(__file__, name, surface), SURFACES[surface](MADE[name]()))


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
    Path("LIST").write_text("\n".join(f"ward {n}" for n in range(30)))
    command, *given = DRY_RUNS[name].split()
    said = dry_run(form, capsys, command, "no.csv", "--epsilon", "0.5", *given)
    check_golden(golden_path(__file__, name, form), said)
