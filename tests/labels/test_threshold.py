"""ThresholdHistogram: parameters, data of any kind, order, bounds, saving."""

import datetime
import json
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dphist import ZCDP, ApproxDP, ApproxZCDP, PureDP, Release
from dphist.data.label_counts import LabelCounts
from dphist.errors import BoundsError, ColumnError, DataError, DphistError, ParameterError
from dphist.labels.measuring import LARGEST_COUNT
from dphist.labels.threshold import noise as module
from dphist.labels.threshold.mechanism import ThresholdHistogram
from dphist.labels.threshold.noise import AboveThreshold, GaussianNoise, GeometricNoise
from dphist.noise.gaussian_epsilon import gaussian_epsilon
from dphist.release.label_table import LabelTable
from tests.support.refusal import NUMBER

NOISES: list[Any] = ["laplace", "gaussian"]


def histogram(**changes: Any) -> ThresholdHistogram:
    parameters: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "max_labels": 2}
    return ThresholdHistogram(**{**parameters, **changes})


def counts(
    labels: Any, values: list[int], max_labels: int | None = 1, max_count: int = 1
) -> LabelCounts:
    return LabelCounts.from_counts(labels, values, max_labels=max_labels, max_count=max_count)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("delta", 1),
        ("delta", 2),
        ("delta", 0),
        ("delta", -0.5),
        ("delta", None),
        ("delta", float("nan")),
        ("delta", "1/" + "3" * 200),
        ("epsilon", 0),
        ("epsilon", -1),
        ("epsilon", float("nan")),
        ("epsilon", float("inf")),
        ("epsilon", "1e-12"),
        ("epsilon", "1e9"),
        ("max_labels", 0),
        ("max_labels", -3),
        ("max_labels", 1.0),
        ("max_labels", None),
        ("max_labels", True),
        ("max_labels", 2**41),
        ("max_count", 0),
        ("max_count", 2**41),
        ("max_count", 10**10),
        ("noise", "foo"),
        ("noise", None),
        ("labels", []),
        ("labels", ["a", "a"]),
        ("labels", ["a", 1]),
        ("labels", [1.5]),
        ("labels", [None]),
        ("labels", "ab"),
        ("labels", 3),
        ("labels", ["a"]),  # with a delta
    ],
)
def test_bad_parameters_are_refused_by_name(noise: Any, name: str, value: object) -> None:
    with pytest.raises(ParameterError, match="delta" if value == ["a"] else name):
        histogram(**{"noise": noise, name: value})


def test_parameters_are_required_and_named() -> None:
    with pytest.raises(TypeError):
        ThresholdHistogram(1, "1e-6", 10)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        ThresholdHistogram(delta="1e-6", max_labels=10)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        ThresholdHistogram(epsilon=1, delta="1e-6")  # type: ignore[call-arg]


def test_guarantees_are_known_before_data() -> None:
    laplace, gaussian = (histogram(max_labels=10, noise=noise) for noise in NOISES)
    each = PureDP(1).to_zcdp().rho
    assert laplace.guarantee == ApproxZCDP(10 * each, "1e-6", unit="user")
    assert laplace.epsilon_guarantee == ApproxDP(10, "1e-6", unit="user")
    assert gaussian.guarantee == ApproxZCDP(5, "1e-6", unit="user")
    assert gaussian.epsilon_guarantee is None
    assert laplace.guarantee.rho < gaussian.guarantee.rho
    assert laplace.threshold == 16
    assert gaussian.threshold == Fraction(6) + Fraction(409, 2050)
    assert 0 < laplace.reached_delta <= Fraction(1, 10**6)


def test_the_best_known_epsilon_is_claimed() -> None:
    laplace, gaussian = (histogram(max_labels=10, noise=noise) for noise in NOISES)
    direct = ApproxDP(10, "1e-6", unit="user")
    assert laplace.to_approx_dp("1e-6") == direct  # only that one is known
    assert laplace.to_approx_dp("2e-6").epsilon == 10
    many = histogram(max_labels=1000, epsilon="0.01")
    assert many.to_approx_dp("2e-6") == many.guarantee.to_approx_dp("2e-6")
    assert many.to_approx_dp("2e-6").epsilon < 10
    # Of Gaussian noise the exact epsilon is known, 7 % below what its zCDP shows.
    exact, shown = gaussian.to_approx_dp("2e-6"), gaussian.guarantee.to_approx_dp("2e-6")
    assert exact == ApproxDP(gaussian_epsilon(Fraction(10), Fraction("2e-6")), "2e-6", "user")
    assert 0.92 * shown.epsilon < exact.epsilon < 0.94 * shown.epsilon
    for mechanism in (laplace, gaussian):
        with pytest.raises(ParameterError, match="delta"):
            mechanism.to_approx_dp("1e-7")


