"""Populations of 1000 labels, as in Suresh 2019, samples of them, and what is true of them.

Uniform, Zipf's law with exponent 1, and one drawn from a Dirichlet distribution with parameter
1/2, anew for each sample.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dphist import Profile

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
Law: TypeAlias = Callable[[np.random.Generator], FloatArray]

LABELS = 1000
SEED = 8
# Of Dirichlet's law, the rarest label is rarer than anything that could be promised.
LEAST_PROMISED = Fraction(1, 10 * LABELS)


def uniform(random: np.random.Generator) -> FloatArray:
    """Probabilities that are all the same."""
    return np.full(LABELS, 1 / LABELS)


def zipf(random: np.random.Generator) -> FloatArray:
    """Probabilities in proportion to 1/rank."""
    heights = 1 / np.arange(1, LABELS + 1)
    return np.asarray(heights / heights.sum())


def dirichlet(random: np.random.Generator) -> FloatArray:
    """Probabilities drawn from Dirichlet's distribution with parameter 1/2."""
    drawn = random.gamma(0.5, size=LABELS)
    return np.asarray(drawn / drawn.sum())


LAWS: tuple[Law, ...] = (uniform, zipf, dirichlet)
NAMES = ("uniform", "Zipf", "Dirichlet")


@dataclass(frozen=True)
class Sample:
    """Records of a population that is known.

    Attributes
    ----------
    probabilities : (1000,) float64, of the labels.
    counts : (1000,) int64, records of each.
    """

    probabilities: FloatArray
    counts: IntArray

    @cached_property
    def profile(self) -> Profile:
        """What an estimator is told."""
        return Profile.from_counts(self.counts)

    @property
    def p_min(self) -> Fraction:
        """What `support_size` is promised: the least probability, or 1/10,000 if it is less."""
        least = float(self.probabilities.min())
        return LEAST_PROMISED if least <= LEAST_PROMISED else Fraction(1, math.ceil(1 / least))

    def new_labels(self, extra: int, random: np.random.Generator) -> int:
        """Draw `extra` times as many further records; return how many labels were new."""
        further = random.multinomial(extra * int(self.counts.sum()), self.probabilities)
        return int(np.count_nonzero((further > 0) & (self.counts == 0)))


def draw(law: Law, records: int, runs: int) -> list[Sample]:
    """Draw samples of so many records each, always the same ones."""
    random = np.random.default_rng(SEED)
    drawn = []
    for _ in range(runs):
        probabilities = law(random)
        drawn.append(Sample(probabilities, random.multinomial(records, probabilities)))
    return drawn


def samples(law: Law, records: int, runs: int) -> list[tuple[Profile, float]]:
    """Profiles of so many records each, with the entropy of what they were drawn from."""
    return [(each.profile, bits(each.probabilities)) for each in draw(law, records, runs)]


def bits(probabilities: FloatArray) -> float:
    """Entropy of a population whose probabilities are known."""
    some = probabilities[probabilities > 0]
    return float(-np.sum(some * np.log2(some)))


def collision_bits(probabilities: FloatArray) -> float:
    """Rényi entropy of order 2."""
    return float(-np.log2(np.sum(probabilities**2)))


def distance(probabilities: FloatArray) -> float:
    """Half the L1 distance from uniform."""
    return float(np.sum(np.abs(probabilities - 1 / len(probabilities))) / 2)
