"""MWEM (Hardt, Ligett, McSherry 2012). For comparison only.

It starts from the uniform histogram. Each round chooses a query with a large error by the
exponential mechanism, measures it, and moves the histogram towards the measurement by
multiplicative weights. As in the paper, the number of records is known.
"""

import math
from typing import NamedTuple

import numpy as np

from dphist.arrays import FloatArray, IntArray
from dphist.ranges.comparing.queries import random_ranges, rectangles
from dphist.release.range_histogram.boxes import box_sums, sum_boxes

RANGES = 2_000
PASSES = 10  # over all measurements so far, in each round (the paper's Sec. 2.3.2 repeats them too)
# Rounds by epsilon times the number of records: what DPBench (Hay et al. 2016) found best on
# synthetic data, for one axis and for two.
_ROUNDS = {
    1: ([1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7], [2, 2, 4, 8, 12, 60, 80, 140]),
    2: ([5e2, 1e3, 5e3, 1e4, 1e5, 5e5, 1e6], [12, 12, 32, 32, 60, 120, 140]),
}


class Queries(NamedTuple):
    """Boxes, half open: lists of (queries,) int64, one for each axis."""

    lo: list[IntArray]
    hi: list[IntArray]


def make_queries(bins: tuple[int, ...]) -> Queries:
    """Return all prefixes and 2,000 ranges of a line; of a grid, the rectangles that are judged."""
    if len(bins) == 2:
        lo, hi = rectangles(bins)
        return Queries(list(lo.T), list(hi.T))
    starts, stops = (ends[:RANGES] for ends in random_ranges(bins[0]))
    prefixes = np.arange(1, bins[0] + 1)
    return Queries(
        [np.concatenate([np.zeros_like(prefixes), starts])], [np.concatenate([prefixes, stops])]
    )


def rounds_for(axes: int, strength: float) -> int:
    """Return the number of rounds for epsilon times the number of records."""
    return int(np.interp(math.log(max(strength, 1)), np.log(_ROUNDS[axes][0]), _ROUNDS[axes][1]))


def mwem(counts: IntArray, epsilon: float, generator: np.random.Generator) -> FloatArray:
    """Return estimates of the bins, with repeated updates and the last histogram, not the mean."""
    total = int(counts.sum())
    rounds = rounds_for(counts.ndim, epsilon * total)
    found = histories(counts, total, make_queries(counts.shape), epsilon, rounds, generator, PASSES)
    return found[-1]


def histories(
    counts: IntArray,
    total: float,
    queries: Queries,
    epsilon: float,
    rounds: int,
    generator: np.random.Generator,
    passes: int = 0,
) -> list[FloatArray]:
    """Return the histogram after each round.

    `passes`: how often a round goes over all measurements so far; 0: over its own, once.
    """
    weights = np.full(counts.shape, total / counts.size)
    measured: list[tuple[tuple[slice, ...], float]] = []
    left = np.ones(len(queries.lo[0]), np.bool_)
    found = []
    for _ in range(rounds):
        errors = np.abs(box_sums(sum_boxes(counts - weights), *queries))
        score = np.where(left, epsilon / (2 * rounds) * errors / 2, -np.inf)
        chosen = int(np.argmax(score + generator.gumbel(size=len(score))))  # exponential mechanism
        left[chosen] = False
        box = tuple(
            slice(int(lo[chosen]), int(hi[chosen]))
            for lo, hi in zip(queries.lo, queries.hi, strict=True)
        )
        noisy = float(counts[box].sum()) + generator.laplace(scale=2 * rounds / epsilon)
        measured.append((box, noisy))
        weights = weights.copy()
        scale = 1.0
        for _ in range(max(passes, 1)):
            for one in measured if passes else measured[-1:]:
                scale = update(weights, scale, *one, total)
        weights *= scale
        found.append(weights)
    return found


def update(
    weights: FloatArray,
    scale: float,
    box: tuple[slice, ...],
    measured: float,
    total: float,
) -> float:
    """Move a histogram, `scale` times `weights`, by multiplicative weights; its total stays.

    `weights` change in the box alone; returned is the new scale.
    """
    if total == 0:
        return scale
    part = weights[box]
    inside = scale * float(part.sum())
    factor = math.exp(min((measured - inside) / (2 * total), 100.0))
    part *= factor
    return scale * total / (total + (factor - 1) * inside)
