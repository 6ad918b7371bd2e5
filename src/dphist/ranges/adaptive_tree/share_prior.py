"""Prior for the share of a node's records in its first half, from public data.

The prior is fixed, the same for every release. The guarantee does not depend on it; it only affects
how noisy counts are interpreted. `python -m benchmarks.split_prior` computes it.

A split is similar to its parent's: below an even split, 7 of 10 splits have a share within 0.07 of
1/2; below the most uneven ones, nearly 4 of 10 leave a half empty. So the prior of a split depends
on the kind of its parent's split: one of four, by the distance of its share from 1/2.
"""

from collections.abc import Iterator

import numpy as np
from scipy.special import ndtr

from dphist.arrays import FloatArray, IntArray

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
# (4,): variances of the share under the prior, for a split without counts.
SHARE_VARIANCES: FloatArray = MASSES @ (_CENTERS - 0.5) ** 2
# (4, 1): of the root, which has no parent.
ANY_KIND: FloatArray = np.full((4, 1), 0.25)

# Components by number: a piece goes by the number of its upper edge, and spikes follow.
_PIECES = len(EDGES) - 1
_NUMBERS: IntArray = np.arange(_PIECES + 4)[:, None]
_INNER_EDGES = EDGES[1:-1]
_SHARES = np.append(EDGES, [0, 0.5, 1])
_MASSES = np.insert(MASSES, 0, 0, axis=1)
_KINDS: IntArray = np.insert(np.digitize(np.abs(_CENTERS - 0.5), _KIND_EDGES), 0, 0)
# Pieces farther from the estimate, in its standard deviations, weigh less than 1e-5 of the others.
_FAR = 6
# In a node shorter than this, in standard deviations, all shares are equally likely.
_SHORT = 1e-5
_AT_ONCE = 2**13  # numbers in the arrays of a block of nodes: they fit in a processor's cache
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
    kinds : (4, k) float64
        Probabilities of the kinds of the parent's split; each column adds up to 1.

    Returns
    -------
    mean : (k,) float64, from 0 to `total`.
    between : (k,) float64, not negative
        The part of the variance that is between the components of the prior.
    variance : (k,) float64, at least `between`.
    kinds : (4, k) float64
        Probabilities of the kinds of this split.

    Notes
    -----
    Some ratios overflow and are replaced by their limits; callers silence the warnings.
    """
    # Lengths are in standard deviations of the estimate.
    deviation = np.sqrt(variance)
    length = np.maximum(total / deviation, _SHORT)
    place = estimate / deviation
    nearest = _clip(place, 0, length)
    first = _INNER_EDGES.searchsorted((nearest - _FAR) / length, "right")
    pieces = _INNER_EDGES.searchsorted((nearest + _FAR) / length, "right") - first + 1
    # Further out all likelihoods are nearly 0, and only their ratio matters.
    middle = _clip(place, -5, length + 5)
    most = int(pieces.max(initial=1))
    if len(total) * (most + 4) <= _AT_ONCE:
        moments, weights = _sums(length, middle, even, kinds, first, most)
    else:
        moments, weights = np.empty((3, len(total))), np.empty((4, len(total)))
        for part in _blocks(pieces):
            moments[:, part], weights[:, part] = _sums(
                length[part], middle[part], even[part], kinds[:, part], first[part], pieces[part[0]]
            )
    weight = np.add.reduce(weights)
    moments /= weight
    weights /= weight
    unit = total / length
    mean = _clip(unit * (middle + moments[0]), 0, total)
    unit *= unit
    between = unit * np.maximum(moments[1] - moments[0] * moments[0], 0)
    whole = between + unit * np.maximum(moments[2], 0)
    lost = (~(weight > 0)).nonzero()[0]  # all weights are rounded to 0
    if len(lost):
        mean[lost] = _clip(estimate[lost], 0, total[lost])
        between[lost] = whole[lost] = variance[lost]
        weights[:, lost] = kinds[:, lost]
    return mean, between, whole, weights


def _blocks(pieces: IntArray) -> Iterator[IntArray]:
    """Divide nodes into blocks with similar numbers of pieces, the most first."""
    order = np.argsort(-pieces.astype(np.int8), kind="stable")
    start = 0
    while start < len(order):
        stop = start + max(1, _AT_ONCE // (int(pieces[order[start]]) + 4))
        yield order[start:stop]
        start = stop


def _sums(
    length: FloatArray,
    middle: FloatArray,
    even: FloatArray,
    kinds: FloatArray,
    first: IntArray,
    pieces: int,
) -> tuple[FloatArray, FloatArray]:
    """Sum over the spikes, and over that many pieces from the first one on, or before the last.

    Returns (3, k) sums of weighted distances from the middle, of their squares, and of variances
    within a piece; and (4, k) sums of weights by kind.
    """
    number = np.minimum(first, _PIECES - pieces) + _NUMBERS[: pieces + 4]
    number[-3:] = _NUMBERS[-3:]
    shares = _SHARES[number]
    shares[-2] = even
    places = length * shares - middle
    density = _DENSITY * np.exp(-0.5 * places * places)
    edges = places[:-3]
    # Tails are accurate far out, where differences of probabilities up to an edge are not.
    tails = np.copysign(ndtr(-np.abs(edges)), edges)
    chance = tails[:-1] - tails[1:]
    below = np.signbit(edges)
    chance += below[:-1] != below[1:]
    np.maximum(chance, 1e-300, out=chance)
    low, high = edges[:-1], edges[1:]
    width = high - low
    # Moments of a truncated normal distribution. Its mean is in the piece, and its variance at
    # most that of the uniform distribution.
    moment = density[:-3] * edges
    mean = (density[:-4] - density[1:-3]) / chance
    within = 1 + (moment[:-1] - moment[1:]) / chance - mean * mean
    within = np.minimum(within, width * width / 12)
    # From here on pieces, which take the places of their upper edges, and spikes.
    number, places, weight = number[1:], places[1:], density[1:]
    places[:-3] = _clip(mean, low, high)
    weight[:-3] = chance / width
    nodes = np.arange(len(length))
    weight *= (_MASSES.T @ kinds).ravel()[number * len(nodes) + nodes]
    moments = np.empty((3, len(nodes)))
    np.add.reduce(weight[:-3] * within, out=moments[2])
    kind = _KINDS[number] * len(nodes) + nodes
    by_kind = np.bincount(kind.ravel(), weight.ravel(), 4 * len(nodes)).astype(np.float64)
    weight *= places
    np.add.reduce(weight, out=moments[0])
    weight *= places
    np.add.reduce(weight, out=moments[1])
    return moments, by_kind.reshape(4, -1)


def _clip(values: FloatArray, low: FloatArray | float, high: FloatArray | float) -> FloatArray:
    clipped: FloatArray = np.minimum(np.maximum(values, low), high)  # faster than np.clip if few
    return clipped
