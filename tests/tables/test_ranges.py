"""Ranges of ordered keys: their errors, answers, and everything that shows them."""

import json
import math
import random
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.cli import main
from dphist.errors import ParameterError
from dphist.report import make_json, report_html, summary_text
from dphist.tables import KeyedTables, Tables
from dphist.tables.contrasts import make_contrasts
from dphist.tables.key_noise import make_noise

KEYS: dict[str, Any] = {
    "age": dh.Axis.regular(0, 70, 10),
    "region": ["a", "b", "c"],
    "year": [1, 2, 3, 4, 5],
    "one": ["x"],
}
ASKED: dict[str, Any] = {
    "keys": KEYS,
    "tables": ["age+region", "region+year", "one"],
    "ranges": ["age", "year"],
}
COUNTS = np.arange(105).reshape(7, 3, 5, 1) * 3
RMSE = {
    16: (1.90, 1.89, 2.45),
    64: (2.64, 2.64, 4.69),
    85: (2.93, 2.92, 5.39),
    256: (3.47, 3.44, 9.27),
}


def release_tables(rho: Any = "1/2", seed: int = 1) -> dh.Release:
    return Tables(rho=rho, **ASKED).release(COUNTS, random.Random(seed).randbytes)


@pytest.mark.parametrize("size", RMSE)
def test_errors_of_all_ranges_are_those_stated(size: int) -> None:
    """The published numbers, or better, in units of a Gaussian count at the same rho."""
    keys, rho, unit = {"age": range(size)}, "0.000005", math.sqrt(1 / 0.00001)
    by_level = Tables(rho=rho, keys=keys, tables=["age"], ranges=["age"])
    weighted = Tables(rho=rho, keys=keys, tables=["age"], ranges=["age"], weights={"age": 1})
    nominal = Tables(rho=rho, keys=keys, tables=["age"], weights={"age": 1})
    found = []
    for mechanism in (by_level, weighted, nominal):
        value = mechanism.decode(
            {name: np.zeros(each, np.int64) for name, each in (("", 1), ("age", size - 1))}
        )
        ends = [(low, high) for low in range(size) for high in range(low, size)]
        some = ends[:: 1 + len(ends) // 800]
        squares = [value.error(age=[*range(low, high + 1)]) ** 2 for low, high in some]
        found.append(math.sqrt(np.mean(squares)) / unit)
    assert by_level.errors_of_ranges()["age"] / unit == pytest.approx(RMSE[size][0], abs=0.005)
    assert weighted.errors_of_ranges()["age"] / unit == pytest.approx(RMSE[size][1], abs=0.005)
    assert not nominal.errors_of_ranges()
    assert found == pytest.approx(RMSE[size], rel=0.02)


def unit_answers(value: KeyedTables, where: Any) -> dict[Any, float]:
    """The coefficient of each noisy contrast in a count: what it is if that contrast alone is 1."""
    found = {}
    for table, held in value.contrasts.items():
        for place in np.ndindex(held.shape):
            ones = {t: np.zeros_like(each) for t, each in value.contrasts.items()}
            ones[table][place] = 1
            alone = KeyedTables(value.keys, value.tables, ones, value.variances)
            found[table, place] = alone.count(**where)
    return found


def variance_of_draw(mechanism: Tables, table: Any, place: tuple[int, ...]) -> float:
    """The variance of the noise of one contrast, by the scales that it is drawn at."""
    kept = mechanism.kept
    inner = tuple(kept.index(i) for i in table)
    own = float(mechanism.scales[inner])
    for i, row in zip(inner, place, strict=True):
        groups = mechanism.lattice.noise(i).groups
        own *= next(float(length) for length, rows in groups if row + 1 in rows)
    return own**2


def test_every_covariance_is_that_of_the_contrasts() -> None:
    """Of counts, differences and shares, and every cell, by the coefficient of each contrast."""
    mechanism = Tables(rho="0.00001", **ASKED)
    value = mechanism.release(COUNTS).value
    wanted: list[Any] = [
        {},
        {"age": (20, 40)},
        {"age": (0, 10), "region": "a"},
        {"age": (30, 70), "region": ["a", "c"]},
        {"year": [4, 5], "region": "b"},
        {"year": [1, 3]},
    ]
    answers = [unit_answers(value, where) for where in wanted]
    noise = {key: variance_of_draw(mechanism, *key) for key in answers[0]}
    for (one, mine), (other, its) in product(zip(wanted, answers, strict=True), repeat=2):
        exact = math.fsum(mine[key] * its[key] * noise[key] for key in noise)
        found = value.covariance(value.make_terms([(1, one)]), value.make_terms([(1, other)]))
        assert found == pytest.approx(exact, rel=1e-5, abs=1e-5 * max(noise.values()))
        pair = value.combine([(1, one), (-2, other)])
        squares = (((mine[key] - 2 * its[key]) ** 2) * noise[key] for key in noise)
        half = value.reach.of(0.95) * math.sqrt(math.fsum(squares))
        assert pair.high - pair.value == pytest.approx(half, rel=1e-4, abs=1e-2)
    errors = value.table("region", "age").errors
    assert errors.shape == (3, 7)
    for region, age in product(range(3), range(7)):
        where = {"age": (10 * age, 10 * age + 10), "region": "abc"[region]}
        assert errors[region, age] == pytest.approx(value.error(**where), rel=1e-9)
    assert len({*errors[0].round(6)}) > 1, "the last value of an odd number has another error"
    assert value.cell_error(["age", "region"]) == pytest.approx(errors.max())
    stated = mechanism.errors_of_cells()
    assert stated["age+region"] == pytest.approx(errors.max(), rel=1e-9)
    assert mechanism.expected_error() == max(stated.values())


def test_the_mean_square_over_ranges_is_the_same_in_all_tables() -> None:
    mechanism = Tables(rho="0.00001", **ASKED)
    value, errors = mechanism.release(COUNTS).value, mechanism.errors_of_ranges()
    assert [*errors] == ["age+region", "region+year"]
    ages = [(low, high) for low in range(0, 70, 10) for high in range(low + 10, 80, 10)]
    years = [[*range(low, high + 1)] for low in range(1, 6) for high in range(low, 6)]
    by_age = [value.error(age=age, region=region) ** 2 for age in ages for region in "abc"]
    by_year = [value.error(year=year) ** 2 for year in years]
    assert math.sqrt(np.mean(by_age)) == pytest.approx(errors["age+region"], rel=1e-5)
    assert math.sqrt(np.mean(by_year)) == pytest.approx(errors["region+year"], rel=1e-5)
    assert errors["age+region"] == pytest.approx(errors["region+year"], rel=1e-6)
    assert value.error() == pytest.approx(errors["age+region"], rel=1e-5)


def test_answers_vary_as_stated() -> None:
    mechanism = Tables(rho="0.5", **ASKED)
    asked: list[Any] = [{"age": (20, 40)}, {"age": (60, 70), "region": "b"}, {"year": [2, 3, 4]}]
    exact = [COUNTS[2:4].sum(), COUNTS[6, 1].sum(), COUNTS[:, :, 1:4].sum()]
    found = []
    for seed in range(500):
        value = mechanism.release(COUNTS, random.Random(seed).randbytes).value
        off = [value.count(**where) - n for where, n in zip(asked, exact, strict=True)]
        cells = value.table("age", "region").counts - COUNTS.sum((2, 3))
        found.append([*off, *cells.ravel()])
    stated = [
        *(value.error(**where) for where in asked),
        *value.table("age", "region").errors.ravel(),
    ]
    ratios = np.mean(np.square(found), axis=0) / np.square(stated)
    assert ratios.min() > 0.72
    assert ratios.max() < 1.30
    assert abs(ratios.mean() - 1) < 0.06
    for at, n in enumerate(exact):
        inside = [abs(row[at]) < 1.96 * stated[at] for row in found]
        assert 0.91 < np.mean(inside) < 0.99, n


def test_variances_of_values_are_those_of_their_contrasts() -> None:
    for size in (2, 3, 5, 8, 11, 21, 64):
        noise, rows = make_noise(size, True), make_contrasts(size).rows()
        factor = np.zeros(size)
        for length, places in noise.groups:
            factor[places] = float(length) ** 2 / (rows[places] ** 2).sum(1) ** 2
        assert noise.of_values() == pytest.approx((rows**2 * factor[:, None]).sum(0), rel=1e-12)
        ranges = [
            np.array([float(low <= at <= high) for at in range(size)])
            for low in range(size)
            for high in range(low, size)
        ]
        mean = np.mean([noise.covariance(each, each) for each in ranges])
        assert float(noise.asked) == pytest.approx(mean, rel=1e-12)
        assert float(noise.rest) == pytest.approx(np.mean([e.mean() ** 2 for e in ranges]))


def test_tables_add_up_and_are_made_whole() -> None:
    value = release_tables().value
    ages = sum(value.count(age=(low, low + 10), region="a") for low in range(0, 70, 10))
    assert ages == pytest.approx(value.count(region="a"))
    whole = value.to_whole_numbers()
    assert whole.count(age=(20, 40)) == sum(whole.count(age=(20, 40), region=r) for r in "abc")
    assert abs(whole.count(age=(20, 40)) - COUNTS[2:4].sum()) < 60
    low, high = value.interval(0.99999, age=(20, 40))
    assert low < COUNTS[2:4].sum() < high
    assert 50 < value.quantile("age", 0.8) < 70
    share = value.share({"age": (20, 40)}, {})
    assert share.low < COUNTS[2:4].sum() / COUNTS.sum() < share.high


def test_a_release_is_saved_shown_and_compared() -> None:
    release = release_tables()
    again = dh.Release.from_json(release.to_json())
    assert again.value == release.value
    assert again.value.ordered == frozenset({0, 2})
    assert again.value.error(age=(0, 30)) == release.value.error(age=(0, 30))
    facts = json.loads(release.to_json())
    assert facts["mechanism"]["parameters"]["ranges"] == ["age", "year"]
    plain = Tables(rho="1/2", keys=KEYS, tables=ASKED["tables"])
    assert plain.ranges is None
    assert plain.decode(release.noisy) != release.value
    shown, page = summary_text(release), report_html(release)
    assert "Ranges" in shown
    assert "each at most ±" in shown
    assert "each number at most ±" in page
    assert "by level of age, year" in release.mechanism.description
    found = dh.difference(release, release_tables(seed=2))
    assert found.to_pandas().shape[0] == 21 + 15 + 1


def test_ledgers_plans_and_targets_take_them(tmp_path: Any) -> None:
    with dh.Ledger.create(tmp_path / "a.ledger", rho="1/2", unit="record") as ledger:
        ledger.release(Tables(rho="1/4", **ASKED), COUNTS, by="a", key="one")
    assert Tables(rho="1/4", **ASKED).dp_event().noise_multiplier == pytest.approx(2**0.5)
    made = dh.for_error(Tables, error=20, delta="1e-6", **ASKED)
    assert made.expected_error() <= 20
    plan = dh.plan(
        "tables", keys=KEYS, tables=ASKED["tables"], ranges=["age", "year"], epsilon=1, delta="1e-6"
    )
    rows = plan.to_pandas()
    assert rows["range_error"][0] == pytest.approx(rows["range_error"][1], rel=1e-3)
    assert rows["range_error"][2] == rows["cell_error"][2]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "text": ({"ranges": "age"}, "ranges must be a list of names"),
    "none": ({"ranges": []}, "ranges must be a list of names"),
    "unknown": ({"ranges": ["sex"]}, "'sex' is none of them"),
    "in no table": ({"ranges": ["age"], "tables": ["region"]}, "'age' is in none"),
    "twice": ({"ranges": ["age", "age"]}, "name each key once"),
    "with errors": ({"errors": {"one": 2}}, "errors and ranges must not both"),
    "pure": ({"rho": None, "epsilon": 1}, "ranges must be left out without a delta"),
    "found": (
        {
            "keys": {**KEYS, "region": dh.DiscoverKeys(share=".3")},
            "delta": "1e-6",
            "ranges": ["region"],
        },
        "ranges must not name 'region': values that are found have no order",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_go_with_ranges_is_refused(name: str) -> None:
    changed, said = REFUSED[name]
    with pytest.raises(ParameterError, match=said):
        Tables(**{"rho": 1, **ASKED, **changed})


def test_known_margins_leave_the_noise_of_other_contrasts() -> None:
    release = release_tables()
    regions = {region: int(n) for region, n in zip("abc", COUNTS.sum((0, 2, 3)), strict=True)}
    known = release.value.with_known({"region": regions})
    assert known.error(region="a") == 0
    assert known.error(region="a", age=(0, 70)) == pytest.approx(0, abs=1e-6)
    for where in ({"age": (20, 40)}, {"age": (20, 40), "region": "a"}):
        assert 0 < known.error(**where) < release.value.error(**where)
    shown = replace(release, value=known)
    assert "which tables state for each" in " ".join(summary_text(shown).split())
    assert dh.Release.from_json(shown.to_json()).value == known


def test_the_command_takes_ranges(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"{age},{sex}\n" for age in range(16) for sex in "fm" for _ in range(20))
    (tmp_path / "rows.csv").write_text("age,sex\n" + rows)
    typed = ["tables", str(tmp_path / "rows.csv"), "--axis", "age=0:16:1", "--axis", "sex=f,m"]
    typed += ["--tables", "sex,age+sex", "--ranges", "age", "--each-row-is-one-person"]
    assert main([*typed, "--epsilon", "1", "--delta", "1e-6", "--json"]) == 0
    made = dh.Release.from_json(capsys.readouterr().out)
    assert made.mechanism.ranges == ("age",)
    assert made.value.error(age=(4, 12)) < made.value.error(age=(4, 12), sex="f") * 2
    assert main([*typed, "--rho", "1", "--exchanged", "--dry-run"]) == 0
    assert "± " in capsys.readouterr().out
    assert main([*typed, "--epsilon", "1"]) != 0
    assert "without a delta" in capsys.readouterr().err


def test_a_key_with_one_value_has_no_ranges(capsys: pytest.CaptureFixture[str]) -> None:
    """It may be named; noise, cost, errors and pages are those without."""
    asked: dict[str, Any] = {"rho": "1/2", "keys": KEYS, "tables": ["region+one"]}
    plain, named = Tables(**asked), Tables(**asked, ranges=["one"])
    assert named.scales == plain.scales
    assert named.exchanged == plain.exchanged
    assert named.description == plain.description
    assert named.errors_of_ranges() == {}
    release = named.release(COUNTS)
    assert "Ranges" not in summary_text(release)
    assert "ranges" not in make_json(release)
    typed = ["tables", "rows.csv", "--axis", "one=x", "--axis", "region=a,b", "--tables"]
    typed += ["one+region", "--ranges", "one", "--rho", "1", "--each-row-is-one-person"]
    assert main([*typed, "--dry-run"]) == 0
    assert "Ranges" not in capsys.readouterr().out
    assert dh.Release.from_json(release.to_json()).value == release.value
    both = Tables(**ASKED | {"rho": "1/2", "ranges": ["age", "one"]})
    assert make_json(both.release(COUNTS))["ranges"]["keys"] == ["age"]
