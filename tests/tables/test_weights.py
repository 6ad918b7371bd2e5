"""Weights of rows, such as those of a survey: what is counted, what it costs, and what is said."""

import copy
import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dphist as dh
from dphist.cli import main
from dphist.errors import BoundsError, ColumnError, DataError, ParameterError, UnsupportedError
from dphist.noise.repeatable import repeatable_source
from dphist.privacy import PrivacyUnit
from dphist.report import report_html, summary_text
from dphist.tables import KeyedCounts, Tables

KEYS: Mapping[str, Any] = {"sex": ["f", "m"], "age": [1, 2, 3]}
WEIGHT = dh.Weight("w", 0, 20, "0.01")
ASKED: Mapping[str, Any] = {"keys": KEYS, "tables": ["sex+age"], "max_rows": 20, "step": "0.01"}


def rows(number: int = 400) -> pd.DataFrame:
    draw = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "who": [f"u{n}" for n in draw.integers(0, 90, number)],
            "sex": draw.choice(["f", "m"], number),
            "age": draw.integers(1, 4, number),
            "w": draw.gamma(2, 1.5, number),
        }
    )


def counted(frame: Any = None, count: Any = WEIGHT, **more: Any) -> KeyedCounts:
    return KeyedCounts.from_table(
        rows() if frame is None else frame, keys=KEYS, count=count, **more
    )


def of(
    weights: pa.Array, low: Any = 0, high: Any = 20, step: Any = "0.01", **more: Any
) -> list[int]:
    """Return what rows of the first cell count, each by itself, in steps."""
    found = []
    for _ in range(len(weights)):
        frame = pa.table({"sex": ["f"], "age": [1], "w": weights.slice(len(found), 1)})
        counts = counted(frame, dh.Weight("w", low, high, step)).counts
        found.append(int(counts.sum()))
    return found


def test_weights_are_rounded_and_clamped_to_public_bounds() -> None:
    floats = pa.array([0.37, 12.5, 0.005, 0.015, 20.004, 1e300, math.inf, 0.0, -0.0, -0.004])
    assert of(floats) == [37, 1250, 1, 1, 2000, 2000, 2000, 0, 0, 0]  # 0.005 is above its text
    assert of(pa.array([0, 3, 10**18])) == [0, 300, 2000]
    assert of(floats, low=1, high=2, step="0.5") == [2, 4, 2, 2, 4, 4, 4, 2, 2, 2]
    assert of(pa.array([0.3, 0.7, 5.0]), high="2.5", step="0.5") == [1, 1, 5]


def test_counts_are_sums_of_weights() -> None:
    frame = rows()
    steps = np.minimum(np.rint(frame["w"] * 100), 2000).astype(int)
    exact = steps.groupby([frame["sex"], frame["age"]]).sum()
    for held in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame), frame.to_dict("list")):
        found = counted(held)
        assert found.sum_over((0, 1)).ravel().tolist() == exact.tolist()
        assert (found.max_rows, found.unit, found.step) == (
            20,
            PrivacyUnit("row"),
            Fraction(1, 100),
        )
    assert found == copy.deepcopy(found)
    assert "weight=Weight('w', low=0, high=20, step=0.01)" in repr(found)


def test_text_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    rows().to_csv(path, index=False)
    assert counted(path) == counted()
    path.write_text("sex,age,w\nf,1,0.005\nf,1,0.015\nm,2,1e2\n")
    assert counted(path).counts.tolist() == [2, 2000]  # by decimal values, halfway to even
    path.write_text("sex,age,w\nf,1,-2\n")
    with pytest.raises(DataError, match="column 'w' must not be negative"):
        counted(path)
    path.write_text("sex,age,w\nf,1,heavy\n")
    with pytest.raises(DataError, match=r"column 'w' must hold numbers, such as 12, 0\.5"):
        counted(path)


@pytest.mark.parametrize("wrong", [-1.0, -math.inf])
def test_negative_weights_are_refused(wrong: float) -> None:
    with pytest.raises(DataError, match="column 'w' must not be negative"):
        counted(rows(3).assign(w=[1.0, wrong, 2.0]))


def test_missing_weights_and_other_types_are_refused() -> None:
    for missing in (None, math.nan):
        with pytest.raises(DataError, match="column 'w' has rows without a value"):
            counted(rows(3).assign(w=[1.0, missing, 2.0]))
    with pytest.raises(ColumnError, match="column 'w' must hold numbers"):
        counted(rows(2).assign(w=pd.to_datetime(["2024-01-01"] * 2)))


def test_a_row_outside_the_keys_may_weigh_anything() -> None:
    frame = rows(3).assign(sex=["f", "x", "m"], w=[1.0, -3.0, 2.0])
    assert counted(frame, unlisted="drop").counts.sum() == 300


