"""What a release of labels says of single labels, and of sums of them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from dphist.labels.sums import SumAnswers

if TYPE_CHECKING:
    from dphist.labels.mechanism import LabelsMechanism


@dataclass(frozen=True, slots=True)
class NoiseAnswers:
    """How far the noise of a mechanism reaches; see `dphist.release.label_table.LabelAnswers`.

    All is in the unit of the counts: records, or the steps of weights.
    """

    mechanism: "LabelsMechanism"

    @property
    def sum_answers(self) -> Mapping[str, SumAnswers]:
        """What is said of the sums of each column that was summed."""
        return self.mechanism.sum_answers

    @property
    def most_unshown(self) -> float | None:
        """The largest noisy count of a label that is not shown; None if labels are listed."""
        return self._to_steps(self.mechanism.most_unshown)

    def reach(self, level: float) -> int | None:
        """Return how far the noise of a count reaches with this probability; None: no counts."""
        width = self._to_steps(self.mechanism.half_width(level))
        return None if width is None else int(width)

    def reach_of_sum(self, labels: int, level: float) -> float:
        """Return how far the noise of a sum of `labels` fixed counts reaches."""
        each = labels * float(self.reach(1 - (1 - level) / labels) or 0)
        return min(each, self.mechanism.reach_of_sum(labels, level) / float(self._step or 1))

    @property
    def _step(self) -> Fraction | None:
        return self.mechanism.step

    def _to_steps(self, records: float | None) -> float | None:
        """Return a whole number of steps that a mechanism says in records, which may be none."""
        if self._step is None or records is None or math.isinf(records):
            return records
        return round(records / float(self._step))


def gaussian_reach(deviation: float, labels: int, level: float) -> float:
    """Return how far a sum of `labels` Gaussian numbers reaches, each rounded after it is drawn.

    Parameters
    ----------
    deviation : standard deviation of the sum before rounding, in records.
    """
    return float(ndtri((1 + level) / 2)) * deviation + labels / 2


def geometric_reach(scale: Fraction, labels: int, level: float) -> float:
    """Return how far a sum of `labels` two-sided geometric numbers reaches, by Chernoff's bound.

    ``Pr[|S| >= s] <= 2 exp(-t s) M(t)**labels`` for each t below the rate, 1 / `scale`, where M is
    the moment generating function of one number: any t proves a bound, and the best of many is
    taken.

    >>> [round(geometric_reach(Fraction(1), labels, 0.95)) for labels in (1, 100)]
    [6, 37]
    """
    rate = float(1 / scale)
    tilt = rate * np.linspace(0.001, 0.999, 500)
    start = 2 * math.log(-math.expm1(-rate))
    moments = start - np.log(-np.expm1(tilt - rate)) - np.log(-np.expm1(-tilt - rate))
    reach = (labels * moments + math.log(2 / (1 - level))) / tilt
    return float(reach.min())
