"""How far a sum over labels strays because records are a sample: its spread and its bias.

Both are computed as if the population were the one that makes the profile likeliest
(`dphist.properties.profile_likelihood`), of which expectations are plain sums.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from dphist.arrays import FloatArray, IntArray
from dphist.data.profile import Profile
from dphist.properties.estimate import plain_number
from dphist.properties.profile_likelihood import Population, likeliest_population

Weigh = Callable[[IntArray], FloatArray]

# Counts looked at lie within so many standard deviations of the expected one, and so many more:
# the rest of a Poisson law is below 1e-12.
_REACH, _MORE = 8.0, 20
# Points a standard deviation. The trapezoid rule is exact to many digits on so fine a grid.
_FINENESS = 10
_NORMAL_FROM = 1e6  # expected count


@dataclass(frozen=True, slots=True)
class Sampling:
    """Standard deviation and bias of an estimate, in its own unit."""

    spread: float
    bias: float

    def note(self, unit: float = 1.0, in_interval: bool = False) -> str:
        """Say what the bias is, of an estimate in such units."""
        return (
            f"a bias of {plain_number(self.bias / unit)}, if the population is about the one that"
            " makes the profile likeliest, is in "
            + ("the interval, not in the standard error" if in_interval else "no error given")
        )


def sampling(
    profile: Profile, weigh: Weigh, most_labels: float, truth: Callable[[Population], float]
) -> Sampling:
    """Return spread and bias of the sum of `weigh` over all labels, seen and unseen.

    Parameters
    ----------
    profile : the sample, of n records.
    weigh : f(r) of counts (k,) int64 of 0 or more; (k,) float64.
    most_labels : labels there are, K; those that the likeliest population has not count f(0).
    truth : the property of a population that is known.

    Notes
    -----
    Counts are taken as independent Poisson numbers N_j of mean n p_j; that they add up to n
    takes (sum of Cov(f(N_j), N_j))**2/n off the variance.
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
    """Return the same for samples of n records from a population that is known."""
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


def jackknife(profile: Profile, change: FloatArray) -> float:
    """Return the standard error from leaving out each record in turn (Efron and Stein 1981).

    Parameters
    ----------
    profile : the sample, of one record or more.
    change : (c,) float64, by what the sum over labels changes if a record of a label with each of
        the profile's counts is left out. That n falls too changes all terms about alike, and
        differences from the mean hardly.
    """
    share = profile.counts / profile.total * profile.prevalences
    return math.sqrt((profile.total - 1) * float(share @ (change - share @ change) ** 2))


def _grid(mean: float) -> IntArray:
    """Counts about an expected one, all of them or evenly spaced."""
    deviation = math.sqrt(mean)
    low = max(0, math.floor(mean - _REACH * deviation - _MORE))
    high = math.ceil(mean + _REACH * deviation + _MORE)
    return np.arange(low, high + 1, max(1, int(deviation / _FINENESS)), dtype=np.int64)


def _chances(
    counts: IntArray, expected: FloatArray, starts: IntArray, sizes: IntArray
) -> FloatArray:
    """Poisson chances on each grid, in proportion so that they add up to 1 there."""
    logs = counts * np.log(expected) - expected - gammaln(counts + 1.0)
    # Far out those logarithms lose their digits, and Poisson's law is normal.
    logs = np.where(expected > _NORMAL_FROM, -((counts - expected) ** 2) / (2 * expected), logs)
    chances = np.exp(logs - np.repeat(np.maximum.reduceat(logs, starts), sizes))
    return np.asarray(chances / np.repeat(np.add.reduceat(chances, starts), sizes))
