"""A lower bound on epsilon from many runs of whole mechanisms on neighbours.

Half of the runs choose an event, the other half bound its probabilities (Clopper-Pearson).
With confidence 1 - 1e-6 the true epsilon is above the bound; so it must stay below the claim,
and exceed it for a mechanism with too little noise.
"""

import math
from collections import Counter
from fractions import Fraction

import pytest
from scipy.stats import beta

import dphist as dh

ERROR = 5e-7  # for each of the two probabilities


def clopper_pearson(hits: int, runs: int) -> tuple[float, float]:
    low = 0.0 if hits == 0 else float(beta.ppf(ERROR, hits, runs - hits + 1))
    high = 1.0 if hits == runs else float(beta.ppf(1 - ERROR, hits + 1, runs - hits))
    return low, high


def outcome(release: dh.Release) -> tuple:
    """The released profile, coarsened to few values; post-processing can only lose epsilon."""
    return min(release.value.total, 4), min(release.value.labels, 3), min(release.total or 0, 6)


def lower_bound(mechanism, one, other, runs: int, seed, outcome=outcome) -> float:
    source = seed(1)
    laws = []
    for data in (one, other):
        halves = [
            Counter(outcome(mechanism.release(data, source)) for _ in range(runs // 2))
            for _ in range(2)
        ]
        laws.append(halves)
    best = 0.0
    for a, b in ((0, 1), (1, 0)):
        pilot, against = laws[a][0], laws[b][0]
        # The event: all outcomes that the pilot runs find clearly likelier under the one.
        event = {o for o in pilot if pilot[o] > 1.8 * against[o]}
        hits, misses = (sum(laws[i][1][o] for o in event) for i in (a, b))
        low, high = clopper_pearson(hits, runs // 2)[0], clopper_pearson(misses, runs // 2)[1]
        if low > 0:
            best = max(best, math.log(low / high))
    return best


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
