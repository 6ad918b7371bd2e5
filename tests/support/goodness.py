"""Goodness of fit with a stated error rate.

A test that uses these passes seeded samples, so its outcome never changes by chance. The
level says how surprising the samples may be if the code is right; a planted bug must be
more surprising than that.
"""

from collections.abc import Callable

import numpy as np
from scipy.stats import chi2

LEVEL = 1e-6


def chi_square_p(samples: np.ndarray, tail: Callable[[np.ndarray], np.ndarray]) -> float:
    """P-value of integer samples against Pr[Z >= z] = tail(z), in cells of expected count >= 5.

    Cells are about fifty, of equal width where the law is, so that scale, center and zero all
    matter.
    """
    reach = int(np.max(np.abs(samples))) + 1
    step = max(1, int(np.std(samples) / 8))
    edges = np.arange(-reach - step, reach + 2 * step, step)
    upper = tail(edges)
    probability = np.append(np.append(1 - upper[0], -np.diff(upper)), upper[-1])
    observed = np.bincount(
        np.searchsorted(edges, samples, side="right"), minlength=len(probability)
    ).astype(float)
    expected = probability * len(samples)
    # Pool from both ends until every cell is expected to hold five.
    observed, expected = _pooled(observed, expected)
    observed, expected = _pooled(observed[::-1], expected[::-1])
    statistic = float(np.sum((observed - expected) ** 2 / expected))
    return float(chi2.sf(statistic, len(expected) - 1))


def _pooled(observed: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    k = int(np.argmax(np.cumsum(expected) >= 5))
    return (
        np.append(observed[: k + 1].sum(), observed[k + 1 :]),
        np.append(expected[: k + 1].sum(), expected[k + 1 :]),
    )
