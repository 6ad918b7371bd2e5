"""Standard deviation and bias that sampling of records gives a sum over labels.

Both are computed for the maximum-likelihood population of the profile
(`dphist.properties.profile_likelihood`), for which expectations are plain sums.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from dphist.arrays import FloatArray, IntArray
from dphist.data.diagram import Diagram
from dphist.properties.estimate import plain_number
from dphist.properties.profile_likelihood import Population, likeliest_population

Weigh = Callable[[IntArray], FloatArray]

# Sums cover the counts within _REACH standard deviations plus _MORE of the expected count; the
# rest of the Poisson law is below 1e-12.
_REACH, _MORE = 8.0, 20
# Grid points per standard deviation: the trapezoid rule is then accurate to many digits.
_FINENESS = 10
_NORMAL_FROM = 1e6  # expected count


@dataclass(frozen=True, slots=True)
class Sampling:
    """Standard deviation and bias of an estimate, in the unit of the estimate."""

    spread: float
    bias: float

    def note(self, unit: float = 1.0, in_interval: bool = False) -> str:
        """Return a note on the bias, for an estimate in units of `unit`."""
        held = "the interval includes it, the standard error does not"
        return (
            f"the bias is about {plain_number(self.bias / unit)} if the population resembles the"
            " one that makes the profile most likely; "
            + (held if in_interval else "no error includes it")
        )


def sampling(
    profile: Diagram, weigh: Weigh, most_labels: float, truth: Callable[[Population], float]
) -> Sampling:
    """Return standard deviation and bias of the sum of `weigh` over labels, seen and unseen.

    Parameters
    ----------
    profile : the sample, of n records.
    weigh : f(r) of counts (k,) int64, r >= 0; (k,) float64.
    most_labels : number of labels, K; labels absent from the maximum-likelihood population add
        f(0) each.
    truth : the property of a known population.

    Notes
    -----
    Counts are independent Poisson numbers N_j of mean n p_j. Conditioning on their sum n reduces
    the variance by (sum of Cov(f(N_j), N_j))**2/n.
    """
    n = profile.total
    if n == 0:
        return Sampling(0.0, 0.0)
    return sampling_of(likeliest_population(profile, most_labels), n, weigh, most_labels, truth)


def sampling_of(
    population: Population,
    n: int,
    weigh: Weigh,
    most_labels: float,
    truth: Callable[[Population], float],
) -> Sampling:
    """Return the same as `sampling`, for samples of n records from a known population."""
    means = n * population.probabilities
    grids = [_grid(mean) for mean in means.tolist()]
    sizes = np.array([len(grid) for grid in grids])
    counts = np.concatenate(grids)
    starts = np.cumsum(sizes) - sizes
    expected = np.repeat(means, sizes)
    chances = _chances(counts, expected, starts, sizes)
    values = weigh(counts)

    def mean_of(what: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(chances * what, starts))

    each = mean_of(values)
    from_mean = values - np.repeat(each, sizes)
    variance = float(population.labels @ mean_of(from_mean**2))
    with_count = float(population.labels @ mean_of(from_mean * (counts - expected)))
    missing = max(most_labels - float(np.sum(population.labels)), 0.0)
    total = float(population.labels @ each) + missing * float(weigh(np.zeros(1, np.int64))[0])
    spread = math.sqrt(max(variance - with_count**2 / n, 0.0))
    return Sampling(spread, total - truth(population))


def jackknife(profile: Diagram, change: FloatArray) -> float:
    """Return the standard error from leaving out each record in turn (Efron and Stein 1981).

    Parameters
    ----------
    profile : the sample, of one record or more.
    change : (c,) float64, change of the sum over labels if one record of a label is left out, for
        each count of the profile. The decrease of n changes all terms about equally and hardly
        affects differences from the mean, so it is ignored.
    """
    share = profile.counts / profile.total * profile.prevalences
    return math.sqrt((profile.total - 1) * float(share @ (change - share @ change) ** 2))


def _grid(mean: float) -> IntArray:
    """Return counts around an expected one, all of them or evenly spaced."""
    deviation = math.sqrt(mean)
    low = max(0, math.floor(mean - _REACH * deviation - _MORE))
    high = math.ceil(mean + _REACH * deviation + _MORE)
    return np.arange(low, high + 1, max(1, int(deviation / _FINENESS)), dtype=np.int64)


def _chances(
    counts: IntArray, expected: FloatArray, starts: IntArray, sizes: IntArray
) -> FloatArray:
    """Return the Poisson probabilities on each grid, normalized."""
    logs = counts * np.log(expected) - expected - gammaln(counts + 1.0)
    # For large means these logarithms lose precision, and the Poisson law is nearly normal.
    logs = np.where(expected > _NORMAL_FROM, -((counts - expected) ** 2) / (2 * expected), logs)
    chances = np.exp(logs - np.repeat(np.maximum.reduceat(logs, starts), sizes))
    return np.asarray(chances / np.repeat(np.add.reduceat(chances, starts), sizes))
