"""Heights of a curve at the edges between blocks, from the blocks' mean heights."""

import numpy as np

from dphist.arrays import FloatArray, IntArray


def edge_heights(ends: IntArray, heights: FloatArray) -> FloatArray:
    """Return the heights at the k + 1 ends of k blocks, non-increasing; the last is 0.

    Curves of counts are close to power laws, so heights are interpolated between block centers on
    log-log axes, or on linear axes if the lower block is nearly empty.
    """
    edges = np.zeros(len(heights) + 1)
    edges[0] = heights[0]
    centers = (np.log(ends[:-1] + 0.5) + np.log(ends[1:] + 0.5)) / 2
    part = (np.log(ends[1:-1] + 0.5) - centers[:-1]) / np.diff(centers)
    widths, logs = np.diff(ends), np.log(np.maximum(heights, 1e-9))
    power = np.exp(logs[:-1] * (1 - part) + logs[1:] * part)
    straight = (heights[:-1] * widths[1:] + heights[1:] * widths[:-1]) / (widths[1:] + widths[:-1])
    between = np.where(heights[1:] > 0.5, power, straight)
    edges[1:-1] = np.clip(between, heights[1:], heights[:-1])
    return edges
