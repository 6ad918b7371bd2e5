"""Transcripts of `DiscoverLabels`, replayed: Lemmas 1, 2 and 5 of
docs/understand/proofs/discover_labels.md.

All noise of all looks is recorded on one data set and replayed on others, such that the same noisy
numbers come out. Then the same priorities must follow, and the exact totals of neighbors must
differ by so little that all looks together are within the guarantee.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist.counting.bounding.stores import Sets
from dphist.lab.auditing.replay import DivergedError, loss_of_neighbours, record, replay
from dphist.labels.discover import measuring
from dphist.labels.discover.law import UNIT, weights
from tests.support.labels.discover.sets import data, sets

LABELS = 300
CASES = [
    dh.DiscoverLabels(epsilon="1/4", delta="1e-6", max_labels=40),
    dh.DiscoverLabels(epsilon=2, delta="1e-9", max_labels=200, looks=7),
    dh.DiscoverLabels(epsilon="1e-3", delta="1e-3", max_labels=1, looks=64),
    dh.DiscoverLabels(epsilon=30, delta="1e-12", max_labels=12, looks=1),
]
every_case = pytest.mark.parametrize("mechanism", CASES, ids=lambda m: f"{m.max_labels}")


def people(seed: int, max_labels: int) -> list[list[int]]:
    """Users with few and many labels, some of which nearly everybody has."""
    draw = np.random.default_rng(seed)
    chances = 1 / (1 + np.arange(LABELS))
    found = []
    for size in draw.integers(1, max_labels + 1, 300):
        found.append(draw.choice(LABELS, size, replace=False, p=chances / chances.sum()).tolist())
    return [[*range(min(LABELS, max_labels))], *([i] for i in range(LABELS)), *found]


def held(users: list[list[int]]) -> Sets:
    return sets(users, singles=[3] * LABELS)


def make_releaser(mechanism: dh.DiscoverLabels) -> Callable[[Sets], Any]:
    return lambda held: mechanism.release(data(held, mechanism.max_labels)).value


@every_case
@pytest.mark.quick(every=4)
def test_a_user_costs_the_guarantee_and_not_more(mechanism: dh.DiscoverLabels) -> None:
    users = people(1, mechanism.max_labels)
    for gone in (0, 1, LABELS + 1, LABELS + 2):
        others = held(users[:gone] + users[gone + 1 :])
        for one, other in ((held(users), others), (others, held(users))):
            _, rho = loss_of_neighbours(make_releaser(mechanism), one, other, seed=gone)
            assert rho <= mechanism.guarantee.rho
            assert rho >= mechanism.guarantee.rho * Fraction(7, 10)  # the cap may lower it


def test_all_looks_together_cost_what_one_costs() -> None:
    """Where the cap does not bite, to within the roundings."""
    mechanism = dh.DiscoverLabels(epsilon=1, delta="1e-6", max_labels=10)
    users = people(2, 10)
    _, rho = loss_of_neighbours(make_releaser(mechanism), held(users), held(users[1:]))
    assert 1 - Fraction(1, 1000) < rho / mechanism.guarantee.rho <= 1


@every_case
@pytest.mark.quick(every=4)
def test_unrelated_data_ask_for_the_same(mechanism: dh.DiscoverLabels) -> None:
    transcript = record(make_releaser(mechanism), held(people(3, mechanism.max_labels)))
    transcript.check_uses()
    assert [request.size for request in transcript.requests] == [LABELS] * mechanism.looks
    for far in (held(people(4, mechanism.max_labels)), held([[0]]), held([[5]] * 1000)):
        replay(transcript, make_releaser(mechanism), far)


Plant = Callable[[pytest.MonkeyPatch], None]


def priorities_from_exact_totals(patch: pytest.MonkeyPatch) -> None:
    right, seen = measuring.make_totals, []

    def totals_of(held: Sets) -> Any:
        seen.append(right(held)(np.full(len(held.labels), 256)))
        return right(held)

    patch.setattr(measuring, "make_totals", totals_of)
    patch.setattr(measuring, "next_priorities", lambda *_: 1 + seen[-1] % 256)


def one_draw_for_all_looks(patch: pytest.MonkeyPatch) -> None:
    right, drawn = measuring.rounded_gaussian, []

    def draw(*asked: Any) -> Any:
        drawn.extend([] if drawn else [right(*asked)])
        return drawn[0]

    patch.setattr(measuring, "rounded_gaussian", draw)


def noise_of_one_look_alone(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(measuring, "look_sigma", lambda epsilon, looks: UNIT / epsilon)


def a_weight_of_one_for_each_label(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(measuring, "weights", lambda priorities, starts: np.full(starts[-1], UNIT))


def a_norm_that_is_too_large(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(measuring, "weights", lambda *asked: weights(*asked) * 101 // 100)
    patch.setattr(measuring, "caps", lambda starts: np.full(starts[-1], UNIT))


@pytest.mark.parametrize("plant", [
    priorities_from_exact_totals,
    one_draw_for_all_looks,
    noise_of_one_look_alone,
    a_weight_of_one_for_each_label,
    a_norm_that_is_too_large,
])  # fmt: skip
@pytest.mark.quick(every=5)
def test_planted_bugs_are_caught(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = dh.DiscoverLabels(epsilon=1, delta="1e-6", max_labels=10)
    users = people(2, 10)
    if plant is one_draw_for_all_looks:
        plant(monkeypatch)
        with pytest.raises(AssertionError):
            noise_is_fresh(mechanism, users)
        return
    plant(monkeypatch)
    with pytest.raises((AssertionError, DivergedError)):
        _, rho = loss_of_neighbours(make_releaser(mechanism), held(users), held(users[1:]))
        assert rho <= mechanism.guarantee.rho


def noise_is_fresh(mechanism: dh.DiscoverLabels, users: list[list[int]]) -> None:
    """As many requests as looks, each with draws of its own."""
    transcript = record(make_releaser(mechanism), held(users))
    assert len(transcript.entries) == mechanism.looks
    drawn = [entry.drawn.tolist() for entry in transcript.entries]
    assert len({tuple(each) for each in drawn}) == mechanism.looks


def test_noise_is_fresh_in_each_look() -> None:
    noise_is_fresh(CASES[0], people(5, 40))


@pytest.mark.parametrize("mechanism", CASES[:3], ids=lambda m: f"{m.max_labels}")
@pytest.mark.quick(every=3)
def test_counts_cost_the_guarantee(mechanism: dh.DiscoverLabels) -> None:
    """Of counts alone, each user adds the same to as many labels as there may be."""
    counts = 10**6 + np.arange(500)
    more = counts.copy()
    more[: mechanism.max_labels] += 1

    def run(counts: np.ndarray) -> Any:
        columns = pa.table({"label": np.arange(len(counts)), "count": counts})
        return mechanism.release(columns).value

    _, rho = loss_of_neighbours(run, counts, more)
    assert 1 - Fraction(1, 1000) < rho / mechanism.guarantee.rho <= 1
    transcript = record(run, counts)
    for far in (np.full(500, 1), np.full(500, 2**61)):
        replay(transcript, run, far)
