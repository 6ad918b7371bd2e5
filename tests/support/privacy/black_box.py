"""A lower bound of epsilon, from the outcomes of many releases."""

import math
from collections import Counter

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
