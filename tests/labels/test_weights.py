"""Weights of rows, such as those of a survey: what labels count, what it costs, what is said."""

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
from dphist.errors import BoundsError, ColumnError, DataError, ParameterError
from dphist.labels.words import chance_in_order, sure_difference
from dphist.noise.repeatable import repeatable_source
from dphist.privacy import PrivacyUnit
from dphist.report import report_html, summary_text

WEIGHT = dh.Weight("w", 0, 20, "0.01")
LISTED: Mapping[str, Any] = {"labels": ["a", "b", "c", "none"]}
FOUND: Mapping[str, Any] = {"delta": "1e-6"}
FORMS: list[Mapping[str, Any]] = [
    {**FOUND, "noise": "laplace"},
    {**FOUND, "noise": "truncated"},
    {**FOUND, "noise": "gaussian"},
    {**LISTED, "noise": "laplace"},
    {**LISTED, **FOUND, "noise": "truncated"},
    {**LISTED, "noise": "gaussian", "other": True},
]


def rows(number: int = 6000) -> pd.DataFrame:
    draw = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "who": [f"u{n}" for n in draw.integers(0, 900, number)],
            "word": draw.choice(["a", "b", "c", "d"], number, p=[0.5, 0.3, 0.15, 0.05]),
            "w": draw.gamma(2, 1.5, number),
        }
    )


def counted(frame: Any = None, count: Any = WEIGHT, **more: Any) -> dh.LabelCounts:
    return dh.LabelCounts.from_table(
        rows() if frame is None else frame, label="word", count=count, **more
    )


def made(step: Any = "0.01", max_count: int = 20, **form: Any) -> dh.ThresholdHistogram:
    asked = {"epsilon": 1, "max_labels": 1, "max_count": max_count, **form}
    return dh.ThresholdHistogram(step=step, **asked)


def steps(frame: pd.DataFrame) -> pd.Series:
    return np.minimum(np.rint(frame["w"] * 100), 2000).astype(int)


def exact(frame: pd.DataFrame) -> dict[str, int]:
    return dict(steps(frame).groupby(frame["word"]).sum())


def test_counts_are_sums_of_weights() -> None:
    frame = rows()
    names = ["a", "b", "c", "d"]
    for held in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame), frame.to_dict("list")):
        found = counted(held)
        assert found.counts_of(names) == [exact(frame)[name] for name in names]
        assert (found.max_labels, found.max_count, found.step) == (1, 20, Fraction(1, 100))
        assert found.unit == PrivacyUnit("row")
    assert "weight=Weight('w', low=0, high=20, step=0.01)" in repr(found)
    assert found.bounds_in_text()["weights"] == "0:20:0.01"


@pytest.mark.parametrize(
    "labels",
    [
        pa.array([1, 2, 1]),
        pa.array([True, False, True]),
        pa.array([1, 2, 1], pa.date32()),
        pa.array(["a", "b", "a"]).dictionary_encode(),
        pa.array([b"a", b"b", b"a"]),
        pa.array([1, 2, 1], pa.timestamp("us", "UTC")),
    ],
)
def test_labels_of_any_type_have_weights(labels: pa.Array) -> None:
    frame = pa.table({"word": labels, "w": [0.5, 3.0, 1.25]})
    plain = dh.LabelCounts.from_table(frame.select(["word"]), label="word")
    found = counted(frame)
    assert found.label_type == plain.label_type
    assert found.largest(5)["count"].to_pylist() == [300, 175]


def test_text_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    rows().to_csv(path, index=False)
    assert counted(path).counts_of(["a", "d"]) == counted().counts_of(["a", "d"])
    path.write_text("word,w\na,0.005\na,0.015\nb,1e2\n")
    assert counted(path).counts_of(["a", "b"]) == [2, 2000]
    for wrong, said in (("-2", "must not be negative"), ("heavy", "must hold numbers, such as")):
        path.write_text(f"word,w\na,{wrong}\n")
        with pytest.raises(DataError, match=f"column 'w' {said}"):
            counted(path)


def test_weights_that_are_none_are_refused() -> None:
    for missing in (None, math.nan):
        with pytest.raises(DataError, match="column 'w' has rows without a value"):
            counted(rows(3).assign(w=[1.0, missing, 2.0]))
    with pytest.raises(DataError, match="column 'w' must not be negative"):
        counted(rows(2).assign(w=[1.0, -1.0]))
    with pytest.raises(ColumnError, match="column 'w' must hold numbers to be weights"):
        counted(pl.DataFrame({"word": ["a", "b"], "w": ["many", "few"]}))


