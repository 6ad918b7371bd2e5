"""A curve as a random walk, seen through blocks of its positions.

Given the heights where a block begins and where the next one does, the positions between are a
Brownian bridge. So the walk needs unknowns at the ends of blocks only, and everything else about
it is a sum over positions.
"""

from typing import NamedTuple

import numpy as np

from dphist.arrays import FloatArray, IntArray, NumberArray

# A variance below this is numerically none.
_LEAST = 1e-12


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


def walk_of(ends: IntArray, drift: FloatArray, chance: FloatArray) -> Walk:
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
    variances = np.maximum(variances, _LEAST)
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