@pytest.mark.parametrize("noise", NOISES)
def test_listed_labels_have_no_delta(noise: Any) -> None:
    known = histogram(delta=None, labels=["a", "b", "c"], noise=noise)
    each = PureDP(1).to_zcdp().rho if noise == "laplace" else Fraction(1, 2)
    assert known.guarantee == ZCDP(2 * each, unit="user")
    assert known.epsilon_guarantee == (PureDP(2, unit="user") if noise == "laplace" else None)
    assert known.threshold is None
    assert known.reached_delta == 0
    assert histogram(delta=0, labels=["a"], noise=noise).delta is None
    # A user changes no more labels than are listed.
    assert histogram(delta=None, labels=["a"], noise=noise).guarantee == ZCDP(each, "user")


@pytest.mark.parametrize("noise", NOISES)
def test_listed_labels_are_all_released_and_no_others(noise: Any, seeded: Any) -> None:
    known = histogram(delta=None, labels=["rare", "common", "absent"], noise=noise, epsilon=20)
    data = counts(["common", "rare", "unlisted"], [500, 20, 900])
    released = known.release(data, seeded(1)).value
    assert released.labels == ["common", "rare", "absent"]
    assert np.abs(released.counts - [500, 20, 0]).max() <= 3


def test_noise_may_make_listed_counts_negative(seeded: Any) -> None:
    known = ThresholdHistogram(epsilon="0.1", max_labels=1, labels=list(range(100)))
    released = known.release(counts(pa.array([1]), [5]), seeded(2)).value
    assert sorted(released.labels) == list(range(100))
    assert released.counts.min() < 0


FRAMES: list[Callable[[dict[str, list[Any]]], Any]] = [
    pd.DataFrame,
    pl.DataFrame,
    pl.LazyFrame,
    pa.table,
    lambda columns: duckdb.from_arrow(pa.table(columns)),
]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("make", FRAMES)
def test_a_bare_frame_is_read_and_its_rows_added_up(make: Any, noise: Any, seeded: Any) -> None:
    rows = {"other": [0, 0, 0, 0], "count": [70, 1, 0, 70], "label": ["a", "b", "c", "a"]}
    released = histogram(noise=noise).release(make(rows), seeded(5))
    assert released.value.labels == ["a"]
    assert abs(released.value.counts[0] - 140) < 20
    assert released.value.to_arrow().schema.field("label").type == pa.string()


@pytest.mark.quick(every=3)
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("kind", [pa.string(), pa.int64(), pa.bool_(), pa.date32()])
def test_no_rows_release_no_rows(noise: Any, kind: pa.DataType) -> None:
    empty = pa.table({"label": pa.array([], kind), "count": pa.array([], pa.int64())})
    release = histogram(noise=noise).release(empty)
    assert len(release.value) == 0
    assert release.value.to_arrow().schema.field("label").type == kind
    assert Release.from_json(release.to_json()) == release
    if kind == pa.string():
        known = histogram(noise=noise, labels=["a", "b"], delta=None).release(empty)
        assert sorted(known.value.labels) == ["a", "b"]


LABELS = [
    ["Grüße", ""],
    [3, -7],
    [True, False],
    [datetime.date(2024, 2, 29), datetime.date(1, 1, 1)],
    [datetime.datetime(2024, 2, 29, 1, 2, 3, 4), datetime.datetime(1970, 1, 1)],
]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("labels", LABELS, ids=str)
@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.quick(every=4)
def test_releases_are_saved_and_loaded(labels: list[Any], noise: Any, listed: bool) -> None:
    changes = {"labels": labels, "delta": None} if listed else {}
    mechanism = histogram(noise=noise, **changes)
    release = mechanism.release(pa.table({"label": labels, "count": [90, 60]}))
    assert release.value.labels == labels
    loaded = Release.from_json(release.to_json())
    assert loaded == release
    assert loaded.mechanism == mechanism
    assert loaded.guarantee == mechanism.guarantee
    assert loaded.value == release.value