def test_the_weights_of_a_user_and_label_add_up_to_the_bound() -> None:
    frame = rows()
    own = steps(frame).groupby([frame["who"], frame["word"]]).sum()
    for bound in (1, 5, 1000):
        found = counted(frame, user="who", max_labels=4, max_count=bound)
        held = own.clip(upper=100 * bound).groupby(level=1).sum()
        assert found.counts_of(["a", "b", "c", "d"]) == held.tolist()
    assert counted(frame, user="who", max_labels=4).max_count == 20


def test_one_user_adds_no_more_than_the_mechanism_pays_for() -> None:
    """All tables of two rows of one user: what they add, in steps, is at most the sensitivity."""
    weight = dh.Weight("w", 0, 2, "0.25")
    other: dict[str, list[Any]] = {"word": ["a"], "w": [1.0], "who": ["v"]}
    for (one, two), words in product(
        product([0.0, 0.3, 0.8, 2.0, 99.0], repeat=2), (["a", "a"], ["a", "b"])
    ):
        own: dict[str, list[Any]] = {"word": words, "w": [one, two], "who": ["u", "u"]}
        both = {name: other[name] + own[name] for name in other}
        for labels, bound in product((1, 2), (1, 3)):
            asked: dict[str, Any] = {"user": "who", "max_labels": labels, "max_count": bound}
            alone, together = (counted(each, weight, **asked) for each in (other, both))
            mechanism = made("1/4", bound, delta="0.1")
            change = np.diff([each.counts_of(["a", "b"]) for each in (alone, together)], axis=0)
            assert (change >= 0).all()
            assert (change > 0).sum() <= labels
            assert change.max() <= mechanism.most_steps == 4 * bound


def test_rows_that_are_not_listed_count_as_other() -> None:
    frame = rows()
    found = counted(frame, other_than=["a", "b"])
    held = exact(frame)
    assert found.counts_of(["a", "other"]) == [held["a"], held["c"] + held["d"]]
    mechanism = made(labels=["a", "b"], other=True, noise="gaussian")
    assert mechanism.release(found).value.count("other") == pytest.approx(
        (held["c"] + held["d"]) / 100, abs=200
    )


@pytest.mark.parametrize("form", FORMS)
def test_noise_is_that_of_as_many_records_as_there_are_steps(form: Mapping[str, Any]) -> None:
    own, whole = made(**form), made(None, 2000, **form)
    assert own.noise_law() == whole.noise_law()
    assert own.noise_scale == whole.noise_scale / 100
    assert own.law.standard_deviation == pytest.approx(whole.law.standard_deviation / 100)
    assert own.privacy_losses() == whole.privacy_losses()
    assert own.reached_delta == whole.reached_delta
    assert dict(own.guarantee.unit.bounds)["max_count"] == 20
    for name in ("rho", "delta"):
        assert getattr(own.guarantee, name, 0) == getattr(whole.guarantee, name, 0)
    for total in ("1e-5", "1e-7"):
        assert own.epsilon_at(total) == whole.epsilon_at(total)
    if own.threshold is not None:
        assert own.threshold == Fraction(cast("Any", whole.threshold)) / 100
        assert own.most_unshown == pytest.approx((whole.most_unshown or 0) / 100)
    assert own.half_width() == whole.half_width() / 100
    assert own.likely_count(0.9) == whole.likely_count(0.9) / 100
    assert own.release_chance("8.25") == whole.release_chance(825)
    assert own.spread == pytest.approx(whole.spread / 100)
    assert own.reach_of_sum(3) == pytest.approx(whole.reach_of_sum(3) / 100)
    assert (own.largest_error or 0) == (whole.largest_error or 0) / 100
    assert chance_in_order(own, 40) == pytest.approx(chance_in_order(whole, 4000))
    assert sure_difference(own) == sure_difference(whole) / 100


