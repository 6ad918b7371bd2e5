"""A second decoding, for large noise: the heights and slopes that explain all counts best.

The first decoding takes each slope from a few blocks. Here the curve is a random walk (`walk.py`),
and the power with which its slope falls changes slowly with the logarithm of the position: a power
law is a straight line on log-log axes. Heights at the ends of blocks and slopes are the most
likely ones, given all counts: a banded linear system, solved again with the slopes found. Pure
functions of noisy numbers.
"""

import math
from dataclasses import dataclass

import numpy as np

from dphist.anonymized.adaptive_scan.banded import Clue, Solved, solved
from dphist.anonymized.adaptive_scan.drift import smooth_drift
from dphist.anonymized.adaptive_scan.roughness import Roughness, of_columns
from dphist.anonymized.adaptive_scan.trend import noise_variance
from dphist.anonymized.adaptive_scan.walk import Walk, walk_of
from dphist.arrays import FloatArray, IntArray

# The fewest blocks that a second decoding needs, up to epsilon 1/2 and from epsilon 1 on; between
# them, a constant power of epsilon. At small noise single counts say more than their neighbors.
_FEWEST_BLOCKS, _FEWEST_AT_ONE = 6, 40
# Standard deviation by which the power of the slope changes over one unit of the logarithm: the
# first is assumed while slopes are sought, then the one that explains the counts best.
_BENDINGS = (1.0, 3.0)
# Standard deviation of the logarithm of a slope over the one assumed so far; one solution changes
# it by this much at most.
_LOOSE, _STRIDE = 3.0, 1.0
_SOLUTIONS = 4
# Falls vary this many times as much as by chance, chosen in the same way.
_CLUMPS = (1.0, 2.0, 4.0)
# Minimum variance of a fall, and what is added to that of rows.
_LEAST, _ADDED_TO_ROWS = 1e-3, 1e-4
# A fall of the first decoding that is off by more standard deviations than this is a step.
_STEP = 4.0
# As in `smoothing.py`: noise has heavy tails.
_USUAL = 0.7


@dataclass(frozen=True, slots=True)
class Scanned:
    """What is known of a curve: blocks, their noisy counts, and the first decoding.

    Attributes
    ----------
    ends : (k + 1,) int64, ascending from 0 to n; where blocks end.
    counts : (k,) int64; noisy numbers of cells.
    epsilon : parameter of their noise.
    roughness : variance of the curve's fall over one position, for its mean.
    curve : (n + 1,) float64, non-increasing; the first decoding, and the value after it.
    """

    ends: IntArray
    counts: IntArray
    epsilon: float
    roughness: Roughness
    curve: FloatArray


@dataclass(frozen=True, slots=True)
class Refined:
    """The most likely curve.

    Attributes
    ----------
    values : (n,) float64, its height at each position; it may rise a little.
    walk, noise, solved : its law, the variances of the counts, and the system's solution.
    drift : (n,) float64, the slopes found.
    """

    values: FloatArray
    walk: Walk
    noise: FloatArray
    solved: Solved
    drift: FloatArray


def refined(scanned: Scanned) -> Refined | None:
    """Return the most likely curve; None where there are too few blocks, or no digits left."""
    if len(scanned.counts) < fewest_blocks(scanned.epsilon):
        return None
    usual = noise_variance(scanned.epsilon)
    falls = np.maximum(-np.diff(scanned.curve), 0)
    drift, noise = smooth_drift(falls, scanned.roughness), np.full(len(scanned.counts), usual)
    for _ in range(_SOLUTIONS):
        walk = walk_of(scanned.ends, drift, _chance(scanned, drift, 1.0))
        solution = _most_likely(scanned, walk, noise, _BENDINGS[0])
        if solution is None:
            return None
        found = _curve_of(scanned, walk, noise, drift, solution)
        off = scanned.counts - np.add.reduceat(found.values, scanned.ends[:-1])
        drift, noise = found.drift, _USUAL * np.maximum(usual, np.abs(off) * math.sqrt(usual))
    best: tuple[Walk, Solved] | None = None
    for clumps in _CLUMPS:
        walk = walk_of(scanned.ends, drift, _chance(scanned, drift, clumps))
        for bending in _BENDINGS:
            solution = _most_likely(scanned, walk, noise, bending)
            if solution and (best is None or solution.likelihood > best[1].likelihood):
                best = walk, solution
    return None if best is None else _curve_of(scanned, best[0], noise, drift, best[1])


