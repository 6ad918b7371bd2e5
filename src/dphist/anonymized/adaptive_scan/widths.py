"""How wide the next block of a scan should be."""

import math

import numpy as np

from dphist.anonymized.adaptive_scan.trend import Trend

# The mean of |Brownian bridge| along its way, in units of the standard deviation of a free end:
# how far a curve strays, on average, from the line between a block's ends.
_BRIDGE = math.sqrt(math.pi / 32)
# A curve c / x bends: a block of width t at x errs by about a tenth of slope t^2 / x.
_BEND = 0.1
# A block is at most this part of its position long for each halving of epsilon below 2: the curve
# ahead is not known to go on as it did. From epsilon 2 on blocks are single.
_AHEAD = 0.04
# Where it is seen to be flat, so that it would fall by less than this part of itself up to twice
# the position, there is the less need for wide blocks: their noise averages out, and the end of
# the plateau comes unannounced.
_FLAT, _AHEAD_IF_FLAT = 0.3, 0.1
# And so many times as long as the last one: a flat stretch may be the tread of a stair.
_GROWTH = 1.5

# Widths one by one, and then in steps of a 64th.
_WIDTHS = np.unique(np.floor((1 + 1 / 64) ** np.arange(2770))).astype(np.int64)


def best_width(epsilon: float, position: int, last: int, here: Trend, roughness: float) -> int:
    """Return the width with the least expected error per position.

    A block costs the mean size of its noise, shared by its positions; and within it the curve
    is only known to fall from one end to the other.

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
