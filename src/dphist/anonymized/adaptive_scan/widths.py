"""The width of the next block of a scan."""

import math

import numpy as np

from dphist.anonymized.adaptive_scan.trend import Trend

# Mean of |Brownian bridge| over its length, in units of the standard deviation of a free end: the
# mean distance of a curve from the line between a block's ends.
_BRIDGE = math.sqrt(math.pi / 32)
# A curve c / x is not linear: a block of width t at x has an error of about 0.1 slope t^2 / x.
_BEND = 0.1
# Maximum width as a share of the position, for each halving of epsilon below 2, because the curve
# ahead may change. From epsilon 2 on, blocks have width 1.
_AHEAD = 0.04
# The curve is flat if it would fall by less than the share _FLAT up to twice the position. Then
# wide blocks are less useful: their noise averages out, and the plateau may end at any point.
_FLAT, _AHEAD_IF_FLAT = 0.3, 0.1
# Maximum width as a multiple of the last one: a flat stretch may be the tread of a stair.
_GROWTH = 1.5

# All small widths, then widths in ratios of 1 + 1/64.
_WIDTHS = np.unique(np.floor((1 + 1 / 64) ** np.arange(2770))).astype(np.int64)


def best_width(epsilon: float, position: int, last: int, here: Trend, roughness: float) -> int:
    """Return the width with the minimum expected error per position.

    The error is the mean magnitude of a block's noise, divided by its positions, plus the
    deviation of the curve from its interpolation within the block.

    Parameters
    ----------
    last : width of the last block.
    here : the curve at `position`.
    roughness : variance of its fall over one position.
    """
    ahead = max(0.0, _AHEAD * math.log2(2 / epsilon))
    if (here.slope + 2 * here.doubt) * position < _FLAT * here.height:
        ahead = min(ahead, _AHEAD_IF_FLAT)
    widest = min(1 + int(ahead * position), max(last + 1, int(_GROWTH * last)))
    widths = _WIDTHS[: np.searchsorted(_WIDTHS, widest, side="right")]
    noise = 1 / math.sinh(min(epsilon, 700.0))
    bend = _BEND * here.slope * (widths / position) * widths
    cost = noise / widths + (1 - 1 / widths) * (_BRIDGE * np.sqrt(roughness * widths) + bend)
    return int(widths[np.argmin(cost)])
