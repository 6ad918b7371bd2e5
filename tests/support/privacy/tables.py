"""What the noise of a release of tables costs."""

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dphist.arrays import IntArray
from dphist.tables import KeyedCounts, Tables, drawing


def cells_of(shape: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], IntArray]]:
    for cell in itertools.product(*map(range, shape)):
        counts = np.zeros(shape, np.int64)
        counts[cell] = 1
        yield cell, counts


class Recorder:
    """Stands in for noise: each number drawn is the index of its scale, times a large number."""

    STEP = 2**40

    def __init__(self) -> None:
        self.scales: list[Fraction] = []
        self.drawn = 0

    def __call__(self, sigma: Fraction, size: int, source: Any) -> IntArray:
        self.scales.append(Fraction(sigma))
        self.drawn += size
        return np.full(size, len(self.scales) * self.STEP, np.int64)


def pay(
    mechanism: Tables, counts: KeyedCounts, monkeypatch: pytest.MonkeyPatch
) -> tuple[Fraction, int]:
    """Return what the contrasts of counts cost, by the scales they are drawn at, and the draws."""
    recorder = Recorder()
    monkeypatch.setattr(drawing, "rounded_gaussian", recorder)
    noisy = mechanism.release(counts).noisy
    total = Fraction(0)
    for name, numbers in noisy.items():
        if name.startswith("+"):  # values found of a key
            continue
        for number in numbers.tolist():
            index, moved = divmod(number + Recorder.STEP // 2, Recorder.STEP)
            moved -= Recorder.STEP // 2
            assert index or not moved, f"no noise on {name}"
            if moved:
                total += Fraction(moved) ** 2 / (2 * recorder.scales[index - 1] ** 2)
    return total, recorder.drawn
