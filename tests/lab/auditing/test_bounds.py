"""The bounds of an audit: how often they are wrong, and what they could have seen."""

import math

import numpy as np
import pytest
from scipy.stats import binom
from scipy.stats.contingency import odds_ratio

from dphist.lab.auditing.statistical.bounds import (
    bound_epsilons,
    curve,
    find_power,
    highest_probability,
    joint_is_narrower,
    least_epsilons,
    least_odds_ratio,
    lowest_probability,
)

ALL = np.arange(41)


@pytest.mark.parametrize("p", [0.0, 0.01, 0.3, 0.5, 0.97, 1.0])
@pytest.mark.parametrize("error", [0.2, 0.01, 1e-4])
def test_each_bound_is_wrong_with_its_error_at_most(p: float, error: float) -> None:
    """By the exact law of the hits among 40 runs."""
    law = binom.pmf(ALL, 40, p)
    assert law[lowest_probability(ALL, 40, error) > p].sum() <= error
    assert law[highest_probability(ALL, 40, error) < p].sum() <= error


@pytest.mark.parametrize("error", [0.2, 0.01])
def test_each_bound_is_nearly_as_wrong_somewhere(error: float) -> None:
    """A bound that were never wrong would see nothing."""
    most = [
        binom.pmf(ALL, 40, p)[lowest_probability(ALL, 40, error) > p].sum()
        for p in np.linspace(0.01, 0.99, 800)
    ]
    assert 0.8 * error < max(most) <= error


def test_an_epsilon_is_shown_with_its_error() -> None:
    """Two neighbors whose loss is exactly 1 at delta .1: refuted with the error at most."""
    runs, error, delta = 60, 0.1, 0.1
    rare = 0.2
    likely = math.e * rare + delta
    hits, others = np.meshgrid(np.arange(runs + 1), np.arange(runs + 1), indexing="ij")
    shown = least_epsilons(hits.ravel(), others.ravel(), runs, delta, error)
    chance = binom.pmf(hits.ravel(), runs, likely) * binom.pmf(others.ravel(), runs, rare)
    assert chance[shown > 1].sum() <= error


@pytest.mark.parametrize(("hits", "others", "runs"), [(9, 2, 12), (40, 0, 50), (900, 700, 1000)])
def test_the_odds_ratio_is_bounded_as_by_fisher(hits: int, others: int, runs: int) -> None:
    table = [[hits, runs - hits], [others, runs - others]]
    known = odds_ratio(table, kind="conditional")
    for error in (0.2, 0.001):
        low = known.confidence_interval(1 - error, alternative="greater").low
        assert least_odds_ratio(hits, others, runs, error) == pytest.approx(low, rel=1e-6)
    assert least_odds_ratio(0, others, runs, 0.1) == 0


@pytest.mark.parametrize("error", [0.3, 0.02])
@pytest.mark.parametrize("delta", [0.0, 0.1])
@pytest.mark.quick(every=4)
def test_joint_bounds_are_wrong_with_their_error_at_most(delta: float, error: float) -> None:
    """By the exact law of the hits among 16 runs, for losses of any size at this delta."""
    runs = 16
    counts = np.arange(runs + 1)
    shown = np.array([
        [bound_epsilons(h, o, runs, [delta], error, joint=True)[0] for o in counts.tolist()]
        for h in counts.tolist()
    ])  # fmt: skip
    worst = 0.0
    for rare in (0.01, 0.1, 0.3, 0.6, 0.9):
        for true in (-1.0, 0.0, 0.3, 1.0, 2.0, 4.0):
            likely = math.exp(true) * rare + delta
            if likely <= 1:
                chance = np.outer(binom.pmf(counts, runs, likely), binom.pmf(counts, runs, rare))
                worst = max(worst, chance[shown > true + 1e-9].sum())
    assert worst <= error
    assert delta or worst > error / 20


def test_joint_bounds_show_more_of_rare_events() -> None:
    assert joint_is_narrower(300, 100, 10_000, 0.0, 0.001)
    assert not joint_is_narrower(1000, 0, 10_000, 0.05, 0.001)
    deltas = [0.0, 0.001, 0.01, 0.02]
    found = bound_epsilons(300, 100, 10_000, deltas, 0.001, joint=True)
    apart = bound_epsilons(300, 100, 10_000, deltas, 0.001, joint=False)
    assert apart[0] + 0.15 < found[0] < math.log(3)
    assert found == sorted(found, reverse=True)


def test_the_curve_falls_with_delta() -> None:
    found = curve(900, 100, 1000, [0.0, 0.1, 0.5, 0.95], 0.001)
    assert [d for d, _ in found] == [0.0, 0.1, 0.5]
    assert found[0][1] > found[1][1] > found[2][1] > 0
    assert found[0][1] < math.log(9)


def test_power_is_that_of_the_law() -> None:
    """At the stated epsilon such runs refute with a probability of .9 or more."""
    runs, error = 2000, 0.001
    power = find_power(200, runs, 1.0, 0.0, error)
    assert power is not None
    assert 1 < power < 2
    rare = 200.5 / 2001
    hits, others = np.arange(runs + 1), np.arange(runs + 1)
    of_hits = binom.pmf(hits, runs, math.exp(power) * rare)
    of_others = binom.pmf(others, runs, rare)
    likely = hits[of_hits > 1e-9]
    seldom = others[of_others > 1e-9]
    chance = sum(
        of_hits[a]
        * of_others[seldom][
            least_epsilons(np.full(len(seldom), a), seldom, runs, 0, error) > 1
        ].sum()
        for a in likely
    )
    assert 0.9 <= chance <= 0.999


def test_without_an_event_there_is_no_power() -> None:
    assert find_power(0, 5, 1.0, 0.0, 0.001) is None
    assert find_power(1000, 1000, 1.0, 0.0, 0.001) is None
