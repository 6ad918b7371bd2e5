"""Lemmas 1 to 4 of docs/understand/proofs/auto_threshold.md."""

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2, norm

import dphist as dh
from dphist.counting.bounding.stores import Sets
from dphist.lab.auditing.replay import loss_of_neighbours, record, replay
from dphist.labels.auto.law import TOPS, change_of_sum, list_caps, list_cells
from dphist.labels.auto.measuring import count_cut, count_users_of_sets, sum_largest
from dphist.labels.threshold.law import grid
from tests.support.labels.discover.sets import data, sets

LABELS = 450
CASES = [
    dh.AutoThreshold(epsilon="1/4", delta="1e-6", max_labels=420),
    dh.AutoThreshold(epsilon=2, delta="1e-9", max_labels=12, look="1/3"),
    dh.AutoThreshold(epsilon="1e-3", delta="1e-3", max_labels=1, look="0.9"),
]
every_case = pytest.mark.parametrize("mechanism", CASES, ids=lambda m: f"{m.max_labels}")


def people(seed: int, most: int) -> list[list[int]]:
    """Users with few and many labels; the first has as many as one may."""
    draw = np.random.default_rng(seed)
    found = [
        draw.choice(LABELS, int(n), replace=False).tolist() for n in draw.integers(1, most + 1, 90)
    ]
    return [[*range(most)], *([label] for label in range(LABELS)), *found]


def held(users: list[list[int]]) -> Sets:
    return sets(users, singles=[1000 - label for label in range(LABELS)])


def make_releaser(mechanism: dh.AutoThreshold) -> Callable[[Sets], Any]:
    return lambda held: mechanism.release(data(held, mechanism.max_labels)).value


def looked(mechanism: dh.AutoThreshold) -> Callable[[Sets], Any]:
    """What is released beside the counts, whose exact numbers differ."""
    return lambda held: [
        numbers.tolist()
        for numbers in mechanism.release(data(held, mechanism.max_labels)).noisy.values()
    ]


def take_the_largest_cap(patch: pytest.MonkeyPatch) -> None:
    """With it no user is cut, so that all randomness is noise."""
    patch.setattr(dh.AutoThreshold, "choose", lambda self, users, sums: self.max_labels)


