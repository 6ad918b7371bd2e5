"""Published ways to release quantiles of a group, for comparison only: noise is floating point.

Values are places among bins, from 0 to their number; `counts` are exact, and of one group.
"""

from collections.abc import Sequence

import numpy as np

from dphist.arrays import FloatArray, IntArray

_BRANCHES, _LEVELS = 16, 4
_IGNORED = 0.0075  # children with less of their parent's records are not entered: gamma of Google's


def smith_quantiles(
    counts: IntArray, epsilon: float, shares: Sequence[float], draw: np.random.Generator
) -> list[float]:
    """Return an edge for each share by the exponential mechanism; the shares divide epsilon.

    Smith 2011; OpenDP's `make_private_quantile`. An edge's score is how far the number of records
    below it is from the share; one record changes it by the larger of the share and its rest.
    """
    below = np.append(0, np.cumsum(counts))
    found = []
    for share in shares:
        score = -np.abs(below - share * below[-1])
        rate = epsilon / len(shares) / (2 * max(share, 1 - share))
        found.append(float(np.argmax(rate * score + draw.gumbel(size=score.size))))
    return found


def google_quantiles(
    counts: IntArray, epsilon: float, shares: Sequence[float], draw: np.random.Generator
) -> list[float]:
    """Return Google's bounded quantiles: one noisy tree, from which all quantiles are read.

    The tree has 16 children a node and four levels, as in Google's differential-privacy library;
    it is written here from its published algorithm (`quantile-tree`).
    """
    leaves = _BRANCHES**_LEVELS
    data = np.repeat(np.arange(counts.size), counts)
    places = (data + draw.random(data.size)) / counts.size  # spread evenly within a value
    leaf = np.minimum((places * leaves).astype(np.int64), leaves - 1)
    noisy = [
        np.bincount(leaf // _BRANCHES ** (_LEVELS - level), minlength=_BRANCHES**level)
        + draw.laplace(0, _LEVELS / epsilon, _BRANCHES**level)
        for level in range(1, _LEVELS + 1)
    ]
    return [counts.size * _read_tree(noisy, share) for share in shares]


def _read_tree(noisy: Sequence[FloatArray], share: float) -> float:
    """Return where a share of the records lies below, from 0 to 1."""
    low, width, node = 0.0, 1.0, 0
    for level in noisy:
        children = np.maximum(level[node * _BRANCHES : (node + 1) * _BRANCHES], 0)
        total = children.sum()
        if total == 0:
            break
        children = np.where(children < _IGNORED * total, 0, children)
        total = children.sum()
        sums = np.cumsum(children) / total
        child = int(np.searchsorted(sums, share, side="left"))
        child = min(child, _BRANCHES - 1)
        before = sums[child - 1] if child else 0.0
        own = sums[child] - before
        width /= _BRANCHES
        low += child * width
        node = node * _BRANCHES + child
        share = min(max((share - before) / own, 0.0), 1.0) if own > 0 else 0.5
    return low + share * width
