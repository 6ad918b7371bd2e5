"""Weights of users, exactly: Lemma 1 of docs/understand/proofs/discover_labels.md."""

import itertools
import math

import numpy as np
import pytest

from dphist.labels.discover.law import (
    BOOST,
    HIGHEST,
    LARGEST_SET,
    UNIT,
    ceil_root,
    first_weight,
    largest_weight,
    most_added,
    next_priorities,
    weights,
)
from dphist.labels.discover.measuring import make_totals
from tests.support.labels.discover.sets import sets


def one_user(priorities: list[int] | np.ndarray) -> np.ndarray:
    held = np.asarray(priorities, np.int64)
    return weights(held, np.array([0, len(held)]))


def norm_squared(found: np.ndarray) -> int:
    return sum(int(w) ** 2 for w in found)


def test_no_user_adds_more_than_one() -> None:
    for size in (1, 2, 3):
        for priorities in itertools.product((1, 2, 3, 7, 8, 100, 255, 256), repeat=size):
            found = one_user(list(priorities))
            assert norm_squared(found) <= UNIT**2
            assert norm_squared(found) >= (UNIT - UNIT // 1000) ** 2  # and hardly less
            assert (found > 0).all()
    draw = np.random.default_rng(0)
    for size in (10, 1000, 30_000, LARGEST_SET):
        for low in (1, 8, HIGHEST):
            assert norm_squared(one_user(draw.integers(low, HIGHEST + 1, size))) <= UNIT**2


def test_users_are_apart() -> None:
    """Weights of one user do not depend on those who stand beside."""
    draw = np.random.default_rng(1)
    sizes = draw.integers(1, 9, 200)
    priorities = draw.integers(1, HIGHEST + 1, sizes.sum())
    starts = np.concatenate([[0], np.cumsum(sizes)])
    together = weights(priorities, starts)
    for first, last in itertools.pairwise(starts):
        assert (together[first:last] == one_user(priorities[first:last])).all()


def test_in_the_first_look_all_labels_weigh_the_same() -> None:
    for size in (1, 2, 3, 7, 100, 999, 4096):
        found = set(one_user([HIGHEST] * size).tolist())
        assert len(found) == 1
        assert first_weight(size) - 4 <= found.pop() <= first_weight(size)


def test_roots_are_the_least_integers() -> None:
    for root in [1, 2, 3, 1000, 2**20, 2**26 + 1, 2**30 - 1, 2**30, 2**31 - 1]:
        near = np.array([n for n in range(root**2 - 2, root**2 + 3) if n > 0], np.int64)
        found = ceil_root(near)
        assert found.tolist() == [math.isqrt(n - 1) + 1 for n in near.tolist()]
    draw = np.random.default_rng(2).integers(1, 2**62, 10_000)
    assert ceil_root(draw).tolist() == [math.isqrt(n - 1) + 1 for n in draw.tolist()]
    assert ceil_root(np.array([2**62], np.int64)).tolist() == [2**31]


# A quotient rounded up has a larger root for 763 labels, and in later looks for 12208.
@pytest.mark.parametrize("size", [1, 2, 5, 16, 17, 63, 200, 763, 4000, 12208, LARGEST_SET])
def test_bounds_are_the_largest_that_hold(size: int) -> None:
    for weight, square in (
        (first_weight(size), UNIT**2),
        (largest_weight(size), min(BOOST**2, size) * UNIT**2),
    ):
        assert size * weight**2 <= square < size * (weight + 1) ** 2
    assert most_added(size, 1) == first_weight(size)
    assert most_added(size, 5) == first_weight(size) + 4 * largest_weight(size)


@pytest.mark.parametrize("size", [2, 5, 16, 17, 63, 200])
def test_no_weight_is_above_the_cap(size: int) -> None:
    """A user with one label worth having, and others that are not."""
    labels = list(range(size))
    totals = make_totals(sets([labels]))
    for wanted in ([HIGHEST] + [1] * (size - 1), [HIGHEST] + [8] * (size - 1)):
        found = totals(np.array(wanted, np.int64))
        assert found.max() <= largest_weight(size)
        assert norm_squared(found) <= UNIT**2
        if wanted[1] == 1:
            assert found.max() > 0.99 * largest_weight(size)


def test_priorities_do_not_depend_on_other_labels() -> None:
    draw = np.random.default_rng(4)
    sigma, threshold = 1.7e7, 4 * 10**8
    for look in (1, 7, 15):
        noisy = draw.integers(-(10**8), 10**9, 1001)
        together = next_priorities(noisy, look, 16, sigma, threshold)
        assert together.min() >= 1
        assert together.max() <= HIGHEST
        for place in (0, 1, 500, 1000):
            alone = next_priorities(noisy[place : place + 1], look, 16, sigma, threshold)
            assert together[place] == alone[0]
    # After 5 of 16 looks, a mean of 69/80 of what decides is likely to end there.
    near = np.array([threshold * 5 * 69 // (16 * 80), -(10**9), 10**12])
    assert next_priorities(near, 5, 16, sigma, threshold).tolist() == [HIGHEST, 8, 8]
    assert next_priorities(near[:1], 5, 64, sigma, threshold)[0] < HIGHEST


def test_totals_are_sums_of_users() -> None:
    held = sets([[0, 1, 2], [1, 2], [2]], singles=[5, 0, 0, 1])
    priorities = np.array([256, 100, 8, 1])
    expected = np.array([5, 0, 1, 1]) * UNIT
    for user in ([0, 1, 2], [1, 2]):
        expected[user] += one_user(priorities[user])
    assert make_totals(held)(priorities).tolist() == expected.tolist()


def test_huge_numbers_of_rows_do_not_wrap() -> None:
    totals = make_totals(sets([[0]], singles=[2**62]))(np.array([HIGHEST]))
    assert totals.tolist() == [2**36 * UNIT + UNIT]
