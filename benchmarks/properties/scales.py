"""Which degree the polynomial of Wu and Yang's entropy should have: log k, and no more than 11.

Degree, reach and threshold are 1.6, 3.5 and 1.5 times a scale, for which the paper takes log k.
No sample is drawn: mean and variance of the estimate are summed over Poisson counts.
"""

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from benchmarks.markdown import print_table
from dphist.properties.entropy import polynomial_weights, wu_yang_at
from dphist.properties.sampling import Population, compute_sampling

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

LABELS = (100, 1000, 10_000, 100_000)
RECORDS = (0.3, 1, 3, 10)  # of the labels
SCALES = (3.0, 5.0, 6.9, 8.0, 9.2, 10.0, 11.0, 12.0, 14.0)
SEED = 1


def laws(labels: int) -> Iterator[FloatArray]:
    """Six populations of so many labels: probabilities, not yet adding up to 1."""
    random = np.random.default_rng(SEED)
    yield np.ones(labels)
    yield 1 / np.arange(1, labels + 1)
    yield random.gamma(0.5, size=labels)
    yield random.gamma(2.0, size=labels)
    yield np.repeat([1.0, 5.0], labels // 2)
    yield np.repeat([1.0, 20.0], [labels - labels // 10, labels // 10])


def population(law: FloatArray) -> Population:
    """Labels by their probability, to a hundredth of it."""
    shares = law / law.sum()
    _, group, many = np.unique(np.round(np.log(shares), 2), return_inverse=True, return_counts=True)
    return Population(np.bincount(group, shares) / many, many.astype(np.float64))


def error(known: Population, labels: int, n: int, scale: float) -> float:
    """Root mean square error in bits."""
    design = wu_yang_at(n, scale)

    def weigh(counts: IntArray) -> FloatArray:
        return polynomial_weights(design, counts, n)

    found = compute_sampling(known, n, weigh, float(labels), Population.entropy)
    return math.hypot(found.spread, found.bias) / math.log(2)


def print_scales() -> None:
    """Print root mean squares over the populations."""
    print(
        "Root mean square error in bits over six populations (uniform, Zipf, Dirichlet 1/2 and 2,"
        " two of two steps). Bold: the column next to min(log k, 11), which is used.\n"
    )
    rows = []
    for labels in LABELS:
        known = [population(law) for law in laws(labels)]
        ours = min(SCALES, key=lambda scale: abs(scale - min(math.log(labels), 11)))
        for share in RECORDS:
            n = round(share * labels)
            cells = []
            for scale in SCALES:
                squares = [error(each, labels, n, scale) ** 2 for each in known]
                cell = f"{math.sqrt(sum(squares) / len(squares)):.4f}"
                cells.append(f"**{cell}**" if scale == ours else cell)
            rows.append([f"{labels:,}", f"{n:,}", *cells])
    print_table(["labels, k", "records", *(f"{scale:g}" for scale in SCALES)], rows)