def fewest_blocks(epsilon: float) -> int:
    """Return the number of blocks below which a curve is not decoded again."""
    part = min(max(math.log2(epsilon) + 1, 0.0), 1.0)
    return round(_FEWEST_BLOCKS * math.pow(_FEWEST_AT_ONE / _FEWEST_BLOCKS, part))


def _most_likely(scanned: Scanned, walk: Walk, noise: FloatArray, bending: float) -> Solved | None:
    """Solve for heights and slopes, given how much both vary around the drift."""
    clues = _clues(scanned, walk, noise, _places(scanned.ends), bending)
    return solved(clues, 2 * len(noise) + 1, 4)


def _curve_of(
    scanned: Scanned, walk: Walk, noise: FloatArray, drift: FloatArray, solution: Solved
) -> Refined:
    """Return the curve with the heights and slopes of a solution."""
    heights, changes = solution.unknowns[0::2], np.clip(solution.unknowns[1::2], -_STRIDE, _STRIDE)
    positions = np.log(np.arange(1, len(drift) + 1))
    drift = drift * np.exp(np.interp(positions, _places(scanned.ends), changes))
    values = walk.drifting(scanned.ends, drift).inside(heights, scanned.counts, noise)
    return Refined(values, walk, noise, solution, drift)


def _places(ends: IntArray) -> FloatArray:
    """Return the middle of each block, on the logarithmic axis."""
    return np.asarray((np.log(ends[:-1] + 0.5) + np.log(ends[1:] + 0.5)) / 2)


def _chance(scanned: Scanned, drift: FloatArray, clumps: float) -> FloatArray:
    """Return the variance of the fall from each position to the next; (n,) float64."""
    added = 0.0 if scanned.roughness is of_columns else _ADDED_TO_ROWS
    chance = clumps * (np.maximum(scanned.roughness(drift), _LEAST) + added)
    off = np.maximum(-np.diff(scanned.curve), 0) - drift
    steps = np.where(np.abs(off) > _STEP * np.sqrt(chance), off**2, 0)
    return np.asarray(np.maximum(chance, steps))


def _clues(
    scanned: Scanned, walk: Walk, noise: FloatArray, places: FloatArray, bending: float
) -> list[Clue]:
    """Return what is known of heights and slopes.

    Unknown 2 b is the height where block b begins, 2 b + 1 the logarithm of the slope in it over
    the drift. The slope changes falls to first order; it is solved for again.
    """
    k = len(noise)
    at = tuple(slice(first, 2 * k + first, 2) for first in range(3))
    start, following, drift = walk.weights()
    one = np.ones(k)
    slopes, gaps = np.log(walk.falls / walk.widths), np.diff(places)
    left, right = 1 / gaps[:-1], 1 / gaps[1:]
    three = tuple(slice(first, 2 * (k - 2) + first, 2) for first in (1, 3, 5))
    return [
        Clue(at, (start, drift, following), scanned.counts - drift, noise + walk.bridges),
        Clue(at, (one, -walk.falls, -one), walk.falls, walk.variances),
        Clue(at[1:2], (one,), np.zeros(k), np.full(k, _LOOSE**2)),
        Clue(
            three,
            (left, -left - right, right),
            -np.diff(np.diff(slopes) / gaps),
            bending**2 * (gaps[:-1] + gaps[1:]) / 2,
        ),
    ]
