"""Finding the values of keys that nobody listed, ahead of the tables: what it costs, and the draw.

Each label that occurs gets Gaussian noise on its number of rows, and is found if the noisy number
is above a threshold: the rule of `ThresholdHistogram`. A unit with up to m rows moves the numbers
of all labels by m together, not each by m, so noise for a length of m is enough, and the threshold
is that for m labels of m rows each (`docs/understand/proofs/tables.md`, Lemma 12).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from dphist.arrays import IntArray
from dphist.errors import ParameterError
from dphist.labels.threshold.law import gaussian_threshold
from dphist.labels.threshold.noise import GaussianNoise
from dphist.noise import Source
from dphist.noise.gaussian import LARGEST_SIGMA
from dphist.parameters import Exact, positive_delta, probability
from dphist.tables.contrasts import root_above


@dataclass(frozen=True, slots=True)
class LabelSearch:
    """How the values of one key are found.

    Attributes
    ----------
    sigma : standard deviation of the noise on the number of rows of a label.
    threshold : labels with noisy numbers above it are found, in records.
    max_found : labels that are kept, those with the largest noisy numbers.
    """

    sigma: Fraction
    threshold: Fraction
    max_found: int

    def costs_at_most(self, rho: Fraction, max_rows: int) -> bool:
        """Whether a unit with these rows pays at most rho for the noise."""
        return max_rows**2 <= 2 * rho * self.sigma**2

    def find(
        self, labels: Sequence[str], counts: IntArray, source: Source | None
    ) -> tuple[str, ...]:
        """Return the labels found, sorted: an order that depends on nothing else.

        Parameters
        ----------
        labels : the labels that occur, each once.
        counts : (labels,) int64, above 0, the rows of each.
        """
        noise = GaussianNoise(self.sigma)
        noisy, above = noise.add(np.asarray(counts, np.int64), self.threshold, source)
        found = [(-int(noisy[place]), labels[place]) for place in np.flatnonzero(above).tolist()]
        return tuple(sorted(label for _, label in sorted(found)[: self.max_found]))

    def likely_count(self, chance: float) -> int:
        """Return a number of rows from which a label is found with this probability or more."""
        return int(self.threshold + float(self.sigma) * NormalDist().inv_cdf(chance)) + 1


def read_delta(given: Exact | None, reason: str, *, finding: bool) -> Fraction | None:
    """Return a delta above 0, or None for none: geometric noise has no delta, finding has one.

    Parameters
    ----------
    reason : why `finding` values needs a delta, for the error.
    """
    if finding:
        return positive_delta(given, reason)
    exact = Fraction(0) if given is None else probability(given, "delta")
    return positive_delta(exact, "of Gaussian noise") if exact else None


@lru_cache(maxsize=256)
def make_search(rho: Fraction, delta: Fraction, max_rows: int, max_found: int) -> LabelSearch:
    """Return the search that a unit with up to `max_rows` rows pays rho and delta for.

    Raises
    ------
    ParameterError
        If the noise would be beyond what is sampled exactly.
    """
    sigma = root_above(max_rows**2 / (2 * rho))
    if sigma > LARGEST_SIGMA:
        raise ParameterError(
            ("epsilon", "rho"), "is too small for values of keys to be found", "raise one of them"
        )
    return LabelSearch(sigma, gaussian_threshold(sigma, delta, max_rows, max_rows), max_found)
