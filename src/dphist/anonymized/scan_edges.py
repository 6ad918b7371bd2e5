"""Heights of a curve between two blocks of a scan, from the blocks' mean heights."""

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

# The curve turns at a boundary if it falls so many times as fast on one side as on the other.
_TURN = 3.0


def edge_heights(ends: IntArray, heights: FloatArray, noise: float) -> FloatArray:
    """Heights at the k + 1 ends of k blocks, not increasing but for the last, which is 0.

    Parameters
    ----------
    noise : standard deviation of a block's count, about.
    """
    edges = np.zeros(len(heights) + 1)
    edges[0] = heights[0]
    if len(heights) > 1:
        falls = heights[:-1] - heights[1:]
        share = _smooth_shares(ends, heights, falls)
        if len(heights) > 2:
            share = _leaning(share, ends, falls, noise)
        edges[1:-1] = heights[1:] + share * falls
    return edges


def _smooth_shares(ends: IntArray, heights: FloatArray, falls: FloatArray) -> FloatArray:
    """What part of the fall from block to block is still to come at the boundary.

    Curves of counts are near power laws, so the height is interpolated on log-log axes between
    the blocks' centres; where the lower block is empty, or nearly, on plain ones.
    """
    centres = (np.log(ends[:-1] + 0.5) + np.log(ends[1:] + 0.5)) / 2
    part = (np.log(ends[1:-1] + 0.5) - centres[:-1]) / np.diff(centres)
    widths, logs = np.diff(ends), np.log(np.maximum(heights, 1e-9))
    power = np.exp(logs[:-1] * (1 - part) + logs[1:] * part)
    straight = (heights[:-1] * widths[1:] + heights[1:] * widths[:-1]) / (widths[1:] + widths[:-1])
    between = np.where(heights[1:] > 0.5, power, straight)
    return np.asarray(np.clip((between - heights[1:]) / np.maximum(falls, 1e-12), 0, 1))


def _leaning(share: FloatArray, ends: IntArray, falls: FloatArray, noise: float) -> FloatArray:
    """Move the boundary's height towards the side on which the curve is flat.

    If the curve is flat before a block and falls after it, the fall within the block is at its
    end; and the other way round. So with a bend, or a step, in a block, its far boundary is
    known from the other side of it. Slopes that noise may have made count as flat.
    """
    widths = np.diff(ends)
    gaps = (widths[:-1] + widths[1:]) / 2
    slopes = falls / gaps
    doubt = noise * np.hypot(1 / widths[:-1], 1 / widths[1:]) / gaps
    before, after = np.append(slopes[0], slopes[:-1]), np.append(slopes[1:], slopes[-1])
    doubt_before, doubt_after = np.append(doubt[0], doubt[:-1]), np.append(doubt[1:], doubt[-1])
    # 1 where neither is much steeper.
    later = np.clip(after / (_TURN * (before + doubt_before)), 1, 1e9)
    sooner = np.clip(before / (_TURN * (after + doubt_after)), 1, 1e9)
    to_come, gone = share * later, (1 - share) * sooner
    return np.asarray(to_come / (to_come + gone))
