"""The population that makes a profile likeliest, and what sampling of records does to a sum.

`likeliest_population` is approximate profile maximum likelihood. The likelihood of a profile is a
sum over all assignments of its counts to labels, which is too expensive to compute. It is
approximated with populations in which labels of similar counts share one probability: the sorted
counts are cut into runs, and a dynamic program finds the best cuts (Pavlichin, Jiao and Weissman
2019, "Approximate profile maximum likelihood").

Standard deviation and bias of a sum over labels are computed for that population, for which
expectations are plain sums.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from dphist.arrays import FloatArray, IntArray
from dphist.data.diagram import Diagram
from dphist.properties.estimate import plain_number

# Counts do not share a probability if their square roots differ by more: the square root of a
# count has standard deviation 1/2, so 6 is twelve standard deviations.
_ALIKE = 6.0
# How many numbers of unseen labels are tried, evenly spaced in the logarithm.
_TRIES = 400
# Log-likelihoods count as equal if they differ by less than this, or by rounding errors.
_AS_GOOD, _ROUNDING = 1e-9, 1e-15
_STIRLING = 100.0  # from here on two terms of Stirling's series are accurate to 1e-13


@dataclass(frozen=True, slots=True)
class Population:
    """Labels by their probability.

    Attributes
    ----------
    probabilities : (g,) float64, ascending, positive.
    labels : (g,) float64, number of labels with each; the products add up to 1.
    """

    probabilities: FloatArray
    labels: FloatArray

    def entropy(self) -> float:
        """Return the Shannon entropy, in nats."""
        return float(-np.sum(self.labels * self.probabilities * np.log(self.probabilities)))

    def share_of_top(self, many: int) -> float:
        """Return the total probability of the `many` most probable labels."""
        labels, shares = self.labels[::-1], (self.labels * self.probabilities)[::-1]
        ends, totals = np.append(0, np.cumsum(labels)), np.append(0, np.cumsum(shares))
        return float(np.interp(many, ends, totals))


def likeliest_population(profile: Diagram, most_labels: float) -> Population:
    """Return the maximum-likelihood population of at most `most_labels` labels.

    Notes
    -----
    A run of m labels with N records in total and u unseen labels adds
    log((m + u)!/u!) + N log(N / ((m + u) n)) to the approximate log-likelihood; u may be above 0
    only in the run of the smallest counts. Time is O(d w) for d distinct counts, if at most w of
    them have square roots within 6 of each other.
    """
    counts, n = profile.counts, profile.total
    if n == 0:
        return Population(np.empty(0), np.empty(0))
    labels = np.append(0, np.cumsum(profile.prevalences))
    records = np.append(0, np.cumsum(profile.prevalences * counts))
    roots = np.sqrt(counts)
    starts = np.searchsorted(roots, roots - _ALIKE)
    unseen = _tries(max(0.0, most_labels - profile.labels))
    best, cut = np.zeros(len(counts) + 1), np.zeros(len(counts) + 1, np.int64)
    beside = np.zeros(len(counts) + 1)  # unseen labels, by the end of the first run
    for end in range(1, len(counts) + 1):
        start = starts[end - 1]
        # Subtract integers: in floats, small runs would be lost next to large ones.
        held = (labels[end] - labels[start:end]).astype(np.float64)
        seen = (records[end] - records[start:end]).astype(np.float64)
        gain = best[start:end] + gammaln(held + 1) + seen * np.log(seen / (held * n))
        if start == 0:
            first = _with_unseen(held[0], seen[0], unseen, n)
            # The smallest number among equals: for one label seen once, all are equal.
            close = _ROUNDING * np.abs(first).max() + _AS_GOOD
            beside[end] = unseen[np.argmax(first >= first.max() - close)]
            gain[0] = first.max()
        choice = int(np.argmax(gain))
        best[end], cut[end] = gain[choice], start + choice
    return _runs(cut, labels, records, beside, n)


def _tries(most: float) -> FloatArray:
    """Return the numbers of unseen labels to try, from 0 to `most`."""
    if most < 1:
        return np.zeros(1)
    return np.unique(np.append(0, np.floor(np.geomspace(1, most, _TRIES))))


def _with_unseen(held: float, seen: float, unseen: FloatArray, n: int) -> FloatArray:
    """Return the log-likelihood that the first run adds for each number of unseen labels."""
    shared = seen * np.log(seen / ((held + unseen) * n))
    return np.asarray(_log_rising(unseen + 1, held) + shared)


def _log_rising(first: FloatArray, factors: float) -> FloatArray:
    """Return log(first (first + 1) ... (first + factors - 1)), also for a large `first`.

    There it is the difference of Stirling's series for the two factorials with the large terms
    canceled symbolically; in floats, the factorials would be equal to all digits.
    """
    after = first + factors
    series = factors * np.log(first) + (after - 0.5) * np.log1p(factors / first) - factors
    series += (1 / after - 1 / first) / 12 - (1 / after**3 - 1 / first**3) / 360
    return np.where(first < _STIRLING, gammaln(after) - gammaln(first), series)


def _runs(
    cut: IntArray, labels: IntArray, records: IntArray, beside: FloatArray, n: int
) -> Population:
    """Follow the cuts back from the last count."""
    ends = [len(cut) - 1]
    while ends[-1] > 0:
        ends.append(int(cut[ends[-1]]))
    at = np.array(ends[::-1])
    held, seen = (np.diff(each[at]).astype(np.float64) for each in (labels, records))
    held[0] += beside[at[1]]
    return Population(seen / (held * n), held)


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
    return compute_sampling(
        likeliest_population(profile, most_labels), n, weigh, most_labels, truth
    )


def compute_sampling(
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

    def compute_mean(what: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(chances * what, starts))

    each = compute_mean(values)
    from_mean = values - np.repeat(each, sizes)
    variance = float(population.labels @ compute_mean(from_mean**2))
    with_count = float(population.labels @ compute_mean(from_mean * (counts - expected)))
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