def test_the_weights_of_a_user_add_up_to_the_bound() -> None:
    frame = rows()
    own = np.rint(frame["w"] * 100).astype(int).groupby(frame["who"]).sum()
    for bound in (1, 5, 1000):
        found = counted(frame, user="who", max_rows=bound)
        assert found.counts.sum() == own.clip(upper=100 * bound).sum()
        assert (found.max_rows, found.unit) == (bound, PrivacyUnit("user"))


def test_one_row_or_user_adds_no_more_than_the_mechanism_pays_for() -> None:
    """All tables of two rows of one user: what they add, in steps, is at most the sensitivity."""
    weights = [0.0, 0.3, 0.8, 2.0, 99.0]
    weight = dh.Weight("w", 0, 2, "0.25")
    other: dict[str, Any] = {"sex": ["f"], "age": [3], "w": [1.0], "who": ["v"]}
    for (one, two), cells in product(product(weights, repeat=2), ([1, 1], [1, 2])):
        own: dict[str, Any] = {"sex": ["m"] * 2, "age": cells, "w": [one, two], "who": ["u"] * 2}
        both = {name: other[name] + own[name] for name in other}
        for asked in ({}, {"user": "who", "max_rows": 3}):
            alone, together = (counted(each, weight, **asked) for each in (other, both))
            made = Tables(rho=1, keys=KEYS, tables=["sex+age"], max_rows=alone.max_rows, step="1/4")
            change = together.sum_over((0, 1)) - alone.sum_over((0, 1))
            assert (change >= 0).all()
            rows_added = 1 if asked else 2  # without users, each row is a unit
            assert change.sum() <= rows_added * made.max_rows * 4


