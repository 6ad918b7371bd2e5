"""The law of what `DiscoverLabels` releases of small tables:
docs/understand/proofs/discover_labels.md.

Two looks at up to three labels. The noise of the first look is integrated over, by quantiles; the
code says which priorities and which totals follow; and the noise of the second look then decides
exactly, label by label. Every set of results is compared, in both directions.
"""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import dphist as dh
from dphist.counting.bounding.stores import Sets
from dphist.labels.discover import measuring
from dphist.labels.discover.law import HIGHEST, UNIT, look_sigma
from tests.support.labels.discover.sets import data, sets

SLACK = 2e-3  # of the integration; what planted bugs do is far more
Law = dict[frozenset[int], float]


def law(mechanism: dh.DiscoverLabels, held: Sets) -> Law:
    """The probability of each set of released labels."""
    labels = len(held.labels)
    sigma = float(measuring.look_sigma(mechanism.epsilon, 2))
    steps = {1: 401, 2: 31, 3: 9}[labels]
    noise = np.rint(sigma * norm.ppf((np.arange(steps) + 0.5) / steps)).astype(np.int64)
    threshold, totals = mechanism._threshold, measuring.make_totals(held)
    first = totals(np.full(labels, HIGHEST, np.int64))
    found: Law = dict.fromkeys(map(frozenset, subsets(labels)), 0.0)
    for drawn in itertools.product(noise, repeat=labels):
        noisy = first + np.array(drawn)
        priorities = measuring.next_priorities(noisy, 1, 2, sigma, threshold)
        chances = norm.sf((threshold - noisy - totals(priorities)) / sigma)
        for result in found:
            one = math.prod(c if i in result else 1 - c for i, c in enumerate(chances.tolist()))
            found[result] += one / steps**labels
    return found


def subsets(labels: int) -> list[tuple[int, ...]]:
    sizes = range(labels + 1)
    return [each for size in sizes for each in itertools.combinations(range(labels), size)]


def excess(one: Law, other: Law, epsilon: float) -> float:
    """The largest Pr[one in R] - e**epsilon Pr[other in R], over all sets R of results."""
    results = set(one) | set(other)
    return sum(max(one.get(r, 0.0) - math.exp(epsilon) * other.get(r, 0.0), 0) for r in results)


# Users before, and the user who comes: a label of many, one of some, and one of nobody else.
PAIRS: list[tuple[list[list[int]], list[int]]] = [
    ([], [0]),
    ([], [0, 1]),
    ([], [0, 1, 2]),
    ([[0]] * 2, [0]),
    ([[0]] * 5, [0]),
    ([[0]] * 9, [0]),
    ([[0]] * 4, [0, 1]),
    ([[0]] * 40, [0, 1]),
    ([[0]] * 4 + [[0, 1]] * 3, [0, 1]),
    ([[0]] * 4 + [[0, 1]] * 3, [0, 1, 2]),
    ([[0, 1]] * 6, [0, 1]),
    ([[0]] * 40 + [[0, 1]] * 6, [1]),
]
PARAMETERS: list[tuple[Any, str, int]] = [
    (1, "1/20", 1),
    ("1/2", "1/10", 3),
    (2, "1/100", 3),
]
MECHANISMS = [
    dh.DiscoverLabels(epsilon=epsilon, delta=delta, max_labels=most, looks=2)
    for epsilon, delta, most in PARAMETERS
]


def worst(mechanism: dh.DiscoverLabels) -> float:
    """How far results go beyond the claim, over all pairs, claims, and both directions."""
    found = []
    for before, user in PAIRS:
        if len(user) > mechanism.max_labels or any(len(u) > mechanism.max_labels for u in before):
            continue
        size = 1 + max(itertools.chain(user, *before))
        without = [users for users in before if users]
        old = 1 + max(itertools.chain(*without), default=-1)
        laws = law(mechanism, sets([*without, user], [0] * size)), {frozenset[int](): 1.0}
        if old:
            laws = laws[0], law(mechanism, sets(without, [0] * old))
        for claimed in (0.0, 0.3, 1.0, 2.0, 4.0, 9.0):
            mu = float(mechanism.epsilon)
            gauss = norm.sf(claimed / mu - mu / 2) - math.exp(claimed) * norm.sf(
                claimed / mu + mu / 2
            )
            allowed = gauss + float(mechanism.delta)
            found += [excess(*laws, claimed) - allowed, excess(*laws[::-1], claimed) - allowed]
    return max(found)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{m.max_labels}-{m.delta}")
@pytest.mark.quick(every=3)
def test_the_claim_holds_on_small_tables(mechanism: dh.DiscoverLabels) -> None:
    assert worst(mechanism) <= SLACK


@pytest.mark.usefixtures("repeatable")
@pytest.mark.verify
def test_the_integral_is_what_is_released() -> None:
    """The law above is that of the mechanism itself, as far as 3000 releases can tell."""
    mechanism, held = MECHANISMS[1], sets([[0]] * 6 + [[0, 1]] * 4 + [[0, 1, 2]])
    expected, counts = law(mechanism, held), dict.fromkeys(map(frozenset, subsets(3)), 0)
    for _ in range(3000):
        counts[frozenset(mechanism.release(data(held, 3)).value.labels)] += 1
    for result, chance in expected.items():
        spread = math.sqrt(3000 * max(chance * (1 - chance), 1e-3))
        assert abs(counts[result] - 3000 * chance) < 5 * spread + 3000 * SLACK


Plant = Callable[[pytest.MonkeyPatch], None]


def too_little_noise(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(measuring, "look_sigma", lambda *asked: Fraction(4, 5) * look_sigma(*asked))


def a_low_threshold(patch: pytest.MonkeyPatch) -> None:
    right = measuring.least_threshold
    patch.setattr(measuring, "least_threshold", lambda *asked: right(*asked) * 4 // 5)


def weights_that_are_not_normalized(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(measuring, "weights", lambda priorities, starts: priorities * UNIT // HIGHEST)


@pytest.mark.parametrize(
    ("plant", "which"),
    [(too_little_noise, 0), (a_low_threshold, 0), (weights_that_are_not_normalized, 2)],
)
@pytest.mark.quick(every=3)
def test_planted_bugs_are_caught(plant: Plant, which: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert worst(MECHANISMS[which]) > 2 * SLACK


@pytest.mark.usefixtures("repeatable")
@pytest.mark.parametrize("size", [1, 3, 20])
def test_users_with_labels_of_their_own(size: int) -> None:
    """In 16 looks, one of them is revealed with probability delta at most."""
    mechanism = dh.DiscoverLabels(epsilon=1, delta="1/20", max_labels=20)
    users = 4000
    held = sets([list(range(size * i, size * (i + 1))) for i in range(users)])
    found = set()
    for label in mechanism.release(data(held, 20)).value.labels:
        found.add(label // size)
    # Of 4000, 200 are expected at most; more than 285 have a chance of 1e-9.
    assert len(found) <= 285


@pytest.mark.usefixtures("repeatable")
def test_weight_that_goes_to_a_label_of_ones_own() -> None:
    """Others of the user's labels are far above the threshold: the cap bounds what is left."""
    mechanism = dh.DiscoverLabels(epsilon=1, delta="1/20", max_labels=20)
    users = 2000
    shared = [list(range(19))] * 500
    held = sets(shared + [[*range(19), 19 + i] for i in range(users)])
    released: Any = mechanism.release(data(held, 20)).value.labels
    assert set(range(19)) <= set(released)
    # Of 2000, 100 are expected at most; more than 162 have a chance of 1e-9.
    assert len(released) - 19 <= 162