@every_case
def test_a_user_costs_the_guarantee_and_not_more(
    mechanism: dh.AutoThreshold, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of numbers of users, sums and counts together, at the cap at which they cost the most."""
    take_the_largest_cap(monkeypatch)
    fine = grid(mechanism.division.count_scale(mechanism.max_labels))
    told = {4: lambda held: fine * np.array(held.counts()["count"])}
    users = people(1, mechanism.max_labels)
    others = held(users[1:])
    for one, other in ((held(users), others), (others, held(users))):
        _, rho = loss_of_neighbours(make_releaser(mechanism), one, other, told=told)
        assert rho <= mechanism.guarantee.rho
        assert rho > Fraction(99, 100) * mechanism.guarantee.rho


@every_case
def test_other_data_with_the_same_noisy_look_ask_for_the_same(mechanism: dh.AutoThreshold) -> None:
    """The cap, its noise and its threshold follow from noisy numbers and parameters alone."""
    transcript = record(looked(mechanism), held(people(2, mechanism.max_labels)))
    intervals = len(mechanism.cells)
    assert [request.size for request in transcript.requests] == [intervals, 1, 1, 1, LABELS]
    scales = {cap: mechanism.division.count_scale(cap) for cap in mechanism.caps}
    assert transcript.requests[4].parameter in {grid(scale) * scale for scale in scales.values()}
    for far in (held([[5]] * 3000), held(people(3, max(mechanism.max_labels // 3, 1)))):
        replay(transcript, looked(mechanism), far)


def test_one_user_is_in_one_interval_and_moves_sums_by_so_much() -> None:
    """All small tables: with a user, against without."""
    universe = [list(each) for size in (1, 2, 3) for each in itertools.combinations(range(3), size)]
    cells = list_cells(3)
    for tables in itertools.product(universe, repeat=3):
        one, other = sets(tables, [0, 1, 0]), sets(tables[:-1], [0, 1, 0])
        moved = count_users_of_sets(one, cells) - count_users_of_sets(other, cells)
        assert sorted(moved) == [0] * (len(moved) - 1) + [1]
        change = sum_largest(one) - sum_largest(other)
        assert (change >= 0).all()
        assert (change <= [change_of_sum(top, 3) for top in TOPS]).all()


def test_users_are_counted_before_any_cut() -> None:
    users = [[*range(n)] for n in (1, 2, 3, 6, 7, 8, 9, 25, 26, 30)]
    found = count_users_of_sets(sets(users, [2] * 30), list_cells(30))
    assert list_cells(30) == (1, 2, 3, 4, 5, 6, 7, 9, 11, 14, 17, 21, 26)
    assert found.tolist() == [61, 1, 1, 0, 0, 1, 2, 1, 0, 0, 0, 1, 2]


def test_a_sum_changes_by_its_length_at_most_and_by_that() -> None:
    wide = [[*range(420)]]
    moved = sum_largest(held(wide)) - sum_largest(held([]))
    assert moved.tolist() == [*TOPS]


@pytest.mark.parametrize("cap", [1, 2, 3])
@pytest.mark.parametrize("few", [2**16, -1], ids=["few", "many"])
def test_each_choice_of_labels_is_as_likely_and_independent_of_others(
    cap: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The law of the cut is that of ordinary bounding; error rate 1e-6."""
    monkeypatch.setattr("dphist.counting.engine.rows.FEW_ROWS", few)
    users = 6000
    who, label = (each.ravel() for each in np.mgrid[:users, :6])
    held = dh.LabelCounts.from_table(
        pa.table({"who": who, "label": label}),
        label="label",
        user="who",
        max_labels=4,
        keep_sets=True,
        source=random.Random(cap).randbytes,
    ).sets
    assert held is not None
    assert np.diff(held.starts).tolist() == [4] * users
    assert sum(count_cut(held, cap)["count"].to_pylist()) == cap * users
    kept = np.zeros((users, 6), np.bool_)
    owners = np.repeat(np.arange(users), 4)
    kept[owners[held.places <= cap], held.members[held.places <= cap]] = True
    _, seen = np.unique(kept, axis=0, return_counts=True)
    expected = users / math.comb(6, cap)
    assert len(seen) == math.comb(6, cap)
    assert ((seen - expected) ** 2 / expected).sum() < chi2.isf(1e-6, len(seen) - 1)
    together = np.zeros((2, 2))
    np.add.at(together, (kept[::2, 3].astype(int), kept[1::2, 3].astype(int)), 1)
    rows, columns = together.sum(1, keepdims=True), together.sum(0, keepdims=True)
    alone = rows * columns / together.sum()
    assert ((together - alone) ** 2 / alone).sum() < chi2.isf(1e-6, 1)


@every_case
def test_no_cap_shows_a_label_of_one_user_with_more_than_delta(mechanism: dh.AutoThreshold) -> None:
    for cap in mechanism.caps:
        scale, threshold = mechanism.division.count_scale(cap), mechanism._threshold_at(cap)
        shown = norm.sf(float((threshold - 1) / scale))
        any_of_them = -np.expm1(cap * np.log1p(-shown))
        assert 0.99 * float(mechanism.delta) < any_of_them <= float(mechanism.delta) * (1 + 1e-9)


@pytest.mark.usefixtures("repeatable")
def test_labels_of_one_user_are_shown_as_rarely_as_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the whole of a release, with labels that nobody else has; error rate 1e-6."""
    take_the_largest_cap(monkeypatch)
    mechanism = dh.AutoThreshold(epsilon=1, delta="0.05", max_labels=6)
    alone = data(sets([[*range(6)]], [0] * 6), 6)
    runs = 3000
    shown = sum(len(mechanism.release(alone).value) > 0 for _ in range(runs))
    assert 0.05 - 0.025 < shown / runs < 0.05 + 0.025


def test_the_cap_follows_from_noisy_numbers() -> None:
    """Also where the exact numbers would lead to another cap."""
    run = looked(CASES[0])
    transcript = record(run, sets([[*range(100)]] * 3000))
    replay(transcript, run, sets([[label] for label in range(100)] * 30))


def test_all_caps_are_public() -> None:
    assert list_caps(1) == (1,)
    assert list_caps(1000)[-3:] == (630, 800, 1000)
    assert all(list_caps(most)[-1] == most for most in range(1, 200))
