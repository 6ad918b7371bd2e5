"""Made histograms, many of them hard on error bars: the same ones each time."""

import zlib
from collections.abc import Callable

import numpy as np

from benchmarks.ranges.data import SIDE, Shape
from dphist.arrays import FloatArray

BINS = 4096
_WEIGHT = 10**9  # that a shape's bins have together, about


def made_shapes(axes: int) -> list[Shape]:
    """Return those over so many axes, 1 or 2; they are meant to be resampled."""
    makers = _LINES if axes == 1 else _GRIDS
    found = []
    for name, make in makers.items():
        weights = make(np.random.default_rng(zlib.crc32(name.encode())))
        scale = _WEIGHT / max(float(weights.sum()), 1.0)
        found.append(Shape(name, np.rint(weights * scale).astype(np.int64)))
    return found


def _places(rng: np.random.Generator, shape: tuple[int, ...], number: int) -> FloatArray:
    """Equal weights at some cells chosen at random."""
    weights = np.zeros(shape)
    weights.ravel()[rng.choice(weights.size, number, replace=False)] = 1
    return weights


def _bell(rng: np.random.Generator) -> FloatArray:
    return np.exp(-0.5 * ((np.arange(BINS) / BINS - 0.45) / 0.12) ** 2)


def _stairs(rng: np.random.Generator) -> FloatArray:
    ends = np.sort(rng.choice(BINS, 11, replace=False))
    lengths = np.diff(ends, prepend=0, append=BINS)
    return np.repeat(rng.exponential(size=12) ** 2, lengths)


def _clusters(rng: np.random.Generator, shape: tuple[int, ...], number: int) -> FloatArray:
    """Bells of all widths and weights, drawn as a few hundred points each."""
    weights = np.zeros(shape)
    for _ in range(number):
        center, width = rng.integers(0, shape), 2 ** rng.uniform(-1, 5)
        points = np.rint(center + rng.normal(0, width, (300, len(shape)))).astype(int)
        places = tuple(np.clip(points, 0, np.array(shape) - 1).T)
        np.add.at(weights, places, rng.exponential() ** 2 / 300)
    return weights


def _comb(every: int) -> FloatArray:
    weights = np.zeros(BINS)
    weights[5::every] = 1
    return weights


def _block_and_spike(rng: np.random.Generator) -> FloatArray:
    weights = np.full(BINS, 1e-12)
    weights[:1500], weights[3000:], weights[1300] = 1, 0.05, 600
    return weights


def _cascade(rng: np.random.Generator) -> FloatArray:
    """Every node halved by a share that is mostly near 0 or 1."""
    weights = np.ones(1)
    while len(weights) < BINS:
        share = rng.beta(0.5, 0.5, len(weights))
        weights = np.stack([weights * share, weights * (1 - share)], axis=1).ravel()
    return weights


def _blobs(rng: np.random.Generator) -> FloatArray:
    x, y = np.indices((SIDE, SIDE)) / SIDE
    weights = np.zeros((SIDE, SIDE))
    for _ in range(5):
        (left, low), width = rng.random(2), rng.uniform(0.02, 0.12)
        square = ((x - left) ** 2 + (y - low) ** 2) / width**2
        weights += rng.exponential() * np.exp(-0.5 * square)
    return weights


def _roads(rng: np.random.Generator) -> FloatArray:
    """Like taxis in a city: streets along the axes, uneven, and a few hundred busy corners."""
    weights = np.zeros((SIDE, SIDE))
    for street in range(25):
        first, last = np.sort(rng.integers(0, SIDE, 2))
        place = int(SIDE * np.clip(rng.normal(0.5, 0.18), 0, 0.99))
        along = weights if street % 2 else weights.T
        along[place, first:last] += rng.exponential() ** 2
    weights *= np.exp(rng.normal(0, 1.2, weights.shape))
    likely = (weights + 1e-4).ravel() / (weights + 1e-4).sum()
    corners = rng.choice(weights.size, 300, replace=False, p=likely)
    weights.ravel()[corners] += 30 * rng.pareto(1.2, 300)
    return weights


def _lines(rng: np.random.Generator) -> FloatArray:
    """Straight lines in any direction."""
    weights = np.zeros((SIDE, SIDE))
    for start, stop in rng.random((6, 2, 2)):
        points = start + (stop - start) * np.linspace(0, 1, 1000)[:, None]
        np.add.at(weights, tuple((SIDE * points).astype(int).T), 1)
    return weights


def _board(side: int) -> FloatArray:
    row, column = np.indices((SIDE, SIDE)) // side
    return np.asarray((row + column) % 2, np.float64)


def _rows(every: int) -> FloatArray:
    weights = np.zeros((SIDE, SIDE))
    weights[100 % every :: every] = 1
    return weights


_LINE, _GRID = (BINS,), (SIDE, SIDE)
_LINES: dict[str, Callable[[np.random.Generator], FloatArray]] = {
    "uniform": lambda rng: np.ones(BINS),
    "bell": _bell,
    "Zipf": lambda rng: 1 / np.arange(1, BINS + 1),
    "Zipf, shuffled": lambda rng: rng.permutation(1 / np.arange(1, BINS + 1) ** 1.2),
    "30 spikes": lambda rng: _places(rng, _LINE, 30),
    "300 spikes": lambda rng: _places(rng, _LINE, 300),
    "stairs": _stairs,
    "clusters": lambda rng: _clusters(rng, _LINE, 12),
    "a single bin": lambda rng: _places(rng, _LINE, 1),
    "nothing": lambda rng: np.zeros(BINS),
    "every other bin": lambda rng: _comb(2),
    "every 60th bin": lambda rng: _comb(60),
    "log-normal": lambda rng: np.exp(rng.normal(0, 2, BINS)),
    "block and spike": _block_and_spike,
    "cascade": _cascade,
}
_GRIDS: dict[str, Callable[[np.random.Generator], FloatArray]] = {
    "uniform grid": lambda rng: np.ones(_GRID),
    "blobs": _blobs,
    "roads": _roads,
    "lines": _lines,
    "clusters on a grid": lambda rng: _clusters(rng, _GRID, 40),
    "checkerboard of cells": lambda rng: _board(1),
    "checkerboard of 16 x 16": lambda rng: _board(16),
    "a single cell": lambda rng: _places(rng, _GRID, 1),
    "nothing on a grid": lambda rng: np.zeros(_GRID),
    "40 spikes": lambda rng: _places(rng, _GRID, 40),
    "1,000 spikes": lambda rng: _places(rng, _GRID, 1000),
    "Zipf, shuffled on a grid": lambda rng: rng.permutation(
        1 / np.arange(1, SIDE**2 + 1) ** 1.1
    ).reshape(_GRID),
    "a row": lambda rng: _rows(SIDE),
    "every 8th row": lambda rng: _rows(8),
}
