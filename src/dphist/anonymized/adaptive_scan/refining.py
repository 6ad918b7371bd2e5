"""A second decoding, for large noise: the heights and slopes that explain all counts best.

The first decoding takes each slope from a few blocks. Here the curve is a random walk (`Walk`),
and the power with which its slope falls changes slowly with the logarithm of the position: a power
law is a straight line on log-log axes. Heights at the ends of blocks and slopes are the most
likely ones, given all counts: a banded linear system, solved again with the slopes found. Pure
functions of noisy numbers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dphist.anonymized.adaptive_scan.trend import Roughness, noise_variance, of_columns
from dphist.arrays import FloatArray, IntArray, NumberArray

# A slope is averaged over positions up to this factor away.
_WINDOW = 2.0
# Falls are averaged with the position to this power as weight: about constant for real data.
_POWER_OF_COLUMNS, _POWER_OF_ROWS = 1.5, 1.0
# Fewer positions than this are not averaged, but are no less than this slope.
_NARROW, _LEAST_NARROW = 3, 0.05
_LEAST_SLOPE = 1e-6
# The power of the slope is averaged over this share of all positions on either side.
_STEADY = 20
# Sums of powers are computed term by term up to this position, and as integrals beyond.
_TERMS = 40


def smooth_drift(falls: FloatArray, roughness: Roughness) -> FloatArray:
    """Return the smoothed fall of a curve from each position to the next.

    Parameters
    ----------
    falls : (n,) float64, non-negative; the curve's own falls.
    roughness : the kind of curve.

    Returns
    -------
    (n,) float64, positive. A power law is unchanged, except at positions 1 and 2.
    """
    n = len(falls)
    x = np.arange(1, n + 1, dtype=np.float64)
    first = np.ceil(x / _WINDOW).astype(np.int64)
    last = np.minimum(n, np.floor(x * _WINDOW)).astype(np.int64)
    narrow = last - first < _NARROW
    weights = x ** (_POWER_OF_COLUMNS if roughness is of_columns else _POWER_OF_ROWS)
    sums = np.append(0.0, np.cumsum(falls * weights))
    means = (sums[last] - sums[first - 1]) / ((last - first + 1) * weights)
    rough = np.where(narrow, np.maximum(falls, _LEAST_NARROW), np.maximum(means, _LEAST_SLOPE))
    if n <= _NARROW:
        return rough
    power = _moving_mean(np.gradient(np.log(rough), np.log(x)), max(1, n // _STEADY))
    # From the end, where curves are low, so that no digits of small falls are lost.
    rest = np.append(np.cumsum(falls[::-1])[::-1], 0.0)
    mean = np.maximum((rest[first - 1] - rest[last]) / _sums_of_powers(power, x, first, last), 0)
    return np.where(narrow, rough, np.maximum(mean, _LEAST_SLOPE))


def _moving_mean(values: FloatArray, reach: int) -> FloatArray:
    """Return the mean of the values up to `reach` away; the ends are repeated."""
    sums = np.append(0.0, np.cumsum(np.pad(values, reach, mode="edge")))
    width = 2 * reach + 1
    return np.asarray((sums[width:] - sums[:-width]) / width)


def _sums_of_powers(
    power: FloatArray, x: FloatArray, first: IntArray, last: IntArray
) -> FloatArray:
    """Return the sum of (i / x)^power over i = first..last, for each x; (n,) float64."""
    start, stop = np.log((first - 0.5) / x), np.log((last + 0.5) / x)
    exponent = power + 1
    flat = np.abs(exponent) < 1e-6
    by = np.where(flat, 1.0, exponent)
    # Where a curve falls off a cliff, the power is so large that a sum may be infinite: then there
    # is no slope.
    with np.errstate(over="ignore"):
        grown = np.exp(by * start) * np.expm1(by * (stop - start)) / by
        sums = np.asarray(x * np.where(flat, stop - start, grown))
        for i in range(min(len(x), _TERMS)):
            terms = np.arange(first[i], last[i] + 1) / x[i]
            sums[i] = (terms ** power[i]).sum()
    return sums


class Clue(NamedTuple):
    """Linear equations with independent normal errors, of the same few unknowns each.

    Attributes
    ----------
    at : slices of k unknowns each, a fixed distance apart, ascending from one to the next.
    by : (k,) float64 each; their coefficients.
    equals, variance : (k,) float64; the right-hand sides, and the variances of their errors.
    """

    at: Sequence[slice]
    by: Sequence[FloatArray]
    equals: FloatArray
    variance: FloatArray

    def off(self, unknowns: FloatArray) -> FloatArray:
        """Return the squared errors over their variances; (k,) float64."""
        found = sum(b * unknowns[a] for a, b in zip(self.at, self.by, strict=True))
        return np.asarray((self.equals - found) ** 2 / self.variance)


class Solved(NamedTuple):
    """The most likely unknowns, the Cholesky factor, and the log-likelihood of the equations."""

    unknowns: FloatArray
    factor: FloatArray
    likelihood: float


def solve_banded(clues: Sequence[Clue], size: int, band: int) -> Solved | None:
    """Return the solution of equations in `size` unknowns at most `band` apart; O(size).

    None if floating point leaves the matrix without a factor.
    """
    from scipy.linalg import cho_solve_banded, cholesky_banded  # slow to import

    matrix, right = np.zeros((band + 1, size)), np.zeros(size)
    for at, by, equals, variance in clues:
        for p, (here, factor) in enumerate(zip(at, by, strict=True)):
            right[here] += factor * equals / variance
            for there, other in zip(at[: p + 1], by[: p + 1], strict=True):
                matrix[here.start - there.start, there] += factor * other / variance
    try:
        factor = cholesky_banded(matrix, lower=True)
        unknowns = cho_solve_banded((factor, True), right)
    except (np.linalg.LinAlgError, ValueError):  # ValueError: not finite
        return None
    off = sum(float(clue.off(unknowns).sum() + np.log(clue.variance).sum()) for clue in clues)
    return Solved(unknowns, factor, -off / 2 - float(np.log(factor[0]).sum()))


# A variance below this is numerically none.
_LEAST_VARIANCE = 1e-12


class Walk(NamedTuple):
    """The blocks of a walk that falls by a drift and by chance.

    Attributes
    ----------
    widths : (k,) float64, positions in each block.
    falls, variances : (k,) float64, mean and variance of the fall from a block's start to the
        next block's.
    lags : (k,) float64, number of cells that the drift takes from a block of level height.
    shares : (k,) float64, cells that the block loses for each unit by which the walk falls
        more than by its drift.
    bridges : (k,) float64, variance of the block's number of cells given its two ends.
    block : (n,) int64, the block of each position.
    fallen : (n,) float64, mean fall since the block's start.
    parts : (n,) float64, variance since the block's start, as a part of that over the block.
    pulls : (n,) float64, covariance of the fall since the block's start and the cells lost,
        given both ends.
    """

    widths: FloatArray
    falls: FloatArray
    variances: FloatArray
    lags: FloatArray
    shares: FloatArray
    bridges: FloatArray
    block: IntArray
    fallen: FloatArray
    parts: FloatArray
    pulls: FloatArray

    def weights(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return how a block's cells depend on its start, the next start, and the drift."""
        return self.widths - self.shares, self.shares, self.shares * self.falls - self.lags

    def inside(self, heights: FloatArray, counts: NumberArray, variances: FloatArray) -> FloatArray:
        """Return the mean of the walk at each position, given heights at ends and noisy counts.

        Parameters
        ----------
        heights : (k + 1,) float64, at the start of each block and after the last.
        counts : (k,) int64, noisy numbers of cells.
        variances : (k,) float64, of their noise.
        """
        start, following, drift = self.weights()
        chance = heights[:-1] - heights[1:] - self.falls
        surplus = start * heights[:-1] + following * heights[1:] + drift - counts
        lost = surplus / (self.bridges + variances)
        return np.asarray(
            heights[:-1][self.block]
            - self.fallen
            - self.parts * chance[self.block]
            - self.pulls * lost[self.block]
        )

    def drifting(self, ends: IntArray, drift: FloatArray) -> "Walk":
        """Return the walk with another drift; (n,) float64."""
        fallen, falls = _since(ends, self.block, drift)
        return self._replace(falls=falls, fallen=fallen, lags=np.add.reduceat(fallen, ends[:-1]))


