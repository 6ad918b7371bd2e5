"""Sums and means of tables: answers, what is refused, and where they are shown."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.tables import KeyedCounts, Tables
from tests.support.command_line import run

KEYS: dict[str, Any] = {"sex": ["f", "m"], "region": ["BE", "UR", "ZH"]}
SUMS = {"spent": dh.Clamp(0, 100, "0.5")}
TABLES = ["sex+region", "region"]


def make_rows(number: int = 3000) -> pd.DataFrame:
    draw = np.random.default_rng(number)
    return pd.DataFrame(
        {
            "sex": draw.choice(KEYS["sex"], number),
            "region": draw.choice(KEYS["region"], number),
            "spent": draw.integers(0, 200, number) / 2,
            "who": np.arange(number),
            "sick": draw.integers(0, 9, number),
        }
    )


ROWS = make_rows()


def make(rho: Any = 50, **more: Any) -> Any:
    given: dict[str, Any] = {"keys": KEYS, "sums": SUMS}
    counts = KeyedCounts.from_table(ROWS, **given)
    return Tables(rho=rho, tables=TABLES, **given, **more).release(counts)


def test_sums_and_means_are_near_the_true_ones() -> None:
    t = make().value
    true = ROWS[ROWS.region == "BE"].spent
    assert t.sums == SUMS
    sums = t.sum("spent", region="BE"), t.sum("spent")
    for found, number in zip(sums, (true.sum(), ROWS.spent.sum()), strict=True):
        assert abs(found.value - number) < 4 * (found.high - found.low) / 2
    mean = t.mean("spent", 0.9, region="BE")
    assert abs(mean.value - true.mean()) < 1
    assert mean.low < mean.value < mean.high
    assert mean.level == 0.9


def test_sums_add_up_in_all_tables() -> None:
    t = make().value.table
    cells = t("sex", "region").to_pandas().groupby("region").spent_sum.sum()
    assert np.allclose(cells.to_numpy(), t("region").to_pandas().spent_sum)
    assert np.allclose(t("region").to_pandas().spent_sum.sum(), t().to_pandas().spent_sum)
    turned = t("region", "sex").to_pandas().set_index(["sex", "region"]).sort_index()
    assert turned.equals(t("sex", "region").to_pandas().set_index(["sex", "region"]).sort_index())


def test_errors_are_those_of_many_releases() -> None:
    given: dict[str, Any] = {"keys": KEYS, "sums": SUMS}
    mechanism = Tables(rho=5, tables=TABLES, **given)
    counts = KeyedCounts.from_table(ROWS, **given)
    true = ROWS.spent.sum(), ROWS[ROWS.region == "BE"].spent.sum()
    found = [mechanism.release(counts).value for _ in range(400)]
    for where, number in (({}, true[0]), ({"region": "BE"}, true[1])):
        sums = [each.sum("spent", **where) for each in found]
        error = (sums[0].high - sums[0].low) / 2 / 1.96
        off = np.array([each.value for each in sums]) - number
        assert abs(off.std() / error - 1) < 0.15
        assert abs(off.mean()) < 4 * error / 20
    stated = mechanism.errors_of_sums()["spent"]["region"]
    assert stated == pytest.approx(error, rel=1e-3)


def test_a_small_group_says_that_nothing_is_known() -> None:
    rows = pd.DataFrame({"sex": ["f"], "region": ["BE"], "spent": [1.0]})
    counts = KeyedCounts.from_table(rows, keys=KEYS, sums=SUMS)
    t = Tables(rho="0.001", keys=KEYS, sums=SUMS, tables=TABLES).release(counts).value
    mean = t.mean("spent", sex="f", region="BE")
    assert (mean.value, mean.low, mean.high) == (None, 0, 100)
    assert t.table("sex", "region").to_arrow()["spent_mean"].null_count > 0


def test_known_counts_make_sums_better() -> None:
    t = make(rho="0.5").value
    known = t.with_known({"": len(ROWS)})
    before, after = (each.sum("spent") for each in (t, known))
    assert after.high - after.low < before.high - before.low
    assert known.sums == SUMS


def test_a_release_is_read_again(tmp_path: Path) -> None:
    release = make()
    release.save(tmp_path / "r.json")
    again = dh.Release.load(tmp_path / "r.json")
    assert again.value == release.value
    assert again.value.mean("spent") == release.value.mean("spent")
    assert again.mechanism == release.mechanism
    content = json.loads((tmp_path / "r.json").read_text())
    for name in list(content["noisy"]):
        if name.startswith("++"):
            content["noisy"][name + "x"] = content["noisy"].pop(name)
            break
    (tmp_path / "r.json").write_text(json.dumps(content))
    with pytest.raises(dh.DphistError):
        dh.Release.load(tmp_path / "r.json")


def test_data_must_be_summed_as_the_mechanism_sums(tmp_path: Path) -> None:
    given: dict[str, Any] = {"keys": KEYS, "user": "who", "max_rows": 1}
    asked = Tables(epsilon=1, delta="1e-6", keys=KEYS, tables=TABLES, sums=SUMS)
    ledger = dh.Ledger.create(tmp_path / "l", epsilon=3, delta="1e-5", unit="one user")
    wider = {"spent": dh.Clamp(0, 200, "0.5")}
    for sums in (None, wider, {"sick": SUMS["spent"]}):
        counts = KeyedCounts.from_table(ROWS, **given, sums=sums)
        with pytest.raises(dh.BoundsError, match="counted with other sums"):
            ledger.release(asked, counts, by="ann", key="1")
    assert ledger.balance().totals.entries == 0
    counts = KeyedCounts.from_table(ROWS, **given, sums=SUMS)
    assert ledger.release(asked, counts, by="ann", key="2").value.sums == SUMS
    ledger.close()
    without = Tables(rho=1, keys=KEYS, tables=TABLES).release(counts)
    assert without.value.sums == {}
    assert not any(name.startswith("+") for name in without.noisy)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"rho": None, "epsilon": 1}, "without a delta"),
        ({"one_row_per": "sex", "max_rows": 2}, "must not both be given: what rows cost"),
        ({"step": "0.5"}, "step must be left out with sums"),
        ({"sums_share": 0}, "must be above 0 and below 1"),
        ({"sums_share": 1}, "below 1"),
        ({"sums": {"spent": 3}}, "must name columns with their clamps"),
        ({"keys": {**KEYS, "spent_mean_low": [1, 2]}}, "must not make a column"),
        ({"rho": "1e-9", "sums": {"spent": dh.Clamp(0, 2**40, 1)}}, "too small for tables"),
        (
            {"keys": {**KEYS, "x": dh.DiscoverKeys(share="0.3")}, "delta": "1e-6"},
            "values are found",
        ),
    ],
)
def test_bad_parameters_are_refused(more: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"rho": 1, "keys": KEYS, "tables": TABLES, "sums": SUMS, **more}
    with pytest.raises(dh.ParameterError, match=said):
        Tables(**given)


def test_unknown_columns_are_refused() -> None:
    t = make().value
    for name in ("who", 3, ["spent"]):
        with pytest.raises(dh.ParameterError, match="these are: spent"):
            t.sum(name)
    with pytest.raises(dh.ParameterError, match="must be a key of the tables"):
        t.mean("spent", age=3)


def test_the_command_sums(tmp_path: Path) -> None:
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    words = (
        f"tables {tmp_path / 'rows.csv'} --axis sex=f,m --tables sex --rho 50 --user who".split()
    )
    words += ["--max-rows", "1", "--sum", "spent=0:100:0.5", "--sums-share", "0.3"]
    words += ["--output", str(tmp_path / "r.json"), "--table", str(tmp_path / "t.csv")]
    assert run(*words) == 0
    release = dh.Release.load(tmp_path / "r.json")
    assert float(release.mechanism.sums_share) == 0.3
    table = pd.read_csv(tmp_path / "t.csv")
    assert [*table.columns[-6:-3]] == ["spent_sum", "spent_sum_low", "spent_sum_high"]
    assert np.allclose(table.spent_mean, release.value.table("sex").to_pandas().spent_mean)
