"""What a release says of sums and means: estimates, and intervals that hold for a ratio.

All of this is computed from released numbers and public laws (`docs/understand/proofs/sums.md`).
"""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from dphist.arrays import FloatArray, IntArray
from dphist.data.clamp import Clamp
from dphist.data.weight import to_unit
from dphist.labels.threshold.sums import SumNoise
from dphist.noise.search import first_true

_SLOPES = 33
_BLOCKS = 2000
_BISECTIONS = 60
_NEGLECTED = 1e-9


@dataclass(frozen=True, slots=True)
class SumAnswers:
    """The sums of one column: see `dphist.release.label_sums.SumAnswers`.

    Attributes
    ----------
    noise : of the sums.
    counts : law of the noise of a count, which has `half_width` and `chance_above`.
    rounded : whether that noise is real, and rounded with the count.
    """

    noise: SumNoise
    counts: Any
    rounded: bool

    @property
    def clamp(self) -> Clamp:
        """Of each user's total of a label."""
        return self.noise.clamp

    @property
    def has_means(self) -> bool:
        """Whether the count of a label is its number of users, so that it divides a sum."""
        return self.noise.counts_users

    def sums(self, totals: IntArray, counts: IntArray, level: float) -> FloatArray:
        """Return sums with both ends of their intervals, (k, 3), in the unit of the values."""
        center = self.noise.center
        found = totals.astype(np.float64) + center * counts.astype(np.float64)
        reach = self._reaches(level, abs(center))
        ends = np.stack([found, found - reach, found + reach], axis=1)
        return to_unit(ends, self.clamp.step)

    def sum_reach(self, level: float) -> float:
        """Return how far the noise of a sum reaches, in the unit of the values."""
        return self._reaches(level, abs(self.noise.center)) * self._step

    def means(self, totals: IntArray, counts: IntArray, level: float) -> FloatArray:
        """Return means with both ends of their intervals, (k, 3); NaN where nothing is known.

        An interval has the means m, about the center, at which the noise of total - m count may be
        what is seen (Fieller 1954), within the clamp. Where that is all of it, or a noisy count is
        no number of users, the interval is all of it and there is no mean.
        """
        low, high = (float(end - self.noise.center) for end in (self.clamp.least, self.clamp.most))
        total, count = totals.astype(np.float64), counts.astype(np.float64)
        positive = count > 0
        ratio = np.divide(total, count, out=np.zeros_like(total), where=positive)
        mean = np.clip(ratio, low, high)
        ends = [
            np.where(positive, self._end(total, count, mean, end, level), end)
            for end in (low, high)
        ]
        unknown = ~positive | ((ends[0] <= low) & (ends[1] >= high))
        mean = np.where(unknown, np.nan, mean)
        return (np.stack([mean, *ends], axis=1) + self.noise.center) * self._step

    def mean_reach(self, users: int, level: float) -> float:
        """Return about half of the interval of a mean of that many users, at a bound; public."""
        end = max(abs(end - self.noise.center) for end in (self.clamp.least, self.clamp.most))
        whole = float(self.clamp.most - self.clamp.least)
        return min(self._reaches(level, end) / users, whole) * self._step

    @property
    def _step(self) -> float:
        return float(self.clamp.step)

    def _end(
        self, total: FloatArray, count: FloatArray, mean: FloatArray, end: float, level: float
    ) -> FloatArray:
        """Return the means furthest towards `end` that are in the intervals.

        How far noise may reach is convex in m, so between the mean and the end at most one crossing
        has an accepted mean before it and none behind.
        """

        def is_accepted(at: FloatArray) -> Any:
            return np.abs(total - at * count) <= self._reach_at(level, np.abs(at))

        inside, outside = mean.copy(), np.full_like(mean, end)
        whole = is_accepted(outside)
        for _ in range(_BISECTIONS):
            middle = (inside + outside) / 2
            accepted = is_accepted(middle)
            inside, outside = (
                np.where(accepted, middle, inside),
                np.where(accepted, outside, middle),
            )
        return np.where(whole, end, outside)

    def _reaches(self, level: float, slope: float) -> float:
        return float(self._reach_at(level, np.array([slope]))[0])

    def _reach_at(self, level: float, slopes: FloatArray) -> FloatArray:
        """Return how far |noise of a total - slope * noise of its count| reaches, in steps.

        Linear between slopes at which it is computed: of a convex function, never too little.
        """
        found: FloatArray = np.interp(slopes, *_compute_reaches(self, level))
        return found


@functools.lru_cache(maxsize=64)
def _compute_reaches(answers: SumAnswers, level: float) -> tuple[FloatArray, FloatArray]:
    """Return slopes from 0 on, and how far noise reaches at each with this probability."""
    noise = answers.noise
    furthest = max(noise.clamp.reach(counts_users=noise.counts_users), abs(noise.center))
    slopes = np.linspace(0, furthest, _SLOPES)
    values, chances = _law_of_counts(answers)
    return slopes, np.array([_reach(noise, values * slope, chances, level) for slope in slopes])


def _law_of_counts(answers: SumAnswers) -> tuple[FloatArray, FloatArray]:
    """Return values of the noise of a count, or middles of blocks of them, and their chances."""
    most = answers.counts.half_width(1 - _NEGLECTED) + 1
    ends = np.unique(np.linspace(-most - 1, most, min(_BLOCKS, 2 * most + 2)).astype(np.int64))
    half = 0.5 if answers.rounded else 0
    above = np.array([answers.counts.chance_above(int(end) + half) for end in ends])
    return (ends[:-1] + 1 + ends[1:]) / 2, above[:-1] - above[1:]


def _reach(noise: SumNoise, shifts: FloatArray, chances: FloatArray, level: float) -> float:
    """Return the smallest whole q with |noise + shift| <= q at this probability."""

    def is_within(reach: float) -> bool:
        # Shifts need not be whole: what lies below an end is below the next whole number from it.
        under = _chance_below(noise, np.ceil(shifts - reach) - 1)
        held = _chance_below(noise, reach + shifts) - under
        return float(held @ chances) >= level * float(chances.sum())

    return float(first_true(lambda steps: is_within(float(steps)), float(noise.scale)))


def _chance_below(noise: SumNoise, steps: FloatArray) -> FloatArray:
    """Return Pr[noise <= steps] of the noise of a sum."""
    whole, scale = np.floor(steps), float(noise.scale)
    if noise.gaussian:
        found: FloatArray = ndtr((whole + 0.5) / scale)
        return found
    rate = min(1 / scale, 700.0)
    tail = np.exp(-rate * np.abs(np.where(whole >= 0, whole + 1, -whole))) / (1 + np.exp(-rate))
    below: FloatArray = np.where(whole >= 0, 1 - tail, tail)
    return below
