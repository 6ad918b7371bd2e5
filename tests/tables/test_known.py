"""Known margins, which are given and not measured: proofs/tables.md, Lemma 14."""

import itertools
import math
import random
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.report import make_json, report_html, summary_text
from dphist.tables.keyed_tables import KeyedTables
from dphist.tables.kind import KIND

KEYS: dict[str, Any] = {
    "region": ["BE", "UR", "ZH"],
    "sex": ["f", "m"],
    "age": dh.Axis.regular(0, 80, 20),
    "year": [2024],
}
SHAPE = (3, 2, 4, 1)
COUNTS = np.random.default_rng(1).poisson(40, SHAPE)
REGION = COUNTS.sum(axis=(1, 2, 3))
SEX_AGE = COUNTS.sum(axis=(0, 3))
NOISES: dict[str, dict[str, Any]] = {
    "Gaussian": {"rho": "0.05", "tables": ["region+sex+age"]},
    "weights": {"rho": "0.05", "tables": ["region+sex+age", "sex"], "weights": {"sex": 20}},
    "pure, on cells": {"epsilon": "0.5", "tables": ["region+sex+age"]},
    "pure, on contrasts": {"epsilon": "0.5", "tables": ["region+sex", "sex+age", "region+age"]},
}
MARGINS: dict[str, dict[Any, Any]] = {
    "total": {"": int(COUNTS.sum())},
    "one key": {"region": REGION},
    "two margins": {"region": REGION, "age+sex": SEX_AGE.T},
    "contained": {(): int(COUNTS.sum()), "sex+year": SEX_AGE.sum(axis=1)[:, None]},
}


def release_of(seed: int = 1, **given: Any) -> dh.Release:
    made = dh.Tables(keys=KEYS, **(given or NOISES["Gaussian"]))
    return made.release(COUNTS, random.Random(seed).randbytes)


def value_of(seed: int = 1, **given: Any) -> KeyedTables:
    value: KeyedTables = release_of(seed, **given).value
    return value


def sums_of(margin: str) -> np.ndarray:
    """Return the matrix that sums all cells to a margin."""
    own = [
        np.eye(n) if name in margin else np.ones((1, n))
        for name, n in zip(KEYS, SHAPE, strict=True)
    ]
    return reduce(np.kron, own)


def covariance_of_cells(variances: Mapping[Any, float]) -> np.ndarray:
    """Return the covariance of all cells, by the variances of contrasts."""
    found = np.zeros((COUNTS.size, COUNTS.size))
    for table, variance in variances.items():
        each = [
            np.eye(n) - 1 / n if i in table else np.full((n, n), 1 / n**2)
            for i, n in enumerate(SHAPE)
        ]
        found += variance * reduce(np.kron, each)
    return found


@pytest.mark.parametrize("margins", MARGINS)
@pytest.mark.parametrize("noise", ["Gaussian", "weights", "pure, on cells"])
def test_they_are_the_closest_tables_in_the_geometry_of_the_noise(noise: str, margins: str) -> None:
    """Generalized least squares of all cells, by matrices: estimates and their covariance."""
    measured = value_of(**NOISES[noise])
    known = measured.with_known(MARGINS[margins])
    names = ("region", "sex", "age")
    sums = np.concatenate(
        [sums_of("".join(known.keys.names[i] for i in t)) for t in known_of(known)]
    )
    exact = sums @ COUNTS.ravel()
    before = covariance_of_cells(measured.variances)
    gain = before @ sums.T @ np.linalg.pinv(sums @ before @ sums.T)
    cells = measured.table(*names).counts.ravel()
    wanted = cells - gain @ (sums @ cells - exact)
    assert known.table(*names).counts.ravel() == pytest.approx(wanted, abs=1e-6)
    after = before - gain @ sums @ before
    assert covariance_of_cells(known.variances) == pytest.approx(after, abs=1e-6 * before.max())
    assert known.table(*names).errors.ravel() ** 2 == pytest.approx(np.diag(after), rel=1e-6)


def known_of(tables: KeyedTables) -> list[Any]:
    assert tables.known is not None
    return [*tables.known.margins]


