"""The least half width of a bar: the law of the noise, and the best that any mechanism can do."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import norm

from dphist.ranges.budget import Budget


def geometric(epsilon, most=10_000):
    """Pr[abs(noise) <= h] for h = 0, 1, ...: noise k in proportion to exp(-epsilon abs(k))."""
    chance = np.exp(-float(epsilon) * np.arange(most))
    whole = chance[0] + 2 * chance[1:].sum()
    return np.cumsum(np.append(chance[0], 2 * chance[1:])) / whole


@pytest.mark.parametrize("epsilon", ["0.003", "0.01", "0.1", "0.35", "1", "1.7", "4", "40"])
def test_noise_at_the_whole_cost_is_that_near_with_95_percent(epsilon):
    found = Budget(False, Fraction(epsilon)).half_width()
    assert found == np.argmax(geometric(Fraction(epsilon)) >= 0.95)


@pytest.mark.parametrize("rho", ["0.0001", "0.02", "0.5", "3", "50"])
def test_so_is_gaussian_noise(rho):
    budget = Budget(True, Fraction(rho))
    sigma = float(budget.sigma(Fraction(1)))
    # Rounded to whole numbers: within h if the real number is within h + 1/2.
    inside = 1 - 2 * norm.sf((np.arange(1000) + 0.5) / sigma)
    assert budget.half_width() == np.argmax(inside >= 0.95)


def best_coverage(epsilon, width, counts=40):
    """The most that answers within `width` of the count can be sure of, for all counts below.

    Over all epsilon-DP mechanisms: p[c, m] is the chance of the answer m for the count c.
    """
    size = counts * counts
    place = np.arange(size).reshape(counts, counts)
    rows = []
    for one, other in ((place[:-1], place[1:]), (place[1:], place[:-1])):
        block = np.zeros((one.size, size + 1))
        block[np.arange(one.size), one.ravel()] = 1
        block[np.arange(one.size), other.ravel()] = -np.exp(epsilon)
        rows.append(block)
    covered = np.zeros((counts, size + 1))
    for count in range(counts):
        low, high = max(count - width, 0), min(count + width + 1, counts)
        covered[count, place[count, low:high]] = -1
    covered[:, -1] = 1
    sums = np.zeros((counts, size + 1))
    for count in range(counts):
        sums[count, place[count]] = 1
    aim = np.zeros(size + 1)
    aim[-1] = -1
    at_most = np.concatenate([*rows, covered])
    found = linprog(aim, at_most, np.zeros(len(at_most)), sums, np.ones(counts), bounds=(0, 1))
    assert found.success
    return -found.fun


@pytest.mark.parametrize("epsilon", [1.2, 2])
@pytest.mark.long(every=2)
def test_no_mechanism_is_surer_than_the_noise_of_the_whole_budget(epsilon):
    """Fewer records than the floor cannot be kept to with 95 %, and the floor can."""
    least = Budget(False, Fraction(str(epsilon))).half_width()
    assert least >= 1
    assert best_coverage(epsilon, least - 1) < 0.95
    assert best_coverage(epsilon, least) >= 0.95


def best_law(epsilon, width, most=300):
    """The same for a mechanism that errs alike at every count: q[k] is the chance to be k off."""
    size = 2 * most + 1
    step = np.eye(size)[:-1] - np.exp(epsilon) * np.eye(size)[1:]
    at_most = np.concatenate([step, step[::-1, ::-1], np.ones((1, size))])
    aim = -(np.abs(np.arange(size) - most) <= width).astype(float)
    found = linprog(aim, at_most, np.append(np.zeros(2 * size - 2), 1), bounds=(0, 1))
    assert found.success
    return -found.fun


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.7, 1, 2])
def test_no_law_of_errors_is_more_often_near_than_two_sided_geometric_noise(epsilon):
    least = Budget(False, Fraction(str(epsilon))).half_width()
    for width in (least - 1, least):
        assert best_law(epsilon, width) == pytest.approx(geometric(epsilon)[width], abs=1e-4)
