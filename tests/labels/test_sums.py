"""Sums and means of released labels: what they cost, what is drawn, and what is said of them."""

import itertools
import math
import random
import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.labels.threshold.sums import LARGEST_SUM, SumNoise
from dphist.labels.words import sums_in_words

CLAMP = dh.Clamp(0, 4, "0.5")
NOISES = ["laplace", "truncated", "optimal", "gaussian"]
LABELS = ["a", "b", "c", "d"]

Row = tuple[int, str, float]


def made(noise: str = "laplace", **more: Any) -> dh.ThresholdHistogram:
    given = {"epsilon": 1, "delta": "1e-3", "max_labels": 2, "sums": {"x": CLAMP}, **more}
    return dh.ThresholdHistogram(noise=noise, **given)  # type: ignore[arg-type]


def counted(rows: Sequence[Row], sums: Any = None, **more: Any) -> dh.LabelCounts:
    frame = pd.DataFrame(rows, columns=["who", "word", "x"]).astype(
        {"who": "int64", "x": "float64"}
    )
    given = {"max_labels": 2, "sums": {"x": CLAMP} if sums is None else sums, **more}
    return dh.LabelCounts.from_table(frame, label="word", user="who", **given)


def small_tables() -> list[list[Row]]:
    """Two users, with rows of two of three labels each: totals below, within and above."""
    of_one = [
        [],
        [("a", -9.0)],
        [("a", 9.0)],
        [("a", 3.0), ("a", 3.0)],
        [("a", 0.0), ("b", 9.0)],
        [("b", 4.0), ("b", -1.5), ("c", 1.25)],
    ]
    return [
        [(who, *row) for who, rows in enumerate(both) for row in rows]
        for both in itertools.product(of_one, repeat=2)
    ]


def numbers_of(counts: dh.LabelCounts) -> Any:
    return np.array([counts.counts_of(LABELS), *counts.sums_of(LABELS)])


@pytest.mark.parametrize("max_count", [1, 2])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("two", [False, True])
def test_a_user_moves_all_numbers_by_no_more_than_the_cost(
    noise: str, max_count: int, two: bool
) -> None:
    """docs/understand/proofs/sums.md, Lemma 1: all neighbors of small tables, in scales."""
    sums = {"x": CLAMP, "who": dh.Clamp(-3, 1, 1)} if two else {"x": CLAMP}
    if two:
        sums = {"x": CLAMP, "y": dh.Clamp(-3, 1, 1)}
    mechanism = made(noise, max_count=max_count, sums=sums, sums_share="0.3")
    scales = [float(mechanism.noise_scale)]
    scales += [float(answers.noise.scale) for answers in mechanism.sum_answers.values()]
    furthest = 0.0
    for rows in small_tables():
        frame = pd.DataFrame(rows, columns=["who", "word", "x"])
        frame = frame.astype({"who": "int64", "word": "str", "x": "float64"}).assign(y=frame["x"])
        found = [
            numbers_of(
                dh.LabelCounts.from_table(
                    frame[frame["who"] <= last],
                    label="word",
                    user="who",
                    max_labels=2,
                    max_count=max_count,
                    sums=sums,
                )
            )
            for last in (0, 1)
        ]
        moved = np.abs(found[1] - found[0]) / np.array(scales)[:, None]
        assert np.count_nonzero(moved.any(axis=0)) <= 2
        furthest = max(furthest, float((moved**2).sum() if noise == "gaussian" else moved.sum()))
    if noise == "gaussian":
        bound = 2 * float(mechanism.guarantee.rho)
    else:
        assert mechanism.epsilon_guarantee is not None
        bound = float(mechanism.epsilon_guarantee.epsilon)
    assert furthest <= bound * (1 + 1e-9)
    assert furthest >= bound * (0.6 if max_count == 1 else 0.4)  # nearly as much as is paid for


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("share", ["1/2", "0.2", "0.9"])
def test_what_sums_cost(noise: str, share: str) -> None:
    """A share of rho, or of epsilon, pays for them; delta is the threshold's."""
    sums = {"x": CLAMP, "y": dh.Clamp(-1, 1, "0.01")}
    alone, both = made(noise, sums=None), made(noise, sums=sums, sums_share=share)
    part = Fraction(share)
    assert both.guarantee.delta == alone.guarantee.delta
    assert both.threshold == alone.threshold
    if noise == "gaussian":
        whole = alone.guarantee.rho / (1 - part)
        assert 0 <= 1 - both.guarantee.rho / whole < 1e-9
        for answers in both.sum_answers.values():
            reach = answers.clamp.reach(counts_users=True)
            assert math.isclose(
                float(2 * 2 * reach**2 / (2 * answers.noise.scale**2)) * 2,
                2 * float(part * whole),
                rel_tol=1e-9,
            )
    else:
        assert alone.epsilon_guarantee is not None
        assert both.epsilon_guarantee is not None
        assert both.epsilon_guarantee.epsilon == alone.epsilon_guarantee.epsilon / (1 - part)
        assert alone.guarantee.rho < both.guarantee.rho
        rates = [1 / answers.noise.scale for answers in both.sum_answers.values()]
        reaches = [answers.clamp.reach(counts_users=True) for answers in both.sum_answers.values()]
        each = [rate * reach for rate, reach in zip(rates, reaches, strict=True)]
        assert sum(each) == part / (1 - part)


