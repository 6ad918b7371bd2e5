"""A lower bound on epsilon from many runs of whole mechanisms on neighbours.

Half of the runs choose an event, the other half bound its probabilities (Clopper-Pearson).
With confidence 1 - 1e-6 the true epsilon is above the bound; so it must stay below the claim,
and exceed it for a mechanism with too little noise.
"""

from fractions import Fraction

import pytest

import dphist as dh
from tests.support.privacy.black_box import lower_bound


class HalvedNoise(dh.SortedCounts):
    __slots__ = ()

    @property
    def cell_epsilon(self) -> Fraction:
        return 2 * self.epsilon


CASES = {
    "sorted counts": (lambda: dh.SortedCounts(epsilon=1, labels=1), [0], [1]),
    "rank split, public total": (lambda: dh.RankSplit(epsilon=1, total=1), [1], [1, 1]),
    "rank split": (lambda: dh.RankSplit(epsilon=1), [], [1]),
    "cumulative counts": (lambda: dh.CumulativeCounts(epsilon=1, largest=1), [], [1]),
    "adaptive scan": (lambda: dh.AdaptiveScan(epsilon=1), [], [1]),
    "no smoothing": (lambda: dh.PrivHist(epsilon=1), [1], [1, 1]),
    "smoothing": (lambda: dh.PrivHist(epsilon=1, shares=(1, 1, 1)), [1], [1, 1]),
    "across T": (lambda: dh.PrivHist(epsilon=1, shares=(1, 3, 0)), [2, 2], [3, 2]),
}


@pytest.mark.long(every=3)
@pytest.mark.parametrize("name", CASES)
def test_no_more_is_lost_than_claimed(name, seeded) -> None:
    make, one, other = CASES[name]
    pair = dh.Profile.from_counts(one), dh.Profile.from_counts(other)
    assert lower_bound(make(), *pair, 8_000, seeded) <= 1


@pytest.mark.verify
def test_halved_noise_is_caught(seeded) -> None:
    pair = dh.Profile.from_counts([]), dh.Profile.from_counts([1])
    mechanism = HalvedNoise(epsilon=1, labels=1)
    assert lower_bound(mechanism, *pair, 8_000, seeded) > 1.2


@pytest.mark.audit
@pytest.mark.parametrize("name", CASES)
def test_audit_with_many_runs(name, seeded) -> None:
    make, one, other = CASES[name]
    pair = dh.Profile.from_counts(one), dh.Profile.from_counts(other)
    bound = lower_bound(make(), *pair, 200_000, seeded)
    assert 0.2 < bound <= 1