@pytest.mark.parametrize("form", FORMS)
def test_a_release_is_that_of_steps(form: Mapping[str, Any]) -> None:
    listed = None if "other" not in form else form["labels"]
    data, own, whole = counted(other_than=listed), made(**form), made(None, 2000, **form)
    names = [*exact(rows()), "other"]
    found = own.release(data, repeatable_source()).value
    bare = dh.LabelCounts.from_counts(
        names, data.counts_of(names), max_labels=1, max_count=2000, other_than=listed
    )
    same = whole.release(bare, repeatable_source()).value
    assert sorted(found.labels) == sorted(same.labels)
    assert found.steps is not None
    assert np.array_equal(found.counts, found.steps / 100)
    for label in ("a", "b"):
        low, high = found.interval(label)
        width = same.interval(label)[1] - same.interval(label)[0]
        assert (high - low) * 100 == pytest.approx(width)
        assert low <= found.count(label) <= high
        assert abs(found.count(label) - exact(rows())[label] / 100) < 300
    assert found.sum(["a", "b"]).value == pytest.approx(found.count("a") + found.count("b"))


@pytest.mark.parametrize("form", FORMS[:3])
def test_labels_of_few_weights_are_not_shown(form: Mapping[str, Any]) -> None:
    """Many labels of one row each, of the largest weight: each is shown with delta at most."""
    frame = pd.DataFrame({"word": np.arange(2000).astype(str), "w": 20.0})
    release = made(**form).release(counted(frame), repeatable_source())
    assert len(release.value) == 0


@pytest.mark.parametrize("form", FORMS[:3])
def test_intervals_hold(form: Mapping[str, Any]) -> None:
    data, mechanism, source = counted(), made(**form), repeatable_source()
    truth, held = exact(rows())["a"] / 100, 0
    for _ in range(200):
        release = mechanism.release(data, source)
        low, high = release.value.interval("a")
        ends = mechanism.intervals(release)
        assert ends is not None
        place = release.value.labels.index("a")
        assert (ends.lower[place], ends.upper[place]) == (low, high)
        held += low <= truth <= high
    assert 182 <= held <= 200


def test_a_release_is_saved_and_keeps_its_step() -> None:
    release = made(**FORMS[0]).release(counted())
    again = dh.Release.from_json(release.to_json())
    assert again.value == release.value
    assert again.value.step == Fraction(1, 100)
    assert np.array_equal(again.value.counts, release.value.counts)
    assert again.provenance["weights"] == "0:20:0.01"
    assert again.value.interval("a") == release.value.interval("a")
    wrong = release.to_json().replace('"step": "0.01"', '"step": "0.1"', 1)
    assert wrong != release.to_json()
    with pytest.raises(dh.errors.DphistError):
        dh.Release.from_json(wrong)


def test_pages_say_that_records_are_weighted() -> None:
    release = made(**FORMS[1]).release(counted(user="who", max_labels=1))
    summary, page = " ".join(summary_text(release).split()), report_html(release)
    for said in (summary, page):
        assert "their weighted counts" in said
        assert "from 0 to 20 in steps of 0.01" in " ".join(said.split())
    assert "have enough users to be named" not in summary
    assert f"{release.value.count('a'):,} ±" in summary
    assert "in multiples of 0.01" in page
    assert "No interval goes below 0.01" in page


def test_csv_has_numbers_on_the_grid(tmp_path: Path) -> None:
    release = made(**FORMS[2]).release(counted())
    release.to_csv(tmp_path / "out.csv")
    found = pd.read_csv(tmp_path / "out.csv")
    assert np.array_equal(found["count"], release.value.counts)
    for name in ("count", "low", "high"):
        assert np.array_equal(found[name], np.rint(found[name] * 100) / 100)


def test_changes_of_weighted_counts_have_intervals() -> None:
    mechanism = made(**FORMS[2])
    before = mechanism.release(counted())
    after = mechanism.release(counted(rows(3000)))
    found = dh.difference(before, after).to_pandas().set_index("label")
    change = (exact(rows(3000))["a"] - exact(rows())["a"]) / 100
    assert found.loc["a", "low"] - 200 <= change <= found.loc["a", "high"] + 200
    other = made("0.1", **FORMS[2]).release(counted(count=dh.Weight("w", 0, 20, "0.1")))
    with pytest.raises(ParameterError, match="the same step of weights"):
        dh.difference(before, other)


