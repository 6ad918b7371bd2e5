"""Exact laws of clamped noisy counts, and a sampler that follows a script."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

SLACK = 1e-9  # floating point in the laws themselves


def clamped_law(center: int, epsilon: float, low: int, high: int) -> np.ndarray:
    """Law of clip(center + Z, low, high) for two-sided geometric Z, on low..high."""

    # Each probability by its own formula: differences of tails would lose all digits.
    alpha = math.exp(-epsilon)

    def upper(t: int) -> float:  # Pr[Z >= t]
        return alpha**t / (1 + alpha) if t > 0 else 1 - alpha ** (1 - t) / (1 + alpha)

    inner = [(1 - alpha) / (1 + alpha) * alpha ** abs(y - center) for y in range(low + 1, high)]
    return np.array([upper(center - low), *inner, upper(high - center)])


def worst_log_ratio(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.max(np.abs(np.log(a) - np.log(b))))


class Scripted:
    """Stands in for the sampler: the k-th call returns the k-th noise, zeros when it is None.

    Calls after the script return zeros. Every parameter asked for is recorded, a list a call.
    """

    def __init__(self, script: Sequence[int | np.ndarray | None] = ()) -> None:
        self.script = list(script)
        self.calls: list[tuple[Fraction, int]] = []

    def __call__(self, epsilon: Fraction, size: int, source: object = None) -> np.ndarray:
        assert isinstance(epsilon, Fraction)  # no parameter has been through a float
        k = len(self.calls)
        self.calls.append((epsilon, size))
        noise = self.script[k] if k < len(self.script) else None
        return np.zeros(size, np.int64) + (0 if noise is None else noise)


class Ladder:
    """Noise 0, 1, 2, ... in one call: shows which draw is added to which count."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, int]] = []

    def __call__(self, epsilon: Fraction, size: int, source: object = None) -> np.ndarray:
        self.asked.append((epsilon, size))
        return np.arange(size) if size > 1 else np.array([0])
