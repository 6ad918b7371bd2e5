"""From which count a label is likely to appear, and how far a released count may be off.

Both follow from the parameters of a mechanism.
"""

from dataclasses import dataclass

from dphist.errors import UnsupportedError
from dphist.labels.mechanism import LEVEL, LabelsMechanism

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


def appearances(mechanism: LabelsMechanism) -> list[Appearance]:
    """Return the counts with a chance of 50 % and of 95 %; none if all labels are released."""
    if mechanism.threshold is None:
        return []
    return [Appearance(mechanism.likely_count(chance), chance) for chance in _CHANCES]


def half_width(mechanism: LabelsMechanism) -> int:
    """Return the smallest q such that the rounded noise of a count is within q with 95 %."""
    width = mechanism.half_width(LEVEL)
    if width is None:
        raise UnsupportedError("a release without counts has no intervals")
    return width
