"""Approximate profile maximum likelihood: the population under which a profile is likeliest.

The likelihood of a profile is a sum over all ways to give its counts to labels, which
nobody can compute. It is near to that of a population in which labels of neighbouring
counts share one probability: the counts, in order, are cut into runs, and a dynamic
programme finds the best cuts (Pavlichin, Jiao and Weissman 2019, "Approximate profile
maximum likelihood").
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from dphist.arrays import FloatArray, IntArray
from dphist.data.profile import Profile

# Counts whose roots differ by more are not of one probability: the root of a count has
# standard deviation 1/2, so that 6 is twelve of them.
_REACH = 6.0
# Numbers of unseen labels that are tried, evenly on a scale of logarithms.
_TRIES = 400
# Log-likelihoods that differ by less are equal; so are they if rounding alone tells them apart.
_AS_GOOD, _ROUNDING = 1e-9, 1e-15
_STIRLING = 100.0  # from there two terms of his series are good to 1e-13


@dataclass(frozen=True, slots=True)
class Population:
    """Labels by their probability.

    Attributes
    ----------
    probabilities : (g,) float64, ascending, positive.
    labels : (g,) float64, how many labels have each; the products add up to 1.
    """

    probabilities: FloatArray
    labels: FloatArray

    def entropy(self) -> float:
        """Return the Shannon entropy, in nats."""
        return float(-np.sum(self.labels * self.probabilities * np.log(self.probabilities)))

    def share_of_top(self, many: int) -> float:
        """Return the probability of the so many most probable labels together."""
        labels, shares = self.labels[::-1], (self.labels * self.probabilities)[::-1]
        ends, totals = np.append(0, np.cumsum(labels)), np.append(0, np.cumsum(shares))
        return float(np.interp(many, ends, totals))


def likeliest_population(profile: Profile, most_labels: float) -> Population:
    """Return the population of at most `most_labels` labels that makes a profile likeliest.

    Notes
    -----
    A run of m labels with N records in all, and u labels unseen beside them, adds
    log((m + u)!/u!) + N log(N / ((m + u) n)) to the approximate log-likelihood; u may be
    above 0 in the run of the smallest counts only. Time is O(d w) for d distinct counts of
    which no more than w are within 6 of each other's roots.
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
    beside = np.zeros(len(counts) + 1)  # unseen labels, if the first run ends there
    for end in range(1, len(counts) + 1):
        start = starts[end - 1]
        # Differences of whole numbers: those of floats would lose small runs beside large ones.
        held = (labels[end] - labels[start:end]).astype(np.float64)
        seen = (records[end] - records[start:end]).astype(np.float64)
        gain = best[start:end] + gammaln(held + 1) + seen * np.log(seen / (held * n))
        if start == 0:
            first = _with_unseen(held[0], seen[0], unseen, n)
            # The fewest of those that are as good: for one label seen once, any number is.
            close = _ROUNDING * np.abs(first).max() + _AS_GOOD
            beside[end] = unseen[np.argmax(first >= first.max() - close)]
            gain[0] = first.max()
        choice = int(np.argmax(gain))
        best[end], cut[end] = gain[choice], start + choice
    return _runs(cut, labels, records, beside, n)


def _tries(most: float) -> FloatArray:
    """Numbers of unseen labels to try, from 0 to `most`."""
    if most < 1:
        return np.zeros(1)
    return np.unique(np.append(0, np.floor(np.geomspace(1, most, _TRIES))))


def _with_unseen(held: float, seen: float, unseen: FloatArray, n: int) -> FloatArray:
    """Log-likelihood that a first run adds with each number of unseen labels beside it."""
    shared = seen * np.log(seen / ((held + unseen) * n))
    return np.asarray(_log_rising(unseen + 1, held) + shared)


def _log_rising(first: FloatArray, factors: float) -> FloatArray:
    """Logarithm of first (first + 1) ... (first + factors - 1), also of a large `first`.

    There it is the difference of Stirling's series for both factorials, whose large terms are
    subtracted on paper: the factorials themselves are alike to all digits.
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
