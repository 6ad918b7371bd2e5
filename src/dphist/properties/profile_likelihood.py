"""Approximate profile maximum likelihood: the population that maximizes a profile's likelihood.

The likelihood of a profile is a sum over all assignments of its counts to labels, which is too
expensive to compute. It is approximated with populations in which labels of similar counts share
one probability: the sorted counts are cut into runs, and a dynamic program finds the best cuts
(Pavlichin, Jiao and Weissman 2019, "Approximate profile maximum likelihood").
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from dphist.arrays import FloatArray, IntArray
from dphist.data.diagram import Diagram

# Counts do not share a probability if their square roots differ by more: the square root of a
# count has standard deviation 1/2, so 6 is twelve standard deviations.
_REACH = 6.0
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
    starts = np.searchsorted(roots, roots - _REACH)
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
