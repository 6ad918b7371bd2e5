"""Prior for the share of a node's records in its first half, from public data.

The prior is fixed, the same for every release. The guarantee does not depend on it; it only affects
how noisy counts are interpreted. `python -m benchmarks.split_prior` computes it.

A split is similar to its parent's: below an even split, 7 of 10 splits have a share within 0.07 of
1/2; below the most uneven ones, nearly 4 of 10 leave a half empty. So the prior of a split depends
on the kind of its parent's split: one of four, by the distance of its share from 1/2.
"""

import numpy as np
from scipy.special import ndtr

from dphist.arrays import FloatArray

# The smaller half's share is 0, or 1/2, or uniform between two of these edges; either half is the
# smaller one with probability 1/2.
_EDGES = np.array(
    [0, .0003, .001, .003, .01, .03, .07, .13, .2, .28, .36, .43, .47, .49, .4967, .499, .5]
)  # fmt: skip
_KIND_EDGES = (0.03, 0.1, 0.25)  # of the distance of a share from 1/2
# A row for each kind of the parent's split, the most even first; in thousandths.
_SMALLER_HALF = np.array([
    [68, 3, 6, 5, 7, 6, 5, 11, 17, 22, 41, 88, 131, 169, 95, 73, 47, 206],
    [91, 3, 6, 5, 9, 9, 13, 23, 33, 49, 83, 150, 176, 144, 57, 33, 21, 95],
    [120, 4, 9, 8, 13, 16, 25, 40, 75, 127, 117, 158, 129, 77, 30, 12, 7, 33],
    [375, 28, 15, 29, 34, 39, 54, 57, 65, 53, 57, 68, 55, 27, 12, 7, 5, 20],
])  # fmt: skip
EDGES: FloatArray = np.concatenate([_EDGES, 1 - _EDGES[-2::-1]])
_ORDER = [*range(1, 17), *range(16, 0, -1), 0, 17, 0]
# (4, 35): pieces between edges, then spikes at 0, 1/2 and 1; each row adds up to 1.
MASSES: FloatArray = _SMALLER_HALF[:, _ORDER] / np.array([2000] * 33 + [1000, 2000])
_CENTERS = np.append((EDGES[:-1] + EDGES[1:]) / 2, [0, 0.5, 1])
# (35, 4): 1 where a component is a split of that kind.
_KIND_OF: FloatArray = np.eye(4)[np.digitize(np.abs(_CENTERS - 0.5), _KIND_EDGES)]

# (4,): variances of the share under the prior, for a split without counts.
SHARE_VARIANCES: FloatArray = MASSES @ (_CENTERS - 0.5) ** 2
# (1, 4): of the root, which has no parent.
ANY_KIND: FloatArray = np.full((1, 4), 0.25)

_AT_ONCE = 2**13  # nodes processed at once: their arrays fit in a processor's cache
_DENSITY = 1 / np.sqrt(2 * np.pi)


def share_posterior(
    estimate: FloatArray,
    variance: FloatArray,
    total: FloatArray,
    even: FloatArray,
    kinds: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return mean and variance of the first half's records, given all of them, and its kind.

    Parameters
    ----------
    estimate : (k,) float64, records
        Measured records of the first half.
    variance : (k,) float64, above 0
        Variance of `estimate`, treated as normal.
    total : (k,) float64, above 0
        Records of both halves.
    even : (k,) float64, between 0 and 1
        The first half's share of the bins: the position of the spike of equal density.
    kinds : (k, 4) float64
        Probabilities of the kinds of the parent's split; each row adds up to 1.

    Returns
    -------
    mean : (k,) float64, from 0 to `total`.
    between : (k,) float64, not negative
        The part of the variance that is between the components of the prior.
    variance : (k,) float64, at least `between`.
    kinds : (k, 4) float64
        Probabilities of the kinds of this split.
    """
    mean, between, whole = np.empty((3, len(total)))
    found = np.empty((len(total), 4))
    for start in range(0, len(total), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        # Some ratios overflow and are replaced by their limits; no warning may reveal this.
        with np.errstate(all="ignore"):
            mean[part], between[part], whole[part], found[part] = _posterior(
                estimate[part], variance[part], total[part], even[part], kinds[part]
            )
    return mean, between, whole, found


def _posterior(
    estimate: FloatArray,
    variance: FloatArray,
    total: FloatArray,
    even: FloatArray,
    kinds: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    deviation = np.sqrt(variance)[:, None]
    whole = total[:, None]
    # Further out all likelihoods are nearly 0, and only their ratio matters.
    middle = np.clip(estimate[:, None], -5 * deviation, whole + 5 * deviation)
    edges = whole * EDGES
    chance, pull, stretch = _normal_between((edges - middle) / deviation)
    below, above = edges[:, :-1], edges[:, 1:]
    width = above - below
    center = (below + above) / 2
    thin = width < 1e-3 * deviation
    # The mean of a truncated normal distribution; for a thin or distant piece, its middle.
    inside = np.clip(middle + deviation * pull / np.maximum(chance, 1e-300), below, above)
    flat = thin | (chance < 1e-12)
    piece = np.where(flat, center, inside)
    # Its variance is at most that of the normal and of the uniform distribution.
    ratio = pull / np.maximum(chance, 1e-300)
    narrowed = variance[:, None] * (1 + stretch / np.maximum(chance, 1e-300) - ratio**2)
    most = np.minimum(variance[:, None], width**2 / 12)
    within = np.where(flat, most, np.clip(narrowed, 0, most))
    height = np.where(thin, _height(center, middle, deviation), chance / np.maximum(width, 1e-300))
    spikes = whole * np.stack([np.zeros(len(even)), even, np.ones(len(even))], axis=1)
    weights = np.concatenate([height, _height(spikes, middle, deviation)], axis=1)
    # Not with @: at this size, starting the threads of a linear algebra library costs more.
    weights *= np.einsum("ij,jk->ik", kinds, MASSES)
    centers = np.concatenate([piece, spikes], axis=1)
    sums = weights.sum(axis=1)
    usable = sums > 0
    weights /= np.where(usable, sums, 1)[:, None]
    mean = (weights * centers).sum(axis=1)
    spread = (weights * (centers - mean[:, None]) ** 2).sum(axis=1)
    rest = (weights[:, :-3] * within).sum(axis=1)
    fallback = np.clip(estimate, 0, total)
    return (
        np.where(usable, mean, fallback),
        np.where(usable, spread, variance),
        np.where(usable, spread + rest, variance),
        np.where(usable[:, None], np.einsum("ij,jk->ik", weights, _KIND_OF), kinds),
    )


def _normal_between(edges: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the N(0, 1) probability between adjacent edges, and two terms of its moments.

    The terms are phi(lower) - phi(upper), and lower phi(lower) - upper phi(upper).
    """
    tails = ndtr(-np.abs(edges))  # accurate in the tails, where differences of ndtr are not
    lower, upper = edges[:, :-1], edges[:, 1:]
    same = (lower >= 0) | (upper <= 0)
    low, high = tails[:, :-1], tails[:, 1:]
    chance = np.where(same, np.abs(low - high), 1 - low - high)
    density = _DENSITY * np.exp(-0.5 * edges**2)
    moment = edges * density
    return chance, density[:, :-1] - density[:, 1:], moment[:, :-1] - moment[:, 1:]


def _height(place: FloatArray, middle: FloatArray, deviation: FloatArray) -> FloatArray:
    found: FloatArray = np.exp(-0.5 * ((place - middle) / deviation) ** 2) * _DENSITY / deviation
    return found