@pytest.mark.parametrize("noise", NOISES)
def test_a_total_is_kept_with_sums(noise: str) -> None:
    mechanism = dh.calibrate(
        dh.ThresholdHistogram,
        epsilon=1,
        delta="1e-6",
        max_labels=2,
        noise=noise,
        sums={"x": CLAMP},
        sums_share="0.25",
    )
    epsilon = mechanism.epsilon_at("1e-6")
    assert Fraction(999, 1000) < epsilon <= 1


def test_losses_of_an_account_have_those_of_sums() -> None:
    for noise in ("laplace", "gaussian"):
        alone, both = made(noise, sums=None), made(noise)
        parts = both.privacy_losses().parts
        if noise == "gaussian":
            assert parts[0].squared == 2 * alone.privacy_losses().parts[0].squared
        else:
            assert len(parts) == 2
            assert parts[1].moved == CLAMP.reach(counts_users=True) == 4
            assert parts[1].rate == Fraction(1, 4)
            assert parts[1].times == 2


def rows_of(users: dict[str, int], value: float) -> list[Row]:
    return [(who, word, value) for word, most in users.items() for who in range(most)]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("listed", [False, True])
def test_the_sums_of_shown_labels_are_released_with_noise_of_their_own(
    noise: str, listed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/understand/proofs/sums.md, Lemma 2: noise is drawn for the labels shown alone."""
    drawn: list[int] = []

    def add(self: SumNoise, sums: Any, source: Any) -> Any:
        drawn.append(len(sums))
        return sums + 10 ** np.arange(len(sums))

    monkeypatch.setattr(SumNoise, "add", add)
    more = {"labels": LABELS, "delta": None if noise in ("laplace", "gaussian") else "1e-3"}
    mechanism = made(noise, epsilon=20, max_labels=3, **(more if listed else {}))
    users = {"a": 300, "b": 200, "c": 1}
    table = mechanism.release(counted(rows_of(users, 3.0), max_labels=3)).value
    shown = LABELS if listed else ["a", "b"]
    assert sorted(table.labels) == sorted(shown)
    assert drawn == [len(shown)]
    steps = {word: (6 - 4) * n for word, n in users.items()}
    extra = sorted(
        table._sums["x"][table.labels.index(word)] - steps.get(word, 0) for word in shown
    )
    assert extra == [10**place for place in range(len(shown))]


def test_noise_is_added_to_clamped_sums_without_wrapping() -> None:
    for gaussian in (True, False):
        noise = SumNoise(gaussian, CLAMP, True, Fraction(3))
        ends = np.array([2**62 - 1, -(2**62) + 1, 0])
        found = noise.add(ends, random.Random(1).randbytes)
        assert abs(found[0] - LARGEST_SUM) < 100
        assert abs(found[1] + LARGEST_SUM) < 100
        assert np.abs(found).max() <= LARGEST_SUM


@pytest.mark.parametrize("gaussian", [True, False])
def test_the_noise_of_a_sum_has_its_scale(gaussian: bool) -> None:
    """Standard deviations within 2 % at 40,000 draws; 0.7 and 1.3 times the scale are far off."""
    noise = SumNoise(gaussian, CLAMP, True, Fraction(50))
    found = noise.add(np.zeros(40_000, np.int64), random.Random(5).randbytes)
    assert math.isclose(float(found.std()), 50 * (1 if gaussian else 2**0.5), rel_tol=0.03)


@pytest.mark.parametrize("gaussian", [True, False])
def test_each_sum_has_noise_of_its_own(gaussian: bool) -> None:
    noise = SumNoise(gaussian, CLAMP, True, Fraction(10**6))
    found = noise.add(np.zeros(100, np.int64), random.Random(6).randbytes)
    assert len(set(found.tolist())) > 90


def test_sums_follow_the_order_of_the_rows() -> None:
    users = {f"word {n}": 40 + 3 * n for n in range(30)}
    rows = [(who, word, 2.0) for word, most in users.items() for who in range(most)]
    mechanism = made(epsilon=50, max_labels=30)
    table = mechanism.release(counted(rows, max_labels=30)).value
    for word, most in users.items():
        if word in table.labels:
            assert math.isclose(table.sum(word, of="x").value, 2 * most, abs_tol=3)


@pytest.mark.parametrize("noise", NOISES)
def test_a_release_is_saved_and_loaded(noise: str, tmp_path: Path) -> None:
    rows = rows_of({"a": 300, "b": 200}, 3.0)
    release = made(noise).release(counted(rows))
    release.save(tmp_path / "r.json")
    again = dh.Release.load(tmp_path / "r.json")
    assert again.value == release.value
    assert again.mechanism == release.mechanism
    assert again.value.mean("a") == release.value.mean("a")
    assert dh.mechanism_from_json(dh.mechanism_to_json(release.mechanism)) == release.mechanism
    columns = ["label", "count", "x_sum", "x_mean"]
    assert list(again.value.to_pandas().columns) == columns
    assert again.value.sums == ["x"]


def test_means_need_counts_of_users() -> None:
    frame = counted(rows_of({"a": 300}, 3.0), max_count=2)
    table = made(max_count=2).release(frame, random.Random(2).randbytes).value
    assert table.sum("a", of="x").low < 900 < table.sum("a", of="x").high
    with pytest.raises(dh.UnsupportedError, match="max_count=1"):
        table.mean("a")
    assert list(table.to_pandas().columns) == ["label", "count", "x_sum"]


def test_a_small_group_says_that_nothing_is_known() -> None:
    mechanism = made(labels=LABELS, delta=None, epsilon="0.1")
    table = mechanism.release(counted(rows_of({"a": 3}, 1.0)), random.Random(3).randbytes).value
    found = table.mean("a")
    assert (found.value, found.low, found.high) == (None, 0.0, 4.0)
    assert "nothing known" in found.note
    assert table.to_pandas()["x_mean"].isna().any()


def test_questions_that_cannot_be_answered() -> None:
    table = made().release(counted(rows_of({"a": 300}, 3.0))).value
    with pytest.raises(dh.ParameterError, match="must be one label of the table"):
        table.mean("zzz")
    with pytest.raises(dh.ParameterError, match="must be one label of the table"):
        table.sum(["a"], of="x")
    with pytest.raises(
        dh.ParameterError, match="of must be a column that was summed; these are: x"
    ):
        table.mean("a", of="y")
    bare = made(sums=None).release(counted(rows_of({"a": 300}, 3.0))).value
    with pytest.raises(dh.ParameterError, match="these are: none"):
        bare.mean("a")
    assert list(bare.to_pandas().columns) == ["label", "count"]
    both = made(sums={"x": CLAMP, "y": CLAMP})
    frame = {"word": ["a"] * 200, "x": [1] * 200, "y": [2] * 200}
    data = dh.LabelCounts.from_table(frame, label="word", sums={"x": CLAMP, "y": CLAMP})
    with pytest.raises(dh.ParameterError, match="of must be one of x, y"):
        both.release(data).value.mean("a")


def test_data_must_be_summed_as_the_mechanism_sums() -> None:
    rows = rows_of({"a": 3}, 1.0)
    others = [{"y": CLAMP}, {"x": dh.Clamp(0, 4, 1)}, {"x": dh.Clamp(0, 2, "0.5")}]
    frame = pd.DataFrame(rows, columns=["who", "word", "x"]).assign(y=1)
    for sums in others:
        data = dh.LabelCounts.from_table(frame, label="word", user="who", max_labels=2, sums=sums)
        with pytest.raises(dh.BoundsError, match="sums of the mechanism needs data with the same"):
            made().release(data)
    bare = dh.LabelCounts.from_counts(["a"], [3], max_labels=2, max_count=1)
    with pytest.raises(dh.BoundsError, match="the same sums"):
        made().release(bare)
    with pytest.raises(dh.BoundsError, match="needs data with the mechanism's own bound"):
        made(max_count=2).release(counted(rows))


@pytest.mark.parametrize(
    "mechanism",
    [
        dh.ThresholdHistogram(epsilon=9, delta="1e-3", max_labels=2),
        dh.ThresholdHistogram(epsilon=9, labels=LABELS, max_labels=2),
        dh.TopThreshold(epsilon=9, delta="1e-3", max_labels=2, k=2),
        dh.TopLabels(epsilon=9, delta="1e-3", max_labels=2, k=1, candidates=2),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_mechanisms_without_sums_release_none(mechanism: Any) -> None:
    """Data that have sums give them to nobody who has not paid for them."""
    data = counted(rows_of({"a": 300, "b": 200}, 3.0))
    for read in (data.filter_batches(lambda batch: batch), data.largest(2)):
        assert read.column_names == ["label", "count"]
    table = mechanism.release(data).value
    assert table.sums == []
    assert set(table.to_arrow().column_names) <= {"label", "count"}
    assert "sums" not in table.to_content()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sums_share": 0}, "sums_share must be above 0"),
        ({"sums_share": 1}, "sums_share must be at least 0 and below 1"),
        ({"sums_share": -1}, "sums_share must be at least 0"),
        ({"sums_share": "x"}, "sums_share must be a finite number"),
        ({"sums": {"x": 3}}, "sums must name columns"),
        ({"sums": {}}, "sums must name columns"),
        ({"sums": {"x": dh.Clamp(0, 2**40, 1)}, "sums_share": "1e-6"}, "sums of that many steps"),
    ],
)
def test_bad_parameters_are_refused(given: Any, said: str) -> None:
    with pytest.raises(dh.ParameterError, match=said):
        made(**given)


def test_correlated_counts_may_have_sums() -> None:
    """The noise of sums is independent, and covers values of both signs."""
    listed = [f"label {n}" for n in range(20)]
    given: Any = {"labels": listed, "delta": None, "max_labels": 20, "noise": "gaussian"}
    alone = made(correlated=True, sums=None, **given)
    both = made(correlated=True, **given)
    assert 0 <= both.guarantee.rho - alone.guarantee.rho - 20 * Fraction(1, 2) < Fraction(1, 10**6)


def test_correlated_counts_are_compared_at_the_same_cost() -> None:
    """Independent noise would pay for the sums as well, so less of its cost is saved."""
    listed = [f"label {n}" for n in range(20)]
    given: Any = {"labels": listed, "delta": None, "max_labels": 20, "noise": "gaussian"}
    both = made(correlated=True, **given)
    alone = made(correlated=False, **given)
    larger = float(both.noise_scale) * math.sqrt(alone.guarantee.rho / both.guarantee.rho)
    said = re.search(r"a count ([0-9.]+) \(([0-9.]+)\)", sums_in_words(both))
    assert said is not None
    assert float(said[2]) == pytest.approx(larger, rel=0.01)


@pytest.mark.parametrize("noise", ["laplace", "truncated", "optimal"])
@pytest.mark.parametrize("share", ["0.1", "1/2", "0.9", "0.99"])
def test_rho_is_at_most_what_the_page_of_the_class_says(noise: str, share: str) -> None:
    mechanism = made(noise, epsilon="0.1", sums_share=share)
    assert mechanism.epsilon_guarantee is not None
    total = float(mechanism.epsilon_guarantee.epsilon)
    assert float(mechanism.guarantee.rho) <= total * math.tanh(total / 2)


def test_sums_are_written_on_their_grid() -> None:
    rows = {"word": ["a"] * 999 + ["b"] * 777, "spent": [0.07] * 999 + [1.13] * 777}
    sums = {"spent": dh.Clamp(0, 2, "0.01")}
    data = dh.LabelCounts.from_table(rows, label="word", sums=sums)
    made = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1, sums=sums)
    for _ in range(20):
        for total in made.release(data).value.to_arrow()["spent_sum"].to_pylist():
            assert repr(total) == repr(round(total, 2))
