"""What share of a node's records lies in its first half, as public data are known to behave.

A fixed prior, the same for every release. It holds no privacy and no data of the release: it
says how noisy counts are read. What gave it: docs/ranges.md.
"""

import numpy as np
from scipy.special import ndtr

from dphist.universal.consistency import FloatArray

# Symmetric about 1/2: spikes at 0, 1/2 and 1 (an empty half, two equal halves), and between the
# edges a piecewise uniform density.
_EDGES = np.array(
    [0, .0003, .001, .003, .01, .03, .07, .13, .2, .28, .36, .43, .47, .49, .4967, .499, .5]
)  # fmt: skip
_MASSES = np.array([6, 5, 7, 9, 10, 14, 18, 25, 31, 36, 55, 57, 47, 22, 14, 9]) / 1000
_EMPTY = 0.095
_EQUAL = 0.08
EDGES: FloatArray = np.concatenate([_EDGES, 1 - _EDGES[-2::-1]])
MASSES: FloatArray = np.concatenate([_MASSES, _MASSES[::-1]])

# Of the share under the prior: what is known of a split of which nothing was counted.
SHARE_VARIANCE = float(
    ((EDGES[:-1] + EDGES[1:] - 1) ** 2 / 4 * MASSES).sum() + 2 * _EMPTY / 4
) / float(MASSES.sum() + 2 * _EMPTY + _EQUAL)

_AT_ONCE = 2**13  # nodes: what they need fits in a processor's cache
_DENSITY = 1 / np.sqrt(2 * np.pi)


def share_posterior(
    estimate: FloatArray, variance: FloatArray, total: FloatArray, even: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean and variance of the first half's records, given all of them.

    Parameters
    ----------
    estimate : (k,) float64, records
        What measurements say of the first half.
    variance : (k,) float64, above 0
        Of `estimate`, taken as normal.
    total : (k,) float64, above 0
        Records of both halves.
    even : (k,) float64, between 0 and 1
        The first half's share of the bins: where the spike of equal density lies.

    Returns
    -------
    mean : (k,) float64, from 0 to `total`.
    between : (k,) float64, not negative
        The part of the variance that is between spikes and pieces of the prior.
    variance : (k,) float64, at least `between`.
    """
    found = np.empty((3, len(total)))
    for start in range(0, len(total), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        found[:, part] = _posterior(estimate[part], variance[part], total[part], even[part])
    mean, between, whole = found
    return mean, between, whole


def _posterior(
    estimate: FloatArray, variance: FloatArray, total: FloatArray, even: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    deviation = np.sqrt(variance)[:, None]
    whole = total[:, None]
    # Farther out all components have next to no likelihood, and only their ratio matters.
    middle = np.clip(estimate[:, None], -5 * deviation, whole + 5 * deviation)
    edges = whole * EDGES
    chance, pull, stretch = _normal_between((edges - middle) / deviation)
    below, above = edges[:, :-1], edges[:, 1:]
    width = above - below
    centre = (below + above) / 2
    thin = width < 1e-3 * deviation
    # The mean of a normal law cut off at both ends; of a thin piece or a far one, its middle.
    inside = np.clip(middle + deviation * pull / np.maximum(chance, 1e-300), below, above)
    flat = thin | (chance < 1e-12)
    piece = np.where(flat, centre, inside)
    # Its variance is never above those of the normal law and of a uniform one.
    ratio = pull / np.maximum(chance, 1e-300)
    narrowed = variance[:, None] * (1 + stretch / np.maximum(chance, 1e-300) - ratio**2)
    most = np.minimum(variance[:, None], width**2 / 12)
    within = np.where(flat, most, np.clip(narrowed, 0, most))
    height = np.where(thin, _height(centre, middle, deviation), chance / np.maximum(width, 1e-300))
    spikes = whole * np.stack([np.zeros(len(even)), even, np.ones(len(even))], axis=1)
    spike_masses = np.array([_EMPTY, _EQUAL, _EMPTY])
    weights = np.concatenate(
        [height * MASSES, _height(spikes, middle, deviation) * spike_masses], axis=1
    )
    centres = np.concatenate([piece, spikes], axis=1)
    sums = weights.sum(axis=1)
    usable = sums > 0
    weights /= np.where(usable, sums, 1)[:, None]
    mean = (weights * centres).sum(axis=1)
    spread = (weights * (centres - mean[:, None]) ** 2).sum(axis=1)
    rest = (weights[:, : len(MASSES)] * within).sum(axis=1)
    fallback = np.clip(estimate, 0, total)
    return (
        np.where(usable, mean, fallback),
        np.where(usable, spread, variance),
        np.where(usable, spread + rest, variance),
    )


def _normal_between(edges: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return N(0, 1)'s chance between neighbouring edges, and what its moments there need.

    These are phi(lower) - phi(upper), and lower phi(lower) - upper phi(upper).
    """
    tails = ndtr(-np.abs(edges))  # accurate far out, where differences of the law itself are not
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
