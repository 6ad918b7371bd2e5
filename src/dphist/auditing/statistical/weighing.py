"""Events of many features: how much likelier all of them together are on one of two neighbors.

Each feature gets a table of log ratios of its values; logistic regression says how much each table
counts, as features repeat each other. For noise that is drawn independently this comes close to the
likelihood ratio, of which the best event is a threshold (Neyman and Pearson; DP-Sniper, S&P 2021).
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dphist.arrays import BoolArray, FloatArray

_BINS = 12
_FEW_VALUES = 40
_RIDGE = 3.0
_STEPS = 12

Values = Sequence[Hashable]


@dataclass(frozen=True)
class Table:
    """Log ratios of a feature's values, or of the intervals between cuts."""

    feature: str
    ratios: dict[Hashable, float] | None
    cuts: FloatArray
    steps: FloatArray

    def score(self, value: Any) -> float:
        """Return the log ratio of a value; 0 where none was seen."""
        if self.ratios is not None:
            return self.ratios.get(value, 0.0)
        try:
            return float(self.steps[np.searchsorted(self.cuts, float(value), side="left")])
        except (TypeError, ValueError, OverflowError):
            return 0.0


def table_of(
    feature: str, ones: Values, others: Values, numbers: tuple[FloatArray, FloatArray] | None
) -> Table:
    """Return the log ratios of a feature's values, drawn towards 0 where few were seen."""
    here, there = Counter(ones), Counter(others)
    together = {**here, **there}
    if numbers is None or len(together) <= _FEW_VALUES:
        return Table(
            feature,
            {value: _ratio(here[value], there[value]) for value in together},
            np.zeros(0),
            np.zeros(0),
        )
    finite = [side[np.isfinite(side)] for side in numbers]
    cuts = np.unique(np.quantile(np.concatenate(finite), np.linspace(0, 1, _BINS + 1)[1:-1]))
    held = [
        np.bincount(np.searchsorted(cuts, side, side="left"), minlength=len(cuts) + 1)
        for side in finite
    ]
    steps = np.array([_ratio(int(a), int(b)) for a, b in zip(*held, strict=True)])
    return Table(feature, None, cuts, steps)


def _ratio(hits: int, other_hits: int) -> float:
    return float(np.log((hits + 2) / (other_hits + 2)))


def weights_of(scores: FloatArray, is_one: BoolArray) -> FloatArray:
    """Return the weights of logistic regression with a ridge, by Newton's method.

    Parameters
    ----------
    scores : (n, k) float64, the log ratios of each run.
    is_one : (n,) bool, the runs on the first neighbor.
    """
    weights = np.zeros(scores.shape[1])
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(scores @ weights, -30, 30)))
        slope = scores.T @ (is_one - chance) - _RIDGE * weights
        curvature = (scores.T * (chance * (1 - chance))) @ scores
        curvature[np.diag_indices_from(curvature)] += _RIDGE
        weights = weights + np.linalg.solve(curvature, slope)
    return weights
