"""Exact two-sided geometric noise that ends: drawn again until it is within a limit."""

from functools import partial

import numpy as np

from dphist.arrays import IntArray
from dphist.noise.geometric import two_sided_geometric
from dphist.noise.inversion import Source, sample_shape
from dphist.parameters import Exact, whole_number

_MOST = 2**62


def truncated_geometric(
    epsilon: Exact, limit: int, size: int | tuple[int, ...], source: Source | None = None
) -> IntArray:
    """Draw independent two-sided geometric noise that is given to be within a limit, exactly.

    Pr[X = x] is proportional to exp(-epsilon abs(x)) for the whole numbers from -limit to limit,
    and 0 for all others. What is drawn beyond the limit is drawn again, which does not depend on
    any data; it is never moved to the limit.

    Parameters
    ----------
    epsilon : number, 1/10**9 or more; a float means its shortest decimal.
        The parameter of one count.
    limit : largest magnitude, in records; 0 or more. The share of draws that are kept is about
        1 - exp(-epsilon limit).
    size, source : as for `two_sided_geometric`.

    Returns
    -------
    (size,) int64

    Notes
    -----
    `docs/understand/proofs/bounded_noise.md`, Lemma 1.
    """
    largest = whole_number(limit, "limit", 0, _MOST)
    return sample_shape(size, partial(_sample, epsilon, largest), source)


def _sample(epsilon: Exact, limit: int, size: int, source: Source) -> IntArray:
    drawn = np.array(two_sided_geometric(epsilon, size, source), np.int64)
    beyond = np.flatnonzero(np.abs(drawn) > limit)
    while len(beyond):
        drawn[beyond] = two_sided_geometric(epsilon, len(beyond), source)
        beyond = beyond[np.abs(drawn[beyond]) > limit]
    return drawn
