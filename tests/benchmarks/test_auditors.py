"""Audits of others, as they are compared with ours: what they compute, and what they find."""

import math
from typing import Any

import numpy as np
import pytest
from benchmarks.auditors import dpsniper, histogram, renyi, statdp
from benchmarks.auditors.__main__ import TOOLS
from benchmarks.auditors.dpsniper import Attack
from benchmarks.auditors.samples import Encoder
from benchmarks.auditors.task import Task

from dphist.lab.auditing.suite import ENTRIES

BY_NAME = {each.name: each for each in ENTRIES}
THEIRS = sorted(set(TOOLS) - {"dphist"})
RANDOM = np.random.default_rng(7)


@pytest.mark.parametrize(
    ("outcomes", "rows"),
    [
        ([3, 4], [[3], [4]]),
        ([{"b": 1, "a": 2}, {"a": 5}], [[2, 1], [5, math.nan]]),
        ([["above", 7], ["below"]], [[0, 7], [1, math.nan]]),
        ([[["a", 3]], ValueError("no rows")], [[0, 3], [math.nan, math.nan]]),
    ],
)
def test_outcomes_become_rows(outcomes: list[Any], rows: list[list[float]]) -> None:
    encoder = Encoder()
    encoder.learn(outcomes)
    encoder.codes = {"above": 0, "below": 1, "a": 0}
    found = encoder.rows(outcomes)
    order = np.argsort(encoder.columns)
    np.testing.assert_array_equal(found[:, order], rows)


def test_the_histogram_tester_estimates_delta_less_its_error() -> None:
    p, q = np.array([0.5, 0.5]), np.array([0.9, 0.1])
    many = histogram._delta(p, q, 1, 10**12, 1e-3)
    assert many == pytest.approx(0.5 - math.e * 0.1, abs=1e-4)
    few = histogram._delta(p, q, 1, 10**4, 1e-3)
    root = sum(map(math.sqrt, p)) + math.e * sum(map(math.sqrt, q))
    error = 2 * root / 100 + 6 * (1 + math.e) * math.sqrt(math.log(4e3) / 2e4)
    assert few == pytest.approx(0.5 - math.e * 0.1 - error)


def test_statdp_s_p_value_is_fisher_s_of_thinned_hits() -> None:
    # At epsilon 0 nothing is thinned: all 10 of 10 against none, one of C(20, 10) tables.
    assert statdp._p_value(10, 0, 0, 10) == pytest.approx(1 / math.comb(20, 10))
    assert statdp._p_value(500, 500, 1, 1000) > 0.99
    assert statdp._p_value(900, 100, 1, 1000) < 1e-6


def test_the_network_s_slopes_are_those_of_the_divergence() -> None:
    network = renyi.Network(2)
    p, q = RANDOM.normal(size=(50, 2)), RANDOM.normal(1, 1, size=(50, 2))

    def divergence() -> float:
        a = renyi.ORDER
        first = math.log(np.exp((a - 1) * network(p)).mean())
        return a / (a - 1) * first - math.log(np.exp(a * network(q)).mean())

    slopes = network._slopes(p, q)
    for place, slope in enumerate(slopes):
        at = tuple(RANDOM.integers(0, size) for size in slope.shape)
        kept, step = network.weights[place][at], 1e-6
        ends = []
        for change in (step, -step):
            network.weights[place][at] = kept + change
            ends.append(divergence())
        network.weights[place][at] = kept
        assert slope[at] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-3, abs=1e-7)


def test_an_attack_is_as_likely_as_it_should_be() -> None:
    ones, others = RANDOM.normal(1, 1, (20_000, 1)), RANDOM.normal(0, 1, (20_000, 1))
    attack = Attack(ones[:10_000], others[:10_000])
    attack.set_threshold(others[:10_000])
    assert attack.hits(others[10_000:]) / 10_000 == pytest.approx(0.01, abs=0.005)
    # The likeliest of N(1, 1) against N(0, 1) are the largest: those above 2.33.
    assert attack.hits(ones[10_000:]) / 10_000 == pytest.approx(0.092, abs=0.02)


@pytest.mark.long(every=4)
@pytest.mark.parametrize("tool", THEIRS)
def test_each_tool_finds_what_is_gross_and_nothing_where_nothing_is(
    tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _ = TOOLS[tool]
    assert run(Task.of(BY_NAME["half the noise"], 12)).refuted
    for module in (dpsniper, histogram, renyi, statdp):  # a false alarm would fail the test
        monkeypatch.setattr(module, "CONFIDENCE", 1 - 1e-7)
    assert not run(Task.of(BY_NAME["a count"], 5)).refuted
