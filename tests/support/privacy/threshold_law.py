"""The law of a label's noisy count above a threshold, by enumeration."""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm

from dphist.data.label_counts import LabelCounts
from dphist.labels.threshold import noise as module
from dphist.labels.threshold.mechanism import ThresholdHistogram

MOST = 14  # released values at and above it are one outcome
Outcome = int | None  # None: not released
Law = dict[Outcome, float]


def promised_counts(
    counts: list[int] | np.ndarray, max_labels: int = 1, max_count: int = 1
) -> LabelCounts:
    columns = {"label": np.arange(len(counts)), "count": np.asarray(counts, np.int64)}
    return LabelCounts.promised(pa.table(columns), max_labels, max_count)


class EveryValue:
    """Stands in for both samplers: noise -reach, ..., reach, each once."""

    def __init__(self) -> None:
        self.asked: list[Fraction] = []

    def __call__(self, parameter: Fraction, size: int, source: object = None) -> np.ndarray:
        assert isinstance(parameter, Fraction)
        self.asked.append(parameter)
        return np.arange(size) - size // 2

    def law(self, size: int, noise: str) -> np.ndarray:
        """Probabilities of the values; beyond the reach there is nothing that floats can hold."""
        (parameter,) = self.asked
        values = np.arange(size) - size // 2
        if noise == "laplace":
            alpha = math.exp(-float(parameter))
            return (1 - alpha) / (1 + alpha) * alpha ** np.abs(values)
        away = np.abs(values)  # differences of small tails, not of numbers near 1
        cells = norm.sf((away - 0.5) / float(parameter)) - norm.sf((away + 0.5) / float(parameter))
        return np.where(values == 0, 1 - 2 * norm.sf(0.5 / float(parameter)), cells)


def label_law(mechanism: ThresholdHistogram, count: int, most: int = MOST) -> Law:
    """Law of what is released of a label with this count; values of `most` or more are one."""
    size = 2 * (400 if mechanism.noise == "laplace" else 24 * 1100) + 1
    sampler = EveryValue()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "two_sided_geometric", sampler)
        patch.setattr(module, "rounded_gaussian", sampler)
        data = promised_counts([count] * size, mechanism.max_labels, mechanism.max_count)
        value = mechanism.release(data).value
    released = dict(zip(value.labels, value.counts.tolist(), strict=True))
    law: Law = defaultdict(float)
    for label, probability in enumerate(sampler.law(size, mechanism.noise)):
        found = released.get(label)
        law[None if found is None else min(found, most)] += float(probability)
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    return dict(law)


def joint(laws: list[Law]) -> dict[tuple[Outcome, ...], float]:
    """Law of independent labels together."""
    pairs = (tuple(law.items()) for law in laws)
    return {
        tuple(outcome for outcome, _ in chosen): math.prod(p for _, p in chosen)
        for chosen in itertools.product(*pairs)
    }


def renyi(p: dict[Any, float], q: dict[Any, float], order: float) -> float:
    terms = [order * math.log(p[o]) + (1 - order) * math.log(q[o]) for o in p]
    most = max(terms)
    return (most + math.log(sum(math.exp(t - most) for t in terms))) / (order - 1)


def hockey_stick(p: dict[Any, float], q: dict[Any, float], epsilon: float) -> float:
    return sum(max(0.0, p[o] - math.exp(epsilon) * q.get(o, 0.0)) for o in p)


class ViolationError(AssertionError):
    """A claim that does not hold."""


def users(mechanism: ThresholdHistogram) -> Iterator[tuple[list[tuple[int, int]], list[int]]]:
    """What one user may do: new labels, and common ones below, at and above the threshold."""
    by = range(1, mechanism.max_count + 1)
    near = int(mechanism.threshold or 0)
    lifts = [(low, low + d) for low in (1, near, near + 2) for d in by]
    for fresh in range(mechanism.max_labels + 1):
        for new in itertools.combinations_with_replacement(by, fresh):
            for common in itertools.combinations_with_replacement(
                lifts, mechanism.max_labels - fresh
            ):
                yield list(common), list(new)
