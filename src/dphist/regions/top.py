"""Leaves moved towards what was measured of all regions together; post-processing.

Where leaves are small, errors of their decoding add up over many leaves, all in the same direction.
A noisy histogram of all regions says how far the sum of leaves is off at each count. Each leaf
takes its share of most of that gap, in proportion to its height, and is rounded to whole numbers.
Pure functions of noisy numbers.
"""

from collections.abc import Sequence

import numpy as np

from dphist.anonymized.band import from_heights
from dphist.arrays import FloatArray, IntArray
from dphist.regions.histograms import unite
from dphist.release.anonymized_histogram import AnonymizedHistogram

WEIGHT = 0.9
"""The part of the gap that leaves move by: see `docs/understand/benchmarks.md`."""
_LEAST = 0.02  # added to heights, so that a gap is shared where no leaf has any label
_GOLDEN = 0.6180339887498949


def move_leaves(
    leaves: Sequence[AnonymizedHistogram], top: AnonymizedHistogram, weight: float = WEIGHT
) -> list[AnonymizedHistogram]:
    """Return leaves whose heights together are nearer to those of `top`.

    Heights are numbers of labels with a count or more. They stay falling: they are sorted where the
    moves are not, and all columns of a leaf are rounded by the same offset. Offsets are spread over
    leaves, so that rounding hardly changes sums.
    """
    heights = top.cumulative_prevalences(top.counts).astype(np.float64)
    return move_towards(leaves, top.counts, heights, weight)


def move_towards(
    leaves: Sequence[AnonymizedHistogram], blocks: IntArray, target: FloatArray, weight: float
) -> list[AnonymizedHistogram]:
    """Return leaves whose heights together are nearer to `target` by a part of the gap.

    Parameters
    ----------
    blocks : (k,) int64, ascending; the last count of each block of equal heights.
    target : (k,) float64, heights of all leaves together; 0 beyond the last block.
    """
    ends = np.unique(np.concatenate([blocks, *(leaf.counts for leaf in leaves)]))
    if not len(ends):
        return list(leaves)
    widths = np.diff(ends, prepend=0)
    sums = unite(leaves).cumulative_prevalences(ends).astype(np.float64)
    gap = weight * (np.append(target, 0.0)[np.searchsorted(blocks, ends)] - sums)
    shares = gap / (sums + _LEAST * len(leaves))
    moved = []
    for leaf, offset in zip(leaves, _spread_offsets(len(leaves)), strict=True):
        heights = leaf.cumulative_prevalences(ends).astype(np.float64)
        moved.append(_round(heights + shares * (heights + _LEAST), widths, offset))
    return moved


def _spread_offsets(many: int) -> list[float]:
    """Return (1/2, 3/2, ...) / many in an order in which neighbors are far apart."""
    order = np.argsort((np.arange(many) * _GOLDEN) % 1)
    offsets = np.empty(many)
    offsets[order] = (np.arange(many) + 0.5) / many
    return offsets.tolist()


def _round(heights: FloatArray, widths: IntArray, offset: float) -> AnonymizedHistogram:
    """Return the histogram with these heights, sorted, each over its width in counts."""
    order = np.argsort(-heights, kind="stable")
    whole = np.floor(np.maximum(heights[order], 0) + offset).astype(np.int64)
    return from_heights(np.cumsum(widths[order]), whole)
