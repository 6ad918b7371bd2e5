"""DiscoverLabels: what it takes, what it gives out, and what it says beforehand."""

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm

import dphist as dh
from dphist.errors import BoundsError, ParameterError, ReleaseFileError
from tests.support.labels.discover.sets import data, sets
from tests.support.mechanisms.cases import signed

STRONG = dh.DiscoverLabels(epsilon=100, delta="1e-6", max_labels=3)


def of(rows: Sequence[tuple[object, object]], **options: Any) -> dh.LabelCounts:
    table = pa.table({"who": [who for who, _ in rows], "term": [term for _, term in rows]})
    named: dict[str, Any] = {"label": "term", "user": "who", "max_labels": 3, **options}
    return dh.LabelCounts.from_table(table, keep_sets=True, **named)


ROWS: list[tuple[object, object]] = [(i, t) for i in range(90) for t in ("wine", "Bread", "açaí")]


def test_common_labels_are_found_and_rare_ones_are_not() -> None:
    release = STRONG.release(of([*ROWS, (1000, "mine")]))
    assert release.value.labels == ["Bread", "açaí", "wine"]
    assert release.value.counts is None
    assert release.noisy == {}
    assert release.total is None


@pytest.mark.usefixtures("repeatable")
def test_labels_come_in_their_own_order() -> None:
    """Whatever order rows and users come in, and whatever the noise is."""
    draw = np.random.default_rng(0)
    labels = [f"t{i}" for i in range(40)]
    rows: list[tuple[object, object]] = [
        (10 * i + j, label)
        for i, label in enumerate(labels)
        for j in range(10 + 100 * (i % 3 == 0))
    ]
    for _ in range(3):
        shuffled = [rows[i] for i in draw.permutation(len(rows))]
        found = dh.DiscoverLabels(epsilon=1, delta="1e-6", max_labels=3).release(of(shuffled))
        assert found.value.labels == sorted(found.value.labels)
        assert len(found.value) > 5


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([3, 1, 2], pa.int64()),
        ([b"\xff", b"", b"a"], pa.binary()),
        ([True, False], pa.bool_()),
        ([1, 10**12], pa.timestamp("us", "UTC")),
        ([7, 8], pa.date32()),
    ],
)
def test_labels_of_any_type(labels: list[object], kind: pa.DataType, tmp_path: Path) -> None:
    column = pa.array(labels * 90, pa.int64()).cast(pa.int32()) if kind == pa.date32() else None
    terms = pa.array(labels * 90, kind) if column is None else column.cast(kind)
    who = [i // len(labels) for i in range(len(terms))]
    counts = dh.LabelCounts.from_table(
        pa.table({"who": who, "term": terms}),
        label="term",
        user="who",
        max_labels=3,
        keep_sets=True,
    )
    release = STRONG.release(counts)
    table = release.value.to_arrow()
    assert table.schema.field("label").type == kind
    assert len(table) == len(labels)
    release.save(tmp_path / "r.json")
    assert dh.Release.load(tmp_path / "r.json") == release


def test_no_rows_and_rows_that_are_users() -> None:
    empty = pa.table({"who": pa.array([], pa.int64()), "term": pa.array([], pa.string())})
    options: dict[str, Any] = {"label": "term", "max_labels": 3, "keep_sets": True}
    counts = dh.LabelCounts.from_table(empty, user="who", **options)
    assert STRONG.release(counts).value.labels == []
    rows = pa.table({"term": ["a"] * 50 + ["b"]})
    for keep in (False, True):
        alone = dh.LabelCounts.from_table(rows, label="term", keep_sets=keep)
        assert STRONG.release(alone).value.labels == ["a"]
    separate = of([(None, "a")] * 50 + [(None, "b")], null_users="separate")
    assert STRONG.release(separate).value.labels == ["a"]


def test_a_plain_table_of_counts() -> None:
    table = pa.table({"label": ["x", "y", "z"], "count": [90, 80, 1]})
    assert STRONG.release(table).value.labels == ["x", "y"]
    assert STRONG.release(table).value.to_arrow().schema.names == ["label"]


def test_who_has_which_label_is_asked_for() -> None:
    rows = pa.table({"who": [1, 2], "term": ["a", "b"]})
    counted = dh.LabelCounts.from_table(rows, label="term", user="who", max_labels=3)
    with pytest.raises(ParameterError, match="keep_sets=True"):
        STRONG.release(counted)


def test_sets_are_not_shown() -> None:
    counts = of([(1, "SENTINEL-7f3a")] * 3)
    for shown in (repr(counts), str(counts), repr(counts.sets), str(counts.bounds_in_text())):
        assert "SENTINEL" not in shown
        assert "array" not in shown


def test_sets_hold_no_counts() -> None:
    rows = pa.table({"who": [1, 2], "term": ["a", "b"]})
    wrong: list[dict[str, Any]] = [{"max_count": 2}, {"users_by_labels": 9}]
    for options in wrong:
        with pytest.raises(ParameterError, match="keep_sets needs max_count=1"):
            dh.LabelCounts.from_table(
                rows, label="term", user="who", max_labels=3, keep_sets=True, **options
            )


def test_data_with_larger_bounds_are_refused() -> None:
    for most in (4, None):
        with pytest.raises(BoundsError):
            STRONG.release(of(ROWS, max_labels=most))
    with pytest.raises(BoundsError):
        STRONG.release(dh.LabelCounts.from_counts(["a"], [1], max_labels=3, max_count=2))


def test_other_mechanisms_take_the_same_data() -> None:
    found = dh.ThresholdHistogram(epsilon=100, delta="1e-6", max_labels=3).release(of(ROWS))
    assert found.value.labels == ["Bread", "açaí", "wine"]


@pytest.mark.parametrize("bad", [
    {"epsilon": 0}, {"epsilon": "1e-9"}, {"epsilon": "1e9"}, {"delta": 0}, {"delta": 1},
    {"max_labels": 0}, {"max_labels": 2**20 + 1}, {"looks": 0}, {"looks": 65}, {"looks": 1.5},
])  # fmt: skip
def test_bad_parameters(bad: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        dh.DiscoverLabels(**{"epsilon": 1, "delta": "1e-6", "max_labels": 3, **bad})  # type: ignore[arg-type]


@pytest.mark.verify
@pytest.mark.usefixtures("repeatable")
def test_more_looks_find_more_at_the_same_cost() -> None:
    """On labels of which many are out of reach, as they nearly always are."""
    draw = np.random.default_rng(3)
    chances = (3 + np.arange(3000)) ** -0.8
    users = [
        draw.choice(3000, 40, replace=False, p=chances / chances.sum()).tolist()
        for _ in range(3000)
    ]
    found = []
    for looks in (1, 4, 16):
        asked = dh.calibrate(dh.DiscoverLabels, epsilon=1, delta="1e-6", max_labels=40, looks=looks)
        assert asked.epsilon_at("1e-6") <= 1
        found.append(len(asked.release(data(sets(users, [0] * 3000), 40)).value))
    assert found[0] * 1.3 < found[1]
    assert found[1] * 1.05 < found[2]


@pytest.mark.usefixtures("repeatable")
def test_what_is_likely_of_a_plain_table() -> None:
    mechanism = dh.DiscoverLabels(epsilon="1/4", delta="1e-6", max_labels=9)
    enough = mechanism.likely_count(0.95)
    table = pa.table({"label": np.arange(4000), "count": np.full(4000, enough)})
    shown = len(mechanism.release(table).value)
    assert 3700 < shown < 3900  # 3800 are expected, give or take 14, and what one user adds
    assert mechanism.expected_error().appears_from == enough


def test_a_file_with_counts_is_refused() -> None:
    content = json.loads(STRONG.release(of(ROWS)).to_json())
    content["value"]["counts"] = [1, 2, 3]
    with pytest.raises(ReleaseFileError):
        dh.Release.from_json(signed(content))


def test_what_a_release_costs() -> None:
    """That of one Gaussian with a sensitivity of 1, however many looks there are."""
    for looks in (1, 16):
        mechanism = dh.DiscoverLabels(epsilon="1/4", delta="1e-7", max_labels=9, looks=looks)
        assert mechanism.guarantee == dh.ApproxZCDP(
            Fraction(1, 32), "1e-7", mechanism.guarantee.unit
        )
        stated = mechanism.epsilon_at("1e-6")
        assert stated is not None
        epsilon, mu = float(stated), 0.25
        exact = norm.sf(epsilon / mu - mu / 2) - math.exp(epsilon) * norm.sf(epsilon / mu + mu / 2)
        assert exact == pytest.approx(9e-7, rel=1e-6)
        assert mechanism.epsilon_at("1e-7") is None
        four = mechanism.epsilon_at("1e-6", releases=4)
        assert four is not None
        assert four > 2 * stated
