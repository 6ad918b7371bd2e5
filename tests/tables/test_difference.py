"""Differences of two releases of tables: coverage by the noise of both, and which cells stand."""

from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist.cli import main

KEYS: dict[str, Any] = {"region": ["BE", "UR", "VS"], "age": dh.Axis.regular(0, 40, 20)}
TABLES = ["region", "region+age"]
OCTOBER = np.array([[400, 500], [300, 600], [700, 800]])
NOVEMBER = OCTOBER + np.array([[0, 0], [900, 0], [0, 0]])


def release(counts: Any, epsilon: float = 1, tables: Any = TABLES, **more: Any) -> dh.Release:
    keys = more.pop("keys", KEYS)
    delta = more.pop("delta", "1e-6")
    made = dh.Tables(epsilon=epsilon, delta=delta, keys=keys, tables=tables, **more)
    return made.release(counts)


def test_the_law_of_intervals_is_named() -> None:
    """Tables without a delta have no Gaussian noise: wider intervals, and other words."""
    pure, gaussian = release(OCTOBER, delta=0), release(OCTOBER)
    of_both = str(dh.difference(pure, gaussian))
    for after, normal, one_draw in ((pure, False, True), (gaussian, True, True)):
        said = " ".join(str(dh.difference(pure, after)).split())
        assert ("by the normal law with the exact error" in said) == normal
        assert ("one draw of geometric noise" in said) == one_draw
    assert "one draw" not in str(dh.difference(gaussian, gaussian))
    found = dh.difference(pure, pure)
    reach = 2 * pure.value.reach.of(1 - 0.05 / 2)
    assert reach > 2 * NormalDist().inv_cdf(1 - 0.05 / 4)
    assert (found.high - found.low)[1:3] == pytest.approx(
        2 * reach * pure.value.cell_error(["region"])
    )
    assert "nearly right, and not proved" in " ".join(of_both.split())


def test_intervals_hold_by_the_noise_of_both() -> None:
    truth = np.concatenate([(NOVEMBER - OCTOBER).sum(1), (NOVEMBER - OCTOBER).ravel()])
    missed, runs = np.zeros(truth.size), 40
    for _ in range(runs):
        before, after = release(OCTOBER, 2), release(NOVEMBER, tables=TABLES[::-1])
        found = dh.difference(before, after)
        missed += ~((found.low <= truth) & (truth <= found.high))
        assert found.stands[[1, 5]].all(), "a change of 900"
    assert missed.max() <= 3 + 0.12 * runs
    reach = 2 * NormalDist().inv_cdf(1 - 0.05 / 4)
    errors = [before.value.cell_error(["region"]), after.value.cell_error(["region"])]
    assert (found.high - found.low)[:3] == pytest.approx(reach * sum(errors))
    assert found.places["table"] == ["region"] * 3 + ["region+age"] * 6
    assert found.places["age"][:4] == ["", "", "", "0 to 20"]
    same = dh.difference(before, before)
    assert not same.stands.any()
    assert "Bonferroni over all 9 cells" in str(same)


def test_cells_that_are_others_are_refused() -> None:
    before = release(OCTOBER)
    other: dict[str, Any] = {**KEYS, "region": ["BE", "VS", "UR"]}
    for after, message in (
        (release(OCTOBER, keys=other), "same keys and values"),
        (release(OCTOBER, tables=["region"]), "same tables"),
        (release(OCTOBER, max_rows=2), "same unit"),
    ):
        with pytest.raises(dh.ParameterError, match=message):
            dh.difference(before, after)
    named = release(OCTOBER, keys={"change": KEYS["region"], "age": KEYS["age"]}, tables=["age"])
    with pytest.raises(dh.UnsupportedError, match="'change'"):
        dh.difference(named, named)


def test_rows_that_were_left_out_are_said() -> None:
    frame = {"region": ["BE", "UR", "elsewhere"], "age": [1, 30, 2]}
    table = pa.table(frame)
    dropping = release(dh.KeyedCounts.from_table(table, keys=KEYS, unlisted="drop"))
    refusing = release(dh.KeyedCounts.from_table(table.slice(0, 2), keys=KEYS))
    for before, after, said in (
        (refusing, dropping, "The release after leaves rows outside the keys out"),
        (dropping, refusing, "The release before leaves rows outside the keys out"),
        (dropping, dropping, "Both releases leave rows outside the keys out"),
    ):
        text = " ".join(str(dh.difference(before, after)).split())
        assert said in text
    assert "outside the keys" not in str(dh.difference(refusing, refusing))


def test_on_the_command_line(tmp_path: Path, capsys: Any) -> None:
    paths = [str(tmp_path / name) for name in ("october.json", "november.json")]
    release(OCTOBER).save(paths[0])
    release(NOVEMBER).save(paths[1])
    assert main(["diff", *paths, "--csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "table,region,age,before,after,change,low,high,stands"
    assert lines[6].startswith("region+age,UR,0 to 20,")
    assert lines[6].endswith(",yes")
    assert main(["diff", *paths, "--output", str(tmp_path / "page.html")]) == 0
    assert "region+age, UR, 0 to 20" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["table", "before", "after", "change", "low", "high", "stands"])
def test_a_key_named_as_a_column_of_differences_is_refused(name: str) -> None:
    bins = dh.Axis.regular(0, 20, 10)  # released tables have their edges in place of the name
    held = dh.Tables(epsilon=1, delta="1e-6", keys={name: bins}, tables=[[name]])
    one, two = (held.release([30, 40]) for _ in range(2))
    with pytest.raises(dh.UnsupportedError, match=f"has a column '{name}' of its own"):
        dh.difference(one, two)


def test_it_is_said_that_sums_are_not_compared() -> None:
    frame = {"sex": ["f", "m"] * 50, "spent": [3.0, 5.0] * 50}
    sums = {"spent": dh.Clamp(0, 10, 1)}
    keys = {"sex": ["f", "m"]}
    data = dh.KeyedCounts.from_table(frame, keys=keys, sums=sums)
    made = dh.Tables(rho=1, keys=keys, tables=["sex"], sums=sums)
    one, two = (made.release(data) for _ in range(2))
    said = "Sums and means, which these tables have too, are not."
    assert said in " ".join(str(dh.difference(one, two)).split())
