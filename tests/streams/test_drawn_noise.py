"""The noise that a counter draws, from what it asks the samplers for.

Other tests compute the law from the tables that counters hold. Here the samplers answer with one
standard deviation on a path of the request's own, so that the squares of all paths add up to the
variance of a count. Lemmas 2, 4, 5 and 9 of docs/proofs/streams.md.
"""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dphist.streams.counters import autoregressive, binary, laplace, toeplitz
from dphist.streams.counters.autoregressive import autoregressive_counter
from dphist.streams.counters.binary import BinaryCounter
from dphist.streams.counters.counter import Counter
from dphist.streams.counters.laplace import laplace_counter
from dphist.streams.counters.toeplitz import toeplitz_counter, unbounded_counter

PATHS = 400
COUNTERS: dict[str, Counter] = {
    "binary": BinaryCounter(Fraction(10) ** 6 / 3, 2**16),
    "autoregressive": autoregressive_counter(Fraction(1, 50), 2**16),
    "toeplitz": toeplitz_counter(Fraction(1, 50), 2**16),
    "unbounded": unbounded_counter(Fraction(1, 50), 1000),
}


class Deviations:
    """In place of a sampler: the standard deviation of a request, on a path of its own."""

    def __init__(self) -> None:
        self.requests = itertools.count()

    def __call__(self, sigma: Fraction, size: int, source: object = None) -> np.ndarray:
        drawn = np.zeros(size, np.int64)
        drawn[next(self.requests)] = round(sigma)
        return drawn


@pytest.mark.parametrize("name", COUNTERS)
@pytest.mark.parametrize("times", [(1, 2, 3, 7, 8), (5, 1000, 40_000, 65_536)], ids=str)
def test_counts_have_the_stated_variance(
    name: str, times: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = COUNTERS[name]
    sampler = Deviations()
    for module in (autoregressive, binary, toeplitz):
        monkeypatch.setattr(module, "rounded_gaussian", sampler)
    rows, before = None, 0
    for now in times:
        if rows is None:
            rows = counter.start(PATHS, now, None)
        else:
            rows = counter.step(rows, before, now, None)
        before = now
        units = counter.total(rows).astype(float)
        found = math.fsum(units**2) / 4.0**counter.unit_bits
        assert found == pytest.approx(float(counter.variance_at(now)), rel=1e-3)


@pytest.mark.parametrize("horizon", [1, 20, 2**16])
def test_every_block_of_a_pure_counter_has_the_stated_rate(
    horizon: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Fraction] = []

    def record(rate: Fraction, shape: Any, source: object = None) -> np.ndarray:
        asked.append(rate)
        return np.zeros(shape, np.int64)

    monkeypatch.setattr(laplace, "two_sided_geometric", record)
    counter = laplace_counter(Fraction(1), horizon)
    rows = counter.start(3, 1, None)
    for before, now in itertools.pairwise(sorted({1, horizon // 2 or 1, horizon})):
        rows = counter.step(rows, before, now, None)
    assert set(asked) == {Fraction(1, counter.levels)}