def test_listed_labels_of_another_kind_are_refused() -> None:
    data = counts(["a"], [1])
    for labels in ([1, 2], [True], [datetime.date(2024, 1, 1)]):
        known = histogram(labels=labels, delta=None)
        if isinstance(labels[0], datetime.date):  # held as text, so it is a text like any other
            assert len(known.release(data).value) == 1
        else:
            with pytest.raises(ColumnError, match="labels"):
                known.release(data)


@pytest.mark.parametrize("noise", NOISES)
def test_data_with_larger_bounds_are_refused(noise: Any) -> None:
    mechanism = histogram(noise=noise, max_labels=3, max_count=2)
    assert len(mechanism.release(counts(["a"], [90], 3, 2)).value) == 1
    for max_labels, max_count, name in (
        (4, 1, "max_labels"),
        (None, 1, "max_labels"),
        (3, 3, "max_count"),
    ):
        with pytest.raises(BoundsError, match=name) as refusal:
            mechanism.release(counts([str(NUMBER)], [NUMBER], max_labels, max_count))
        assert str(NUMBER) not in str(refusal.value)


def test_a_user_cannot_change_more_labels_than_are_listed() -> None:
    data = counts(["a"], [90], None)
    assert len(histogram(labels=["a", "b"], delta=None).release(data).value) == 2
    with pytest.raises(BoundsError, match="max_labels"):
        histogram(labels=["a", "b", "c"], delta=None).release(data)


BAD_FRAMES: list[tuple[Any, type[DphistError]]] = [
    ([1, 2], ParameterError),
    ({"label": ["a"]}, ColumnError),
    ({"label": [1.5], "count": [NUMBER]}, ColumnError),
    ({"label": [["a"]], "count": [NUMBER]}, ColumnError),
    ({"label": ["a"], "count": [1.5]}, ColumnError),
    ({"label": ["a"], "count": ["b"]}, ColumnError),
    ({"label": [None, "a"], "count": [NUMBER, 1]}, DataError),
    ({"label": [str(NUMBER), "a"], "count": [None, 1]}, DataError),
    ({"label": [str(NUMBER), "a"], "count": [-NUMBER, 1]}, DataError),
]


@pytest.mark.parametrize("columns", BAD_FRAMES, ids=str)
def test_bad_frames_are_refused_without_showing_data(columns: Any) -> None:
    content, error = columns
    frame = pa.table(content) if isinstance(content, dict) else content
    with pytest.raises(error) as refusal:
        histogram().release(frame)
    assert str(NUMBER) not in str(refusal.value)
    assert refusal.value.__cause__ is None


def test_unsigned_counts_beyond_int64_are_refused() -> None:
    frame = pa.table({"label": ["a"], "count": pa.array([2**63], pa.uint64())})
    with pytest.raises(DataError, match="count"):
        histogram().release(frame)


@pytest.mark.parametrize("noise", NOISES)
def test_huge_counts_do_not_wrap(noise: Any) -> None:
    rows = pa.table({"label": ["a", "a", "b", "c"], "count": [2**62 - 1, 2**62 - 1, 2**62 - 1, 1]})
    released = histogram(noise=noise).release(rows).value
    assert sorted(released.labels) == ["a", "b"]
    assert all(abs(count - LARGEST_COUNT) < 100 for count in released.counts.tolist())