def _since(ends: IntArray, block: IntArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return sums from the block's start to before each position, (n,), and over each block, (k,).

    Summed from the end, where falls are small, so that none of their digits are lost.
    """
    sums = np.add.reduceat(values, ends[:-1])
    rest = np.append(np.cumsum(values[::-1])[::-1], 0.0)
    return np.clip(rest[ends[:-1]][block] - rest[:-1], 0, sums[block]), sums


def make_walk(ends: IntArray, drift: FloatArray, chance: FloatArray) -> Walk:
    """Return the walk with these falls from each position to the next.

    Parameters
    ----------
    ends : (k + 1,) int64, ascending from 0 to n; where blocks end.
    drift, chance : (n,) float64, positive; mean and variance of each fall.
    """
    starts, widths = ends[:-1], np.diff(ends)
    block = np.repeat(np.arange(len(widths)), widths)
    after = (widths[block] - 1 - (np.arange(len(block)) - starts[block])).astype(np.float64)

    fallen, falls = _since(ends, block, drift)
    spread, variances = _since(ends, block, chance)
    variances = np.maximum(variances, _LEAST_VARIANCE)
    lost = np.add.reduceat(spread, starts)
    shares = lost / variances
    squares = np.add.reduceat(spread * (2 * after + 1), starts)
    before, _ = _since(ends, block, spread)
    return Walk(
        widths=widths.astype(np.float64),
        falls=falls,
        variances=variances,
        lags=np.add.reduceat(fallen, starts),
        shares=shares,
        bridges=np.maximum(squares - lost * shares, 0),
        block=block,
        fallen=fallen,
        parts=spread / variances[block],
        pulls=before + spread * (1 + after) - spread * shares[block],
    )


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
_LEAST_CHANCE, _ADDED_TO_ROWS = 1e-3, 1e-4
# A fall of the first decoding that is off by more standard deviations than this is a step.
_STEP = 4.0
# As in `blocks.py`: noise has heavy tails.
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


def refine_curve(scanned: Scanned) -> Refined | None:
    """Return the most likely curve; None if there are too few blocks, or no digits left."""
    if len(scanned.counts) < fewest_blocks(scanned.epsilon):
        return None
    usual = noise_variance(scanned.epsilon)
    falls = np.maximum(-np.diff(scanned.curve), 0)
    drift, noise = smooth_drift(falls, scanned.roughness), np.full(len(scanned.counts), usual)
    for _ in range(_SOLUTIONS):
        walk = make_walk(scanned.ends, drift, _chance(scanned, drift, 1.0))
        solution = _most_likely(scanned, walk, noise, _BENDINGS[0])
        if solution is None:
            return None
        found = _make_curve(scanned, walk, noise, drift, solution)
        off = scanned.counts - np.add.reduceat(found.values, scanned.ends[:-1])
        drift, noise = found.drift, _USUAL * np.maximum(usual, np.abs(off) * math.sqrt(usual))
    best: tuple[Walk, Solved] | None = None
    for clumps in _CLUMPS:
        walk = make_walk(scanned.ends, drift, _chance(scanned, drift, clumps))
        for bending in _BENDINGS:
            solution = _most_likely(scanned, walk, noise, bending)
            if solution and (best is None or solution.likelihood > best[1].likelihood):
                best = walk, solution
    return None if best is None else _make_curve(scanned, best[0], noise, drift, best[1])


def fewest_blocks(epsilon: float) -> int:
    """Return the number of blocks below which a curve is not decoded again."""
    part = min(max(math.log2(epsilon) + 1, 0.0), 1.0)
    return round(_FEWEST_BLOCKS * math.pow(_FEWEST_AT_ONE / _FEWEST_BLOCKS, part))


def _most_likely(scanned: Scanned, walk: Walk, noise: FloatArray, bending: float) -> Solved | None:
    """Solve for heights and slopes, given how much both vary around the drift."""
    clues = _clues(scanned, walk, noise, _places(scanned.ends), bending)
    return solve_banded(clues, 2 * len(noise) + 1, 4)


def _make_curve(
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
    chance = clumps * (np.maximum(scanned.roughness(drift), _LEAST_CHANCE) + added)
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
