"""Error of the entropy estimators, from exact profiles and from anonymized ones.

    python -m benchmarks.properties_entropy [runs]

Populations of 1000 labels, as in Suresh 2019: uniform, Zipf's law with exponent 1, and one
drawn from a Dirichlet distribution with parameter 1/2, anew in each run. Each cell has the
root mean square error in bits for the three.
"""

import math
import sys
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from benchmarks.markdown import print_table
from dphist import Profile, Release, anonymize
from dphist.properties.entropy import METHODS, entropy

FloatArray = npt.NDArray[np.float64]

LABELS = 1000
RECORDS = (300, 1000, 3000)
RUNS = 100
EPSILONS = (None, 1, 0.1)


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


LAWS: tuple[Callable[[np.random.Generator], FloatArray], ...] = (uniform, zipf, dirichlet)


def bits(probabilities: FloatArray) -> float:
    """Entropy of a population whose probabilities are known."""
    some = probabilities[probabilities > 0]
    return float(-np.sum(some * np.log2(some)))


def samples(
    law: Callable[[np.random.Generator], FloatArray], records: int, runs: int
) -> list[tuple[Profile, float]]:
    """Profiles of so many records each, with the entropy of what they were drawn from."""
    random = np.random.default_rng(8)
    drawn = []
    for _ in range(runs):
        probabilities = law(random)
        counts = random.multinomial(records, probabilities)
        drawn.append((Profile.from_counts(counts), bits(probabilities)))
    return drawn


def rmse(drawn: list[tuple[Profile | Release, float]], method: str, labels: int | None) -> float:
    """Root mean square error of one estimator, in bits."""
    squares = [(entropy(seen, method=method, labels=labels) - true) ** 2 for seen, true in drawn]
    return math.sqrt(sum(squares) / len(squares))


def main(runs: int) -> None:
    """Print a table."""
    rows = []
    for records in RECORDS:
        drawn = [samples(law, records, runs) for law in LAWS]
        for epsilon in EPSILONS:
            seen: list[list[tuple[Profile | Release, float]]] = [
                [(p if epsilon is None else anonymize(p, epsilon=epsilon), h) for p, h in each]
                for each in drawn
            ]
            for method in METHODS:
                cells = [
                    " / ".join(f"{rmse(each, method, labels):.3f}" for each in seen)
                    for labels in (LABELS, None)
                ]
                rows.append([method, f"{records:,}", epsilon or "exact", *cells])
    print_table(["Method", "records", "epsilon", "number of labels known", "not known"], rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
