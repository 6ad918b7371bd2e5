"""From which count a label is likely to appear, and how far a released count may be off.

Both follow from the parameters of a mechanism.
"""

import math
from dataclasses import dataclass
from typing import Any

from scipy.special import ndtri

from dphist.labels import ThresholdHistogram, TopLabels, TopThreshold
from dphist.report.words import LEVEL

_CHANCES = (0.5, LEVEL)


@dataclass(frozen=True, slots=True)
class Appearance:
    """A count, and the chance that a label with that count is released.

    Attributes
    ----------
    count : records; if the threshold is above another count, records above that count.
    chance : probability of being released.
    """

    count: int
    chance: float


def appearances(mechanism: Any) -> list[Appearance]:
    """Return the counts with a chance of 50 % and of 95 %; none if all labels are released."""
    threshold = mechanism.threshold
    if threshold is None:
        return []
    if isinstance(mechanism, ThresholdHistogram):
        return [Appearance(mechanism.likely_count(chance), chance) for chance in _CHANCES]
    limit, scale = float(threshold), float(mechanism.scale)
    if isinstance(mechanism, TopLabels):  # the difference of two Gumbel variables is logistic
        over = [scale * math.log(chance / (1 - chance)) for chance in _CHANCES]
    else:  # that of two normal ones is normal
        over = [math.sqrt(2) * scale * float(ndtri(chance)) for chance in _CHANCES]
    return [Appearance(math.ceil(limit + each), p) for each, p in zip(over, _CHANCES, strict=True)]


def half_width(mechanism: Any) -> int:
    """Return the smallest q such that the rounded noise of a count is within q with 95 %."""
    if isinstance(mechanism, ThresholdHistogram):
        return mechanism.noise_law().half_width(LEVEL)
    spread = mechanism.scale if isinstance(mechanism, TopThreshold) else mechanism.sigma
    return max(math.ceil(float(spread) * float(ndtri((1 + LEVEL) / 2)) - 0.5), 0)