@pytest.mark.parametrize("noise", NOISES)
def test_rows_come_by_released_count_then_label_whatever_the_input_s_order(
    noise: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise that is a function of the label alone stands for equal noise in both orders."""
    monkeypatch.setattr("dphist.counting.bounding.stores._ROWS_AT_ONCE", 3)
    labels = [f"label {k}" for k in range(12)]
    values = [40, 40, 41, 39, 1, 90, 40, 2, 90, 41, 40, 77]
    for name in ("two_sided_geometric", "rounded_gaussian"):
        monkeypatch.setattr(module, name, lambda p, size, source=None: np.zeros(size, np.int64))
    published = set()
    for order in (
        list(range(12)),
        list(range(11, -1, -1)),
        list(np.random.default_rng(1).permutation(12)),
    ):
        data = LabelCounts.promised(
            pa.table({"label": [labels[i] for i in order], "count": [values[i] for i in order]}),
            1,
            1,
        )
        released = histogram(noise=noise).release(data)
        published.add(released.to_json())
        rows = list(zip((-released.value.counts).tolist(), released.value.labels, strict=True))
        assert rows == sorted(rows)
        assert len(rows) == 10
    assert len(published) == 1


@pytest.mark.parametrize("noise", NOISES)
def test_a_label_below_the_threshold_leaves_no_trace(
    noise: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("two_sided_geometric", "rounded_gaussian"):
        monkeypatch.setattr(module, name, lambda p, size, source=None: np.zeros(size, np.int64))
    mechanism = histogram(noise=noise)
    without = mechanism.release(counts(["a", "b"], [60, 50]))
    with_it = mechanism.release(counts([str(NUMBER), "b", "a"], [1, 50, 60]))
    assert with_it.to_json() == without.to_json()
    assert repr(with_it) == repr(without)
    assert mechanism.release(counts([str(NUMBER)], [1])).value.labels == []


def test_a_release_says_no_more_than_its_rows(seeded: Any) -> None:
    release = histogram().release(counts(["a", "b"], [60, 1]), seeded(1))
    content = json.loads(release.to_json())
    assert set(content["value"]) == {"label_type", "labels", "counts"}
    assert content["noisy"] == {}
    assert content["total"] is None
    assert isinstance(release.value, LabelTable)


def copied(keep: AboveThreshold) -> Any:
    return pickle.loads(pickle.dumps(keep))  # noqa: S301 - our own bytes


@pytest.mark.parametrize("noise", [GeometricNoise(Fraction(1, 9)), GaussianNoise(Fraction(9))])
def test_keep_travels_and_draws_anew_in_each_batch(noise: Any) -> None:
    keep = copied(AboveThreshold(noise, Fraction(1, 2) if hasattr(noise, "sigma") else 1))
    batch = pa.RecordBatch.from_pydict({"label": list(range(50)), "count": [10**6] * 50})
    first, second = keep(batch), keep(batch)
    assert first.schema == batch.schema
    assert first["label"].to_pylist() == list(range(50))
    assert first["count"] != second["count"]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("epsilon", "max_count"), [(1, 1), ("0.05", 3), (4, 1)])
@pytest.mark.quick(every=4)
def test_chances_of_release(noise: Any, epsilon: Any, max_count: int, seeded: Any) -> None:
    mechanism = histogram(noise=noise, epsilon=epsilon, max_count=max_count, max_labels=1)
    for chance in (0.05, 0.5, 0.95):
        count = mechanism.likely_count(chance)
        assert mechanism.release_chance(count) >= chance > mechanism.release_chance(count - 1)
        runs = 20_000
        data = LabelCounts.promised(
            pa.table({"label": range(runs), "count": [count] * runs}), 1, max_count
        )
        share = len(mechanism.release(data, seeded(4)).value) / runs
        assert share == pytest.approx(mechanism.release_chance(count), abs=0.02)
    for bad in (0, 1, float("nan")):
        with pytest.raises(ParameterError, match="chance"):
            mechanism.likely_count(bad)
    assert histogram(labels=["a"], delta=None).release_chance(0) == 1


def test_a_released_value_is_the_compared_real_one_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """At every step of the grid the value is N rounded, and it is compared before that."""
    mechanism = histogram(noise="gaussian", epsilon="0.5", delta="0.3", max_labels=1)
    fine = module.grid(mechanism.noise_scale)
    steps = np.arange(-6 * fine, 6 * fine + 1)
    monkeypatch.setattr(module, "rounded_gaussian", lambda p, size, source=None: steps)
    data = LabelCounts.promised(pa.table({"label": steps, "count": [3] * len(steps)}), 1, 1)
    released = mechanism.release(data).value
    found = dict(zip(released.labels, released.counts.tolist(), strict=True))
    threshold = mechanism.threshold
    assert threshold is not None
    for step in steps.tolist():
        real = 3 + Fraction(step, fine)  # all reals rounded to `step` are on one side of both
        assert (step in found) == (real > threshold)
        if step in found:
            assert found[step] == int((2 * real + 1) // 2)


def test_it_says_what_it_does() -> None:
    assert "geometric" in histogram().description
    assert "Gaussian" in histogram(noise="gaussian").description
    assert "listed" in histogram(labels=["a"], delta=None).description


@pytest.mark.parametrize("noise", NOISES)
def test_labels_of_count_0_are_none(noise: Any) -> None:
    """A caller's table of all labels there are says nothing about those nobody has."""
    wide = histogram(noise=noise, epsilon="0.001", delta="0.9", max_labels=1)
    frame = pa.table({"label": range(1000), "count": [0] * 1000})
    assert len(wide.release(frame).value) == 0
