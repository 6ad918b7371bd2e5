"""How two releases of counts by label, such as of labels and streams, are compared row by row."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dphist.arrays import FloatArray
from dphist.document.differing import INTERVALS, INTERVALS_BEFORE_BOUNDING, Bounds, Differing
from dphist.sentence import Sentence

UNSHOWN = Sentence(
    "A {label} that one release does not show has a count of at most its threshold there, and as "
    "much more as noise may hide: the change has an interval, and no estimate. A {label} that "
    "neither shows is left out. A shown count near the threshold is too large on average."
)


@dataclass(frozen=True, slots=True)
class Reading:
    """Released counts by label.

    Attributes
    ----------
    counts : by the text of the label, in the order released.
    half_width : returns how far noise reaches with a probability, in records.
    threshold : true counts that are not shown are at most this, beside noise; None if all labels
        of the release are listed.
    above : returns how much larger than the bounded count any count before bounding is at most,
        with a probability; None if the bounded counts are compared.
    """

    counts: dict[str, float]
    half_width: Callable[[float], float | None]
    threshold: float | None
    above: Callable[[float], int] | None = None

    def numbers(self, labels: list[str]) -> FloatArray:
        """Return the released counts of labels; NaN where there is none."""
        return np.array([self.counts.get(label, np.nan) for label in labels], np.float64)

    def bounds(self, labels: list[str], level: float) -> Bounds:
        """Return intervals for the true counts of labels, each with this probability."""
        more = 0
        if self.above is not None:
            level = (1 + level) / 2  # of two bounds, each has half of the error
            more = self.above(level)
        counts, width = self.numbers(labels), float(self.half_width(level) or 0)
        unshown = np.isnan(counts)
        low = np.where(unshown, 0, np.maximum(counts - width, 0))
        high = np.where(unshown, (self.threshold or 0) + width, np.maximum(counts + width, 0))
        return low, high + more


def list_comparable(before: Reading, after: Reading) -> list[str]:
    """Return the labels of which both releases say something, in the order of the releases."""
    named = dict.fromkeys([*before.counts, *after.counts])
    return [
        label
        for label in named
        if all(label in each.counts or each.threshold is not None for each in (before, after))
    ]


def compare_readings(readings: Sequence[Reading], labels: list[str], **more: Any) -> Differing:
    """Return what two readings say of labels; `more` are fields of `Differing`."""
    before, after = readings
    thresholds = [each.threshold for each in readings if each.threshold is not None]
    alike = all(each.above is None for each in readings)
    holds: list[str] = [INTERVALS if alike else INTERVALS_BEFORE_BOUNDING]
    holds += [UNSHOWN] if thresholds else []
    return Differing(
        places={"label": labels},
        before=before.numbers(labels),
        after=after.numbers(labels),
        bounds=lambda level: (before.bounds(labels, level), after.bounds(labels, level)),
        margin=max(thresholds) - min(thresholds) if thresholds else 0,
        holds=holds,
        noun=Sentence("{label}"),
        ordered=False,
        alike=alike,
        **more,
    )