def test_data_and_mechanism_must_have_one_step(tmp_path: Path) -> None:
    data = counted()
    for step in (None, "0.1"):
        with pytest.raises(BoundsError, match=r"step=counts\.step"):
            made(step, **FORMS[0]).release(data)
    with pytest.raises(BoundsError, match="in whole records, and the mechanism"):
        made(**FORMS[0]).release(counted(count=None))
    with pytest.raises(BoundsError, match="in whole records, and the mechanism"):
        made(**FORMS[0]).release(pa.table({"label": ["a"], "count": [3]}))
    with pytest.raises(BoundsError, match="max_count=20"):
        made(max_count=19, **FORMS[0]).release(data)
    for mechanism in (
        dh.TopLabels(k=3, epsilon=1, delta="1e-6", max_labels=1, max_count=20),
        dh.labels.TopThreshold(k=3, epsilon=1, delta="1e-6", max_labels=1, max_count=20),
    ):
        with pytest.raises(BoundsError, match=r"by weights in steps of 0\.01"):
            cast("Any", mechanism).release(data)
    with dh.Ledger.create(tmp_path / "ledger.db", unit="row", epsilon=10, delta="1e-4") as ledger:
        with pytest.raises(BoundsError):
            ledger.release(made(None, **FORMS[0]), data, by="ana", key="1")
        assert len(ledger.entries()) == 2  # that it was opened
        release = ledger.release(made(**FORMS[0]), data, by="ana", key="2")
        assert len(ledger.entries()) == 4  # charged and drawn
        assert release.provenance["weights"] == "0:20:0.01"


def test_what_does_not_go_with_weights_is_refused() -> None:
    given = cast("Any", WEIGHT)
    by_users: dict[str, Any] = {"user": "who", "max_labels": 2}
    calls: list[tuple[Any, str]] = [
        (
            lambda: dh.LabelCounts.partial(
                rows(), label="word", user="who", part=0, parts=2, count=given
            ),
            "where a table is cut into parts",
        ),
        (lambda: counted(**by_users, users_by_labels=20), "users_by_labels must be left out"),
        (lambda: counted(**by_users, keep_sets=True), "keep_sets must be left out"),
        (lambda: counted(sums={"w": dh.Clamp(0, 1, 1)}), "sums must be left out"),
        (lambda: counted(count=dh.Weight("w", 0, 2**20, "1e-8")), r"2\*\*40 steps|steps of we"),
        (lambda: made("0.3", **FORMS[0]), "step must divide 1"),
        (lambda: made(max_count=2**40, **FORMS[0]), "max_count must be at most"),
        (lambda: made(delta="1e-6", noise="optimal", max_count=1), "noise must be another"),
        (lambda: made(**FORMS[0], users_by_labels=10), "step must be left out"),
        (lambda: made(**LISTED, noise="gaussian", correlated=True), "step must be left out"),
        (lambda: made(**FORMS[0], sums={"w": dh.Clamp(0, 1, 1)}), "step must be left out"),
        (lambda: dh.compare("labels", counted(), epsilons=[1], delta="1e-6"), "sums of weights"),
        (
            lambda: dh.audit(made(**FORMS[0]), delta="1e-5"),
            "must count whole records to be audited",
        ),
        (lambda: made(**FORMS[0]).release_chance(-1), "count must be at least 0"),
    ]
    for call, said in calls:
        with pytest.raises(ParameterError, match=said):
            call()


def test_the_best_noise_is_one_that_takes_weights() -> None:
    given: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "max_labels": 1, "max_count": 1}
    found = dh.calibrate(dh.ThresholdHistogram, noise="best", step="0.01", **given)
    assert found.noise == "truncated"
    assert found.step == Fraction(1, 100)
    assert [*found.compare_noises()] == ["truncated", "laplace", "gaussian"]


def test_a_command_line_takes_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "rows.csv", tmp_path / "out.json"
    rows().to_csv(path, index=False)
    asked = ["labels", str(path), "--label", "word", "--epsilon", "1", "--delta", "1e-6"]
    asked += ["--weight", "w=0:20:0.01"]
    alone = "--each-row-is-one-person"
    assert main([*asked, alone, "--dry-run"]) == 0
    assert "a row counts as its weight, from 0 to 20" in " ".join(capsys.readouterr().out.split())
    assert main([*asked, alone, "--output", str(out), "--overwrite"]) == 0
    release = dh.Release.from_json(out.read_text())
    assert (release.mechanism.step, release.mechanism.max_count) == (Fraction(1, 100), 20)
    users = ["--user", "who", "--max-labels", "2", "--max-count", "30"]
    assert main([*asked, *users, "--output", str(out), "--overwrite"]) == 0
    assert dh.Release.from_json(out.read_text()).mechanism.max_count == 30
    for wrong in (["--count", "w"], ["--noise", "optimal"], ["--only-labels"]):
        assert main([*asked, alone, *wrong]) == 2
    assert main([*asked, "--user", "who"]) == 2  # the number of labels is not found
    assert main([*asked, "--weight", "0:20:0.01", alone]) == 2
