"""The interval of a Rényi entropy, from that of the sum of p**order.

The unbiased sum counts agreeing pairs, triples, and so on. Where these are few, its error is about
that of a Poisson number: the variance is proportional to the true sum, not to the one found. And
the noise of a release is added to the sum, while the entropy is its logarithm. So the interval is
that of the sum: all values that it is within 1.96 standard deviations of.
"""

import math

import numpy as np

from dphist.arrays import FloatArray
from dphist.properties.estimate import NORMAL, may_be_unseen

NO_NOISE = np.zeros(2)


def entropy_interval(
    nats: float, order: int, n: int, error: float, noise: FloatArray = NO_NOISE
) -> tuple[float, float]:
    """Return the 95 % interval of the entropy, in nats; infinity where there is no upper end.

    Parameters
    ----------
    nats : the entropy found, log(sum)/(1 - order).
    order : from 2.
    n : records.
    error : standard error of sampling, as a share of the sum.
    noise : (b,) float64, by how much the noise of a release changes the sum, as shares of it.

    Notes
    -----
    A sum of s times the one found is in the interval if (1 - s)**2 <= 1.96**2 (error**2 s + v**2),
    for the variance v**2 of the noise; for v = 0 this is Wilson's (1927) for a Poisson number. The
    mean of the noise moves the end on the side of the correction. Few records may all miss an
    event of probability m: then the true sum is (1 - m)**order times that of the others.
    """
    square = (NORMAL * error) ** 2
    variance, shift = float(np.var(noise, ddof=1)), float(np.mean(noise))
    half = math.sqrt(square * (1 + square / 4) + NORMAL**2 * variance)
    least = 1 + square / 2 - half - max(shift, 0.0)
    most = 1 + square / 2 + half + max(-shift, 0.0)
    low = nats - math.log(most) / (order - 1)
    if not least > 0:
        return max(low, 0.0), math.inf
    missed = -math.log1p(-may_be_unseen(n)) * order / (order - 1)
    return max(low, 0.0), nats + math.hypot(math.log(least) / (order - 1), missed)
