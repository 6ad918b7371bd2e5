"""Events of many features: how much likelier all of them together are on one of two neighbors.

Each feature gets a table of log ratios of its values; logistic regression says how much each table
counts, as features repeat each other. For noise that is drawn independently this comes close to the
likelihood ratio, of which the best event is a threshold (Neyman and Pearson; DP-Sniper, S&P 2021).
"""

from bisect import bisect_left
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dphist.arrays import BoolArray, FloatArray, IntArray

_BINS = 12
_RIDGE = 3.0
_STEPS = 12


@dataclass(frozen=True)
class Table:
    """Log ratios of a feature's values, or of the intervals between cuts."""

    feature: str
    ratios: dict[Hashable, float] | None
    cuts: tuple[float, ...]
    steps: tuple[float, ...]

    def score(self, value: Any) -> float:
        """Return the log ratio of a value; 0 where none was seen."""
        if self.ratios is not None:
            return self.ratios.get(value, 0.0)
        try:
            return self.steps[bisect_left(self.cuts, float(value))]
        except (TypeError, ValueError, OverflowError):
            return 0.0


def table_of_values(
    feature: str, known: list[Hashable], counts: tuple[IntArray, IntArray]
) -> Table:
    """Return the log ratios of values that are compared one by one."""
    ratios = dict(zip(known, _ratios(*counts).tolist(), strict=True))
    return Table(feature, ratios, (), ())


def table_of_numbers(feature: str, numbers: tuple[FloatArray, FloatArray]) -> Table:
    """Return the log ratios of intervals between quantiles of both."""
    finite = [side[np.isfinite(side)] for side in numbers]
    both = np.concatenate(finite)
    cuts = np.zeros(0)
    if len(both):
        cuts = np.unique(np.quantile(both, np.linspace(0, 1, _BINS + 1)[1:-1]))
    counts = [
        np.bincount(np.searchsorted(cuts, side, side="left"), minlength=len(cuts) + 1)
        for side in finite
    ]
    return Table(feature, None, tuple(cuts.tolist()), tuple(_ratios(*counts).tolist()))


def _ratios(hits: IntArray, other_hits: IntArray) -> FloatArray:
    """Return log ratios, drawn towards 0 where few were seen."""
    found: FloatArray = np.log((hits + 2) / (other_hits + 2))
    return found


def weights_of(scores: FloatArray, is_one: BoolArray) -> FloatArray:
    """Return the weights of logistic regression with a ridge, by Newton's method.

    Parameters
    ----------
    scores : (n, k) float64, the log ratios of each run.
    is_one : (n,) bool, the runs on the first neighbor.
    """
    weights = np.zeros(scores.shape[1])
    for _ in range(_STEPS):
        # Not as matrix products: their threads wait for each other on a busy machine.
        chance = 1 / (1 + np.exp(-np.clip(np.einsum("ij,j", scores, weights), -30, 30)))
        slope = np.einsum("ij,i", scores, is_one - chance) - _RIDGE * weights
        uncertain = scores * (chance * (1 - chance))[:, None]
        curvature = np.einsum("ij,ik", uncertain, scores)
        curvature[np.diag_indices_from(curvature)] += _RIDGE
        weights = weights + np.linalg.solve(curvature, slope)
    return weights