@pytest.mark.parametrize("margins", MARGINS)
@pytest.mark.parametrize("noise", NOISES)
def test_known_cells_are_exact_and_other_contrasts_stay(noise: str, margins: str) -> None:
    measured = value_of(**NOISES[noise])
    known = measured.with_known(MARGINS[margins])
    inside = {
        part
        for table in known_of(known)
        for most in range(len(table) + 1)
        for part in itertools.combinations(table, most)
    }
    for part in measured.contrasts:
        names = [known.keys.names[i] for i in part]
        shown = known.table(*names)
        others = tuple(i for i in range(4) if i not in part)
        if part in inside:
            assert known.variances[part] == 0
            assert shown.counts.tolist() == COUNTS.sum(axis=others).tolist()
            assert not shown.errors.any()
            assert known.bounds(names)[0].tolist() == known.bounds(names)[1].tolist()
        else:
            assert known.variances[part] == measured.variances[part]
            assert known.contrasts[part].tolist() == measured.contrasts[part].tolist()
            assert 0 < known.cell_error(names) < measured.cell_error(names)
    assert known.error() == 0
    assert known.total == COUNTS.sum()
    assert known.count(year=2024) == known.total


@pytest.mark.verify
@pytest.mark.parametrize("noise", NOISES)
def test_cells_vary_as_stated(noise: str) -> None:
    mechanism = dh.Tables(keys=KEYS, **NOISES[noise])
    source, draws = random.Random(7).randbytes, 800
    true = COUNTS.sum(axis=(2, 3))
    off, held = np.zeros((draws, *true.shape)), 0
    for draw in range(draws):
        t = mechanism.release(COUNTS, source).value.with_known(MARGINS["one key"])
        off[draw] = t.table("region", "sex").counts - true
        low, high = t.bounds(["region", "sex"])
        held += int(((low <= true) & (true <= high)).sum())
    error = t.cell_error(["region", "sex"])
    assert np.abs(off.mean(axis=0)).max() < 4.5 * error / math.sqrt(draws)
    assert 0.75 < (off**2).mean() / error**2 < 1.15
    assert 0.93 < held / draws / true.size < 0.985


def test_margins_are_given_in_several_ways_and_one_after_the_other() -> None:
    measured = value_of()
    by_value = dict(zip(KEYS["region"], REGION.tolist(), strict=True))
    frame = pd.DataFrame({"region": KEYS["region"][::-1], "count": REGION[::-1]})
    both = COUNTS.sum(axis=(2, 3))
    pairs = {
        (r, s): int(both[i, j])
        for i, r in enumerate(KEYS["region"])
        for j, s in enumerate(KEYS["sex"])
    }
    one = measured.with_known({"region": REGION})
    for given in (by_value, frame, REGION.tolist(), [*REGION]):
        assert measured.with_known({"region": given}) == one
    assert measured.with_known({"": COUNTS.sum()}).with_known({"region": by_value}) == one
    two = measured.with_known({"region+sex": both})
    long = pd.DataFrame(
        [(*cell, n) for cell, n in pairs.items()], columns=["region", "sex", "count"]
    )
    for given in (pairs, long, both.tolist()):
        assert measured.with_known({("region", "sex"): given}) == two
    assert one.with_known({"sex+region": both.T}) == two != one


BAD: list[tuple[Any, str]] = [
    ({}, "name at least one margin"),
    (7311, "name at least one margin"),
    ({"": 7311.5}, "whole numbers"),
    ({"": -7311}, "whole numbers"),
    ({"": True}, "whole numbers"),
    ({"": math.nan}, "whole numbers"),
    ({"": math.inf}, "whole numbers"),
    ({"": 2**53 + 1}, "whole numbers"),
    ({"": None}, "whole numbers"),
    ({"": [7311, 1]}, "a dimension for each key"),
    ({"sex": [7311, 1, 1]}, "a dimension for each key"),
    ({"sex+region": COUNTS.sum(axis=(2, 3))}, "a dimension for each key"),
    ({"sex": [[7311, 1]]}, "a dimension for each key"),
    ({"sex": "7311"}, "whole numbers"),
    ({"sex": {"f": 7311}}, "give every cell"),
    ({"sex": {"f": 7311, "m": 1, "x": 2}}, "name values of the keys"),
    ({"age": {"0.0": 7311}}, "must be an array"),
    ({"sex": pd.DataFrame({"sex": ["f", "f"], "count": [7311, 1]})}, "each cell once"),
    ({"sex": pd.DataFrame({"sex": ["f", "m"], "n": [7311, 1]})}, "columns of keys"),
    ({"planet": 7311}, "'planet' is none"),
    ({3: 7311}, "name margins by their keys"),
    ({"sex+sex": 7311}, "different keys"),
    ({"sex": [7311, 1], "region": [7311, 1, 1]}, "differ in their sums"),
    ({"": 7311, "sex": [7311, 1]}, "differ in their sums"),
    (
        {"region+sex": [[1, 1]] * 3, "sex+age": [[2, 0, 0, 0], [4, 0, 0, 0]]},
        "differ .* \\('sex'\\)",
    ),
    ({"sex": [3, 3], ("sex",): [3, 3]}, "once"),
]


