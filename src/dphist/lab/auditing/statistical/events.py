"""Events: conditions on what a run shows, or many features weighed together.

Of many features, each gets a table of log ratios of its values; logistic regression says how much
each table counts, as features repeat each other. For noise that is drawn independently this comes
close to the likelihood ratio, of which the best event is a threshold (Neyman and Pearson;
DP-Sniper, S&P 2021).
"""

from bisect import bisect_left
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dphist.arrays import BoolArray, FloatArray, IntArray
from dphist.lab.auditing.outcome import Features

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


def fit_weights(scores: FloatArray, is_one: BoolArray) -> FloatArray:
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


@dataclass(frozen=True)
class Condition:
    """One feature lies in a set, or on one side of a number.

    Attributes
    ----------
    feature : its name.
    kind : "in", "at most", "more than", "present" or "absent".
    value : the set, or the number; None for the last two.
    """

    feature: str
    kind: str
    value: Any = None

    def holds(self, features: Features) -> bool:
        """Whether it holds of an outcome."""
        if self.kind in ("present", "absent"):
            return (self.feature in features) == (self.kind == "present")
        if self.feature not in features:
            return False
        found: Any = features[self.feature]
        if self.kind == "in":
            return found in self.value
        if not is_number(found):
            return False
        return bool(found <= self.value if self.kind == "at most" else found > self.value)

    def __str__(self) -> str:
        if self.kind in ("present", "absent"):
            return f"{self.feature} is {'there' if self.kind == 'present' else 'not there'}"
        if self.kind != "in":
            return f"{self.feature} is {self.kind} {self.value}"
        shown = sorted((_short(each) for each in self.value), key=lambda text: (len(text), text))
        if len(shown) == 1:
            return f"{self.feature} is {shown[0]}"
        more = f" or {len(shown) - 5} others" if len(shown) > 6 else ""
        return f"{self.feature} is one of {', '.join(shown[: 5 if more else 6])}{more}"


@dataclass(frozen=True)
class Weighed:
    """Several features together are likelier on one neighbor, by more than a factor.

    Attributes
    ----------
    tables : log ratios of the features' values.
    weights : what each table counts.
    line : a weighted sum above it is in the event.
    """

    tables: tuple[Table, ...]
    weights: tuple[float, ...]
    line: float

    def holds(self, features: Features) -> bool:
        """Whether it holds of an outcome."""
        scores = (
            weight * table.score(features[table.feature])
            for table, weight in zip(self.tables, self.weights, strict=True)
            if table.feature in features
        )
        return sum(scores) > self.line

    def __str__(self) -> str:
        ranked = sorted(zip(self.weights, self.tables, strict=True), key=lambda pair: -pair[0])
        names = [table.feature for weight, table in ranked[:4] if weight > 0]
        return (
            f"weighed together, {', '.join(names)} and {len(self.tables) - len(names)} others are "
            f"likelier on one of the two, the weighted sum of their log ratios being above "
            f"{self.line:.3g}"
        )


@dataclass(frozen=True)
class Event:
    """Conditions that all hold."""

    conditions: tuple[Condition | Weighed, ...]

    def holds(self, features: Features) -> bool:
        """Whether it happened in a run."""
        return all(each.holds(features) for each in self.conditions)

    def __str__(self) -> str:
        return ", and ".join(str(each) for each in self.conditions)


def is_number(value: Hashable) -> bool:
    """Whether a feature's value is compared by size."""
    return isinstance(value, int | float | Fraction) and not isinstance(value, bool)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
