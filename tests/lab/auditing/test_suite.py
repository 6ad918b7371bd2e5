"""What the suite says of its mechanisms: claims of libraries, and the truths beside them."""

import math
from collections import Counter
from statistics import NormalDist

import pytest

import dphist as dh
from dphist.lab.auditing.suite import ENTRIES, counts
from dphist.lab.auditing.suite.counts import gaussian, one_sided_geometric

BY_NAME = {each.name: each for each in ENTRIES}
PHI = NormalDist().cdf


def test_the_rho_of_the_exponential_mechanism_implies_the_claim() -> None:
    entry = BY_NAME["permute and flip"]
    implied = dh.ZCDP("1/2").to_approx_dp(entry.delta)
    assert implied.epsilon <= entry.epsilon
    other = math.exp(-2) / 2  # the second of (1, -1) is visited first, and accepted
    assert math.log(0.5 / other) == pytest.approx(2)
    assert 0.5 - math.exp(1.5) * other == pytest.approx(0.197, abs=0.001)
    assert float(entry.delta) < 0.197


def test_deltas_of_thresholds() -> None:
    tail = {t: math.exp(-t) / (1 + math.exp(-1)) for t in (4, 5)}  # P(1 + Z > t)
    claim = float(BY_NAME["a threshold that is not released"].delta)
    assert tail[5] < claim < tail[4]
    assert tail[4] == pytest.approx(0.0134, abs=1e-4)


def test_the_distances_of_a_tree_for_users_of_many_leaves() -> None:
    distance = math.sqrt(16**2 + 16)

    def delta(mu: float) -> float:  # of Gaussian noise at epsilon 1: Balle and Wang 2018, Theorem 8
        return PHI(mu / 2 - 1 / mu) - math.e * PHI(-mu / 2 - 1 / mu)

    claim = float(BY_NAME["a tree for users of many leaves"].delta)
    assert delta(distance / 16.5) < claim
    assert delta(1) < claim
    assert delta(distance / 8) == pytest.approx(0.53, abs=0.005)


@pytest.mark.usefixtures("repeatable")
def test_noise_of_the_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "_kept", {})  # what others have drawn ahead
    runs = 20_000
    drawn = Counter(one_sided_geometric(1) for _ in range(runs))
    assert min(drawn) == 0
    for value in range(4):
        share = (1 - math.exp(-1)) * math.exp(-value)
        assert drawn[value] / runs == pytest.approx(share, abs=5 * math.sqrt(share / runs))
    normal = [gaussian(8) for _ in range(runs)]
    assert sum(normal) / runs == pytest.approx(0, abs=5 * 8 / math.sqrt(runs))
    assert sum(each**2 for each in normal) / runs == pytest.approx(64 + 1 / 12, rel=0.05)


def test_twins_have_the_same_neighbors() -> None:
    by_pairs = Counter(repr(each.pairs) for each in ENTRIES if not each.faulty)
    alone = [each.name for each in ENTRIES if each.faulty and repr(each.pairs) not in by_pairs]
    assert alone == []
