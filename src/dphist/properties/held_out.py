"""What a dictionary opens of records that it was not made from.

The share of the records with one of the most frequent labels is too large for other records: which
labels are frequent is partly chance. If each record in turn is left out, and is asked for among the
most frequent labels of the others, the mean is unbiased for such a dictionary, and so at most the
share of the most probable labels, in expectation. (Liu and Blocki 2023, "Towards a rigorous
statistical analysis of empirical password datasets", split the records once for this lower bound.)
"""

import math

import numpy as np
from scipy.special import betaincinv

from dphist.arrays import FloatArray, IntArray
from dphist.data.diagram import Diagram
from dphist.properties.chao import chao1
from dphist.properties.sampling import sampling

_TAIL = 0.025


def held_out_share(profile: Diagram, tries: int) -> float:
    """Return the share of records that `tries` labels open, chosen without the record itself.

    Ties are broken at random; the result is the mean over that. O(c) for c distinct counts.

    >>> from dphist import Profile
    >>> held_out_share(Profile.from_counts([3, 1]), 1)
    0.75
    >>> held_out_share(Profile.from_counts([1, 1, 1, 1]), 2)
    0.0
    """
    counts, n = profile.counts, profile.total
    chance = _chance(profile, counts - 1, tries, without=1)
    return float(chance * counts @ profile.prevalences) / n


def held_out_interval(profile: Diagram, tries: int) -> tuple[float, float]:
    """Return Clopper and Pearson's 95 % interval of the held-out share.

    It is that for as many independent records as would give the share's own variance, where that
    is larger than a binomial one.
    """
    n, share = profile.total, held_out_share(profile, tries)
    spread, binomial = _spread(profile, tries), share * (1 - share)
    independent = min(n, binomial / spread**2) if spread > 0 and binomial > 0 else n
    return clopper_pearson(share, independent)


def _spread(profile: Diagram, tries: int) -> float:
    """Return the standard deviation of the held-out share, the smaller of two approximations.

    Both are for samples from the maximum-likelihood population. The first keeps the count that a
    label needs to be in the dictionary, which is right where many labels have about that count. The
    second is right where few have: another label then takes the place of one that leaves, so only
    the excess over that count c varies, and how many others have c or c + 1 records themselves.
    """
    n, most = profile.total, chao1(profile)
    ends = np.cumsum(profile.prevalences[::-1])
    place = int(np.searchsorted(ends, tries))
    if place == len(ends):
        return 0.0  # all labels are in the dictionary
    needed = int(profile.counts[::-1][place])

    def all_records(counts: IntArray) -> FloatArray:
        return _chance(profile, np.maximum(counts - 1, 0), tries, without=0) * counts / n

    def excess(counts: IntArray) -> FloatArray:
        return np.maximum(counts - needed, 0) / n

    fixed, moving = (
        sampling(profile, weigh, most, lambda population: 0.0).spread
        for weigh in (all_records, excess)
    )
    away = (profile.counts - needed) / math.sqrt(needed)
    others = profile.prevalences - (profile.counts == needed)
    beside = float(others @ np.exp(-(away**2) / 2)) / math.sqrt(2 * math.pi * needed)
    return min(fixed, math.hypot(moving, needed * math.sqrt(2 * beside) / n))


def clopper_pearson(share: float, n: float) -> tuple[float, float]:
    """Return the 95 % interval of a probability, from its share of n records.

    Clopper and Pearson 1934, "The use of confidence or fiducial limits illustrated in the case of
    the binomial". Also for shares of 0 and 1 the interval is not a single point.
    """
    had = share * n
    low = float(betaincinv(had, n - had + 1, _TAIL)) if had > 0 else 0.0
    high = float(betaincinv(had + 1, n - had, 1 - _TAIL)) if had < n else 1.0
    return (low, high) if math.isfinite(low + high) else (0.0, 1.0)


def _chance(profile: Diagram, values: IntArray, tries: int, without: int) -> FloatArray:
    """Return the probability that a label is among the `tries` most frequent, ties at random.

    Parameters
    ----------
    values : (v,) int64, the label's records; with 0, it is no label.
    without : 1 if the label itself is in `profile` with a larger count, else 0.
    """
    ends = np.append(0, np.cumsum(profile.prevalences[::-1]))
    descending = -profile.counts[::-1]
    above = ends[np.searchsorted(descending, -values, side="left")]
    ties = ends[np.searchsorted(descending, -values, side="right")] - above
    chance = np.clip((tries - above + without) / (ties + 1.0), 0.0, 1.0)
    return np.where(values > 0, chance, 0.0)
