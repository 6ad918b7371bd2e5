"""Planned tables: every number is one of the mechanism, and totals are kept as they are asked."""

import json
import shlex
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.cli import main
from dphist.document.blocks import PlusMinus
from dphist.planning.document import make_document
from dphist.render.text import text

KEYS = {"region": range(4), "sex": ["f", "m"], "age": dh.Axis.regular(0, 100, 20)}
ASKED: dict[str, Any] = {"tables": ["region", "sex+age"], "errors": {"region": 2}}


def test_each_table_has_the_error_of_the_mechanism() -> None:
    sizes = {"region": 3, "sex": ["f", "m"], "age": 5}
    limits: dict[str, Any] = {"delta": "1e-7", "max_rows": [1, 3], "epsilon": ["0.5", 2]}
    plan = dh.plan("tables", keys=sizes, other=["region"], **ASKED, **limits, total=800)
    assert len(plan) == 2 * 2 * 2
    for row in plan:
        made = dh.Tables(
            keys=KEYS,
            **ASKED,
            epsilon=row["epsilon"],
            delta=row["delta"],
            max_rows=row["max_rows"],
        )
        error = PlusMinus.of(made.errors_of_cells()[row["table"]]).half_width
        assert row["cell_error"] == pytest.approx(error, rel=1e-12)
        assert row["cells"] == {"region": 4, "sex+age": 10}[row["table"]]
        assert row["of_mean_cell"] == pytest.approx(error * row["cells"] / 800)
    assert dh.Plan.from_json(plan.to_json()).rows == plan.rows


def test_the_command_of_a_plan_is_one_of_tables(capsys: Any) -> None:
    typed = ["--axis", "sex and age=size:3", "--axis", "sex=f,m", "--tables", "sex,sex+sex and age"]
    shared = ["--weights", "sex=2", "--epsilon", "1", "--max-rows", "2"]
    assert main(["plan", "tables", *typed, *shared, "--json"]) == 0
    plan = dh.Plan.from_json(capsys.readouterr().out)
    said = text(make_document(plan))
    (line,) = (line for line in said.splitlines() if "dphist tables FILE" in line)
    line = line.replace("age'=VALUES", "age'=a,b,c").replace("sex=VALUES", "sex=f,m")
    command = shlex.split(line.replace("--output release.json --report page.html", ""))
    assert main([*command[1:], "--dry-run", "--json"]) == 0
    errors = json.loads(capsys.readouterr().out)["errors"]
    found = {row["table"]: row["cell_error"] for row in plan}
    assert found == pytest.approx({name: 1.96 * each for name, each in errors.items()}, rel=1e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"keys": {}}, "keys must name at least one column"),
        ({"keys": {"region": 0, "sex": 2, "age": 5}}, "keys must be at least 1"),
        ({"keys": {"region": 10**8, "sex": 2, "age": 5}}, "keys must be at most 10000000"),
        ({"keys": {"region": 4}}, "tables must name keys: 'sex'"),
        ({"keys": [("region", 4), ("region", 3)]}, "must give each column once"),
        ({"keys": ["region"]}, "keys must name at least one column"),
        ({"delta": -1}, "delta must be"),
        ({"max_rows": 0}, "max_rows must be at least 1"),
        ({"other": ["place"]}, "other must name keys"),
        ({"errors": ["region"]}, "must be mappings"),
        ({"errors": {"age": 2}}, "errors must name tables that are asked"),
        ({"total": 0}, "total must be at least 1"),
    ],
)
def test_what_cannot_be_planned_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(dh.ParameterError, match=message):
        dh.plan("tables", **{"keys": KEYS, **ASKED, "epsilon": 1, **changes})


def test_criteria_are_decided_by_the_noise() -> None:
    made = dh.Tables(epsilon=1, delta="1e-6", keys=KEYS, **ASKED)
    release = made.release(np.full((4, 2, 5), 1000))
    half = PlusMinus.of(made.expected_error()).half_width
    said = [f"cell error < {half * factor:.6f}" for factor in (0.99, 1.01)]
    share = [f"cell error < {100 * half * factor / 40_000:.6f} %" for factor in (0.9, 1.1)]
    plan = dh.plan("tables", keys=KEYS, **ASKED, epsilon=1, criteria=[*said, *share])
    assert [each.holds for each in dh.check(release, plan)] == [False, True, False, True]


def test_a_total_of_tables_is_kept_as_it_is_asked() -> None:
    """One release has the total as its parameters; of several, each has its share of the rho."""
    total: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
    one = dh.calibrate(dh.Tables, **total, keys=KEYS, **ASKED)
    assert one == dh.Tables(**total, keys=KEYS, **ASKED)
    four = dh.calibrate(dh.Tables, **total, releases=4, keys=KEYS, **ASKED, max_rows=3)
    assert four.target is not None
    assert four.target.releases == 4
    assert float(4 * four.guarantee.rho) == pytest.approx(float(one.guarantee.rho), rel=1e-8)
    assert four.epsilon_at("1e-6", 4) <= 1
    more = dh.Tables(rho=four.rho * Fraction(1001, 1000), keys=KEYS, **ASKED, max_rows=3)
    assert more.epsilon_at("1e-6", 4) > 1
    cdp = dh.calibrate(dh.Tables, **total, accounting="cdp", keys=KEYS, **ASKED)
    assert 0.999 < cdp.guarantee.to_approx_dp("1e-6").epsilon <= 1


@pytest.mark.parametrize("kind", ["tables", "ranges"])
def test_a_guessed_number_of_records_is_of_at_least_so_many_users(kind: str, capsys: Any) -> None:
    """With at most two records each, 800,000 records are of 400,000 users, as they are called."""
    asked = {
        "tables": ["FILE", "--axis", "sex=f,m", "--tables", "sex", "--max-rows", "2"],
        "ranges": ["FILE", "--column", "age", "--edges", "0,50,100", "--max-records", "2"],
    }
    limits = ["--rho", "0.05"]
    data = ["--user", "person", "--expect-total", "800000", "--dry-run"]
    assert main([kind, *asked[kind], *limits, *data]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "a δ for 400,000 users" in said


@pytest.mark.parametrize("releases", [1, 2])
def test_a_rho_that_is_to_be_found_is_not_given(releases: int) -> None:
    total: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "releases": releases}
    more: dict[str, Any] = {"keys": {"sex": ["f", "m"]}, "tables": ["sex"]}
    with pytest.raises(dh.ParameterError, match="rho must not be given: it is what is calibrated"):
        dh.calibrate(dh.Tables, rho=1, **total, **more)
    assert dh.calibrate(dh.Tables, rho=None, **total, **more).max_rows == 1
