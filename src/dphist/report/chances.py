"""Which counts are likely to be released, and how far a released count may be off.

From a mechanism's parameters alone.
"""

from dataclasses import dataclass

from dphist.errors import ParameterError
from dphist.labels.mechanism import LEVEL, LabelsMechanism

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


def chances(mechanism: LabelsMechanism) -> list[Chance]:
    """Return the counts with a chance of 50 % and of 95 %; none where all labels are released."""
    if mechanism.threshold is None:
        return []
    return [Chance(mechanism.likely_count(chance), chance) for chance in _CHANCES]


def half_width(mechanism: LabelsMechanism) -> int:
    """Return the least q at which the noise of a count, rounded, is within q with 95 %."""
    width = mechanism.half_width(LEVEL)
    if width is None:
        raise ParameterError("a release without counts has no intervals")
    return width