@pytest.mark.parametrize(
    "budget", [{"rho": "0.5"}, {"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}]
)
def test_noise_is_that_of_as_many_records_as_there_are_steps(budget: Any) -> None:
    own = Tables(**ASKED, **budget)
    steps = Tables(**{**ASKED, "step": None, "max_rows": 2000}, **budget)
    assert own.scales == steps.scales
    assert own.noise_scale == steps.noise_scale / 100
    for names, error in steps.errors_of_cells().items():
        assert own.errors_of_cells()[names] == pytest.approx(error / 100)
    assert own.law.standard_deviation == pytest.approx(steps.law.standard_deviation / 100)
    assert own.reach == steps.reach
    assert own.privacy_losses() == steps.privacy_losses()
    assert own.guarantee.unit == PrivacyUnit("record", 20)
    for name in ("rho", "epsilon", "delta"):
        assert getattr(own.guarantee, name, 0) == getattr(steps.guarantee, name, 0)
        assert getattr(own.exchanged, name, 0) == getattr(steps.exchanged, name, 0)


@pytest.mark.parametrize("budget", [{"rho": "0.5"}, {"epsilon": 1}])
def test_released_numbers_are_in_records(budget: Any) -> None:
    made, data, source = Tables(**ASKED, **budget), counted(), repeatable_source()
    exact = data.sum_over((0, 1)) / 100
    errors, held = [], 0
    for _ in range(150):
        release = made.release(data, source)
        shown = release.value.table("sex", "age")
        errors.append(shown.counts - exact)
        low, high = release.value.bounds(["sex", "age"])
        held += int(((low <= exact) & (exact <= high)).sum())
        assert release.total == max(round(release.value.total), 0)
    assert np.std(errors) == pytest.approx(made.errors_of_cells()["sex+age"], rel=0.15)
    assert shown.errors[0, 0] == pytest.approx(made.errors_of_cells()["sex+age"], rel=1e-6)
    assert abs(np.mean(errors)) < 4 * np.std(errors) / np.sqrt(150)
    assert held >= 0.92 * 150 * 6
    low, high = release.value.interval(sex="f")
    assert (low + high) / 2 == pytest.approx(release.value.count(sex="f"))
    assert release.value.count(sex="f") == pytest.approx(exact[0].sum(), abs=5 * (high - low))


def test_a_release_is_saved_and_keeps_its_step() -> None:
    release = Tables(**ASKED, rho="0.5").release(counted())
    again = dh.Release.from_json(release.to_json())
    assert again.value == release.value
    assert again.value.step == Fraction(1, 100)
    assert again.value.total == release.value.total
    assert again.provenance["weights"] == "0:20:0.01"
    plain = Tables(**{**ASKED, "step": None}, rho="0.5")
    assert plain.decode(release.noisy) != release.value


def test_pages_say_that_records_are_weighted() -> None:
    release = Tables(**ASKED, rho="0.5").release(counted())
    summary, page = summary_text(release), report_html(release)
    for said in (summary, page):
        assert "Weighted records by sex and age" in said
        assert "from 0 to 20 in steps of 0.01" in " ".join(said.split())
    assert "records, weighted, each row bounded to 20 records" in " ".join(summary.split())
    assert "one row, which counts with up to 20 records" in " ".join(summary.split())
    assert "rounded to multiples of 0.01" in page
    assert "whole-numbers" not in page
    assert "weighted records" in repr(release.value)
    total = f"{release.value.total:,.1f}"
    assert total in summary


def test_data_and_mechanism_must_have_one_step() -> None:
    data = counted()
    for step in (None, "0.1"):
        with pytest.raises(BoundsError, match=r"step=counts\.step"):
            Tables(**{**ASKED, "step": step}, rho=1).release(data)
    with pytest.raises(BoundsError, match="in whole records, and the mechanism"):
        Tables(**ASKED, rho=1).release(counted(count=None))
    with pytest.raises(BoundsError, match="max_rows=20"):
        Tables(**{**ASKED, "max_rows": 19}, rho=1).release(data)
    with pytest.raises(ParameterError, match="counts must be KeyedCounts of weights"):
        Tables(**ASKED, rho=1).release(np.ones((2, 3), int))


def test_what_does_not_go_with_weights_is_refused(tmp_path: Path) -> None:
    found = {"age": [1], "sex": dh.DiscoverKeys(share="0.5")}
    groups: dict[str, Any] = {
        "groups": {"sex": ["f", "m"]},
        "column": "age",
        "bins": [0, 2, 4],
    }
    value, given = Tables(**ASKED, rho=1).release(counted()).value, cast("Any", WEIGHT)
    calls: list[tuple[Any, str]] = [
        (
            lambda: KeyedCounts.from_table(rows(), keys=found, count=WEIGHT),
            "count must be a column",
        ),
        (
            lambda: KeyedCounts.partial(
                rows(), keys=KEYS, user="who", max_rows=1, part=0, parts=2, count=given
            ),
            "where a table is cut into parts",
        ),
        (
            lambda: dh.GroupedCounts.from_table(rows(), **groups, count=given),
            "where groups are counted",
        ),
        (lambda: dh.GroupedCounts(counted()), "must"),
        (lambda: dh.compare("tables", counted(), epsilons=[1], delta="1e-6"), "sums of weights"),
        (
            lambda: counted(count=dh.Weight("w", 0, 20, "1e-6")),
            "max_rows must be at most 1,000,000",
        ),
        (lambda: Tables(**{**ASKED, "step": "0.3"}, rho=1), "step must divide 1"),
        (lambda: Tables(**{**ASKED, "max_rows": 2}, rho=1, one_row_per="age"), "step must be"),
        (lambda: counted(user="who", max_rows=1, one_row_per="age"), "one_row_per"),
    ]
    for call, said in calls:
        with pytest.raises(ParameterError, match=said):
            call()
    for refused in (value.to_whole_numbers, lambda: value.with_known({"": 900})):
        with pytest.raises(UnsupportedError):
            refused()
    with pytest.raises(UnsupportedError, match="tables of weights are not audited"):
        dh.audit(Tables(**ASKED, epsilon=1))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("", 0, 1, 1), "column must be the name"),
        (("w", -1, 1, 1), "low must be at least 0"),
        (("w", 0, 0, 1), "ascending order"),
        (("w", 0, 1, "0.3"), "must divide"),
        (("w", 0, 2, 2), "step must divide 1"),
        (("w", 0, "nan", 1), "high"),
    ],
)
def test_weights_that_cannot_be_are_refused(given: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        dh.Weight(*given)


def test_a_command_line_takes_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "rows.csv", tmp_path / "out.json"
    rows().to_csv(path, index=False)
    asked = ["tables", str(path), "--axis", "sex=f,m", "--axis", "age=1,2,3", "--tables", "sex+age"]
    asked += ["--rho", "0.5", "--weight", "w=0:20:0.01"]
    alone = "--each-row-is-one-person"
    assert main([*asked, alone, "--dry-run"]) == 0
    assert "a row counts as its weight, from 0 to 20" in " ".join(capsys.readouterr().out.split())
    assert main([*asked, alone, "--dry-run"]) == 0
    assert "one row, which counts with up to 20" in " ".join(capsys.readouterr().out.split())
    assert main([*asked, alone, "--output", str(out), "--overwrite"]) == 0
    release = dh.Release.from_json(out.read_text())
    assert (release.mechanism.step, release.mechanism.max_rows) == (Fraction(1, 100), 20)
    assert (
        main([*asked, "--user", "who", "--max-rows", "30", "--output", str(out), "--overwrite"])
        == 0
    )
    assert dh.Release.from_json(out.read_text()).mechanism.max_rows == 30
    for wrong in (["--count", "w"], ["--weight", "0:20:0.01"]):
        assert main([*asked, alone, *wrong]) == 2