@pytest.mark.parametrize(("margins", "said"), BAD)
def test_faults_are_named_without_a_number(margins: Any, said: str) -> None:
    with pytest.raises(dh.ParameterError, match=said) as caught:
        value_of().with_known(margins)
    assert str(caught.value).startswith("margins must")
    assert "7311" not in str(caught.value)


def test_margins_agree_with_what_is_known_already_and_impossible() -> None:
    with pytest.raises(dh.ParameterError, match="known before"):
        value_of().with_known({"": 900}).with_known({"": 901})
    rules = [{"sex": "m", "region": "UR"}]
    asked = dh.Tables(rho=1, keys=KEYS, tables=["region+sex"], impossible=rules)
    measured = asked.release(COUNTS).value
    with pytest.raises(dh.ParameterError, match="must be 0 where values are impossible"):
        measured.with_known({"region+sex": [[10, 10], [10, 1], [10, 10]]})
    whole = measured.with_known({"region": [20, 10, 30]}).to_whole_numbers()
    assert whole.table("region").counts.tolist() == [20, 10, 30]
    assert whole.count(sex="m", region="UR") == 0


def test_margins_of_tables_that_were_not_measured_are_refused() -> None:
    measured = value_of(rho=1, tables=["region+sex", "age"])
    with pytest.raises(dh.ParameterError, match="has together"):
        measured.with_known({"sex+age": SEX_AGE})


def test_shares_and_quantiles_use_them() -> None:
    measured = value_of(rho=1, tables=["region+sex+age"])
    known = measured.with_known({"region": REGION, "age": COUNTS.sum(axis=(0, 1, 3))})
    share = known.share({"region": "BE"}, {})
    assert share.low == pytest.approx(REGION[0] / REGION.sum())
    assert share.high == pytest.approx(REGION[0] / REGION.sum())
    one, two = (t.share({"region": "BE", "sex": "f"}, {"region": "BE"}) for t in (measured, known))
    assert two.high - two.low < one.high - one.low
    assert 0 < known.quantile("age", 0.5) < 80


def test_a_release_with_them_is_saved_and_read_and_says_so() -> None:
    release = release_of()
    known = replace(release, value=release.value.with_known(MARGINS["two margins"]))
    again = dh.Release.from_json(known.to_json())
    assert again == known
    assert again.value == known.value != release.value
    assert again.redecode().value == known.value
    assert again.noisy.keys() == release.noisy.keys()  # what was measured is kept
    assert "known, not measured: region, sex+age" in repr(again)
    assert "known" not in repr(release).lower()
    for show in (summary_text, report_html):
        shown = re.sub(r"\s+", " ", re.sub("<[^>]+>", "", show(again)))
        assert "not measured" in shown
        assert "neighbors that agree in these numbers" in shown
        assert "not measured" not in show(release)
    assert make_json(again)["known"] == ["region", "sex+age"]
    assert make_json(again)["total"] == COUNTS.sum()
    public = "".join(map(str, KIND.disclosed(again.mechanism, again.value).public))
    assert "by region; by sex and age" in public
    assert "Protected are neighbors that agree in these numbers" in public
    total = release.value.with_known(MARGINS["total"])
    public = "".join(map(str, KIND.disclosed(release.mechanism, total).public))
    assert "exchanging one record for another leaves the number of all as it is" in public


@pytest.mark.parametrize("margins", MARGINS)
def test_whole_numbers_keep_the_margin_with_most_cells(margins: str) -> None:
    """In one table that has all others in it; the total also where there are several."""
    for tables, exact in ((["region+sex+age"], True), (["region+sex", "sex+age"], False)):
        for seed, rho in ((1, 1), (2, "0.001")):
            measured = value_of(seed, rho=rho, tables=tables)
            known = measured.with_known(MARGINS[margins])
            whole = known.to_whole_numbers()
            assert whole.total == COUNTS.sum()
            assert all((whole.table(*t.split("+")).counts >= 0).all() for t in tables)
            off = {}
            for names in known.known.names:
                off[names] = np.abs(whole.table(*names).counts - known.table(*names).counts).sum()
            if exact:
                assert off[max(off, key=lambda names: len(known.table(*names)))] == 0
            # Of 961 records: without the margins, those of single keys are off by 100 or more.
            assert max(off.values()) <= 10
