"""Which counts are likely to be released, and how far a released count may be off.

From a mechanism's parameters alone.
"""

import math
from dataclasses import dataclass
from typing import Any

from scipy.special import ndtri

from dphist.labels import ThresholdHistogram, TopLabels, TopThreshold

LEVEL = 0.95
_CHANCES = (0.5, LEVEL)


@dataclass(frozen=True, slots=True)
class Chance:
    """A label with this count, or one so far above the next count, is released like that.

    Attributes
    ----------
    count : records; above the count after the largest ones where the threshold is above that.
    chance : probability of being released.
    """

    count: int
    chance: float


def chances(mechanism: Any) -> list[Chance]:
    """Return the counts with a chance of 50 % and of 95 %; none where all labels are released."""
    threshold = mechanism.threshold
    if threshold is None:
        return []
    if isinstance(mechanism, ThresholdHistogram):
        return [Chance(mechanism.likely_count(chance), chance) for chance in _CHANCES]
    limit, scale = float(threshold), float(mechanism.scale)
    if isinstance(mechanism, TopLabels):  # the difference of two Gumbel variables is logistic
        over = [scale * math.log(chance / (1 - chance)) for chance in _CHANCES]
    else:  # that of two normal ones is normal
        over = [math.sqrt(2) * scale * float(ndtri(chance)) for chance in _CHANCES]
    return [Chance(math.ceil(limit + each), p) for each, p in zip(over, _CHANCES, strict=True)]


def half_width(mechanism: Any) -> int:
    """Return the least q at which the noise of a count, rounded, is within q with 95 %."""
    if isinstance(mechanism, ThresholdHistogram):
        return mechanism.noise_law().half_width(LEVEL)
    spread = mechanism.scale if isinstance(mechanism, TopThreshold) else mechanism.sigma
    return max(math.ceil(float(spread) * float(ndtri((1 + LEVEL) / 2)) - 0.5), 0)
