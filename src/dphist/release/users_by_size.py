"""Users by their size, with noise, and how much bounding dropped by these numbers.

The size of a user is how many labels, or how many records, the user has; a bound keeps some of
them. So the numbers of users say which share of all labels of users, or of all records, was
dropped: by so much counts are too low, on average. They say nothing of a single count. All of it is
post-processing.

A user in a cell may have any size of the cell, and an interval of a share holds for the worst one.
Without noise, the share s is the root of a sum over the cells: how much was dropped, minus s times
how much there was.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dphist.arrays import FloatArray
from dphist.noise.law import NoiseLaw
from dphist.noise.sums import width_of_sum
from dphist.parameters import whole_number
from dphist.release.fitted_users import Share, estimate_share_cut, fit_users, spread_users
from dphist.release.interval_estimate import IntervalEstimate

SIDE = 0.975
"""Probability of each end of an interval, so that both hold with 95 %."""
WIDEST = 0.5
"""Share between the ends of an interval, beyond which there is hardly one likely number."""
_FEWEST = 4  # standard deviations of their noise, below which users are too few to fit laws to
_STEPS = 200  # ends of intervals are stated in steps of half a percent


@dataclass(frozen=True, slots=True)
class UsersBySize:
    """Noisy numbers of users by their size, before anything of theirs was dropped.

    Attributes
    ----------
    cells : where each cell of sizes starts; the last has all larger sizes.
    noisy : the number of users in each cell, with noise; some may be negative.
    law : of the noise of each number: two-sided geometric or Gaussian.
    bound : of the release, on the size of a user.
    """

    cells: tuple[int, ...]
    noisy: tuple[int, ...]
    law: NoiseLaw
    bound: int

    @property
    def total(self) -> int:
        """The number of users, with the noise of all cells; at least 0."""
        return max(sum(self.noisy), 0)

    @property
    def may_be_noise(self) -> bool:
        """Whether noise alone may have made these numbers, so that laws fitted to them are void."""
        deviation = self.law.standard_deviation * math.sqrt(len(self.cells))
        return sum(self.noisy) < _FEWEST * deviation

    def users_above(self, level: float = SIDE) -> tuple[int, int]:
        """Return how many users had more than the bound: the number, and its upper bound.

        The upper bound holds with probability `level`.
        """
        above = np.array(self.cells) > self.bound
        width = float(width_of_sum(self.law, above.astype(np.float64), level))
        found = int(np.array(self.noisy)[above].sum())
        return max(found, 0), max(found + math.floor(width), 0)

    def share_of_users(self) -> Share:
        """Return the share of users who had more than the bound."""
        more: FloatArray = np.where(np.array(self.cells) > self.bound, 1.0, 0.0)
        return self._share([(more, np.ones_like(more))])

    def total_kept(self) -> IntervalEstimate:
        """Return how much the bound keeps of all users together: the sum of their bounded sizes.

        Of labels, these are the pairs of a user and a label that count, whether or not a label is
        shown: the total of all counts where a user adds 1 to each.

        Notes
        -----
        Each end of the interval holds with 97.5 %, over the noise and for any sizes of the users in
        each cell (docs/understand/proofs/threshold.md, Lemma 10).
        """
        first, last = (np.minimum(each, self.bound) for each in self._ends)
        likely = np.minimum(self._middle, self.bound)
        noisy = np.array(self.noisy, np.float64)
        low = math.ceil(float(first @ noisy - self._compute_width(first)))
        high = math.floor(float(last @ noisy + self._compute_width(last)))
        low, high = sorted((max(low, 0), max(high, 0)))
        value = min(max(round(float(likely @ noisy)), low), high)
        return IntervalEstimate(value, low, high)

    def share_cut(self, bound: int | None = None) -> Share:
        """Return the share of all that users have which a bound drops.

        By that share counts are too low on average, over what is counted. Of a user in the last
        cell as much is looked at as it starts with, so the share of all is this one or larger.

        Parameters
        ----------
        bound : on the size of a user, below the start of the last cell (default: the bound of the
            release).

        Notes
        -----
        Noise on the few users with very large sizes can hide all else. Of less of each user a
        smaller share is dropped: so the lower end is that of the sizes that prove the largest
        share, and the upper end is that of all. The likely value is that of the same sizes; if the
        interval is wide, it is that of laws which are fitted to the noisy numbers.
        """
        end = self.cells[-1]
        most = self.bound if bound is None else whole_number(bound, "bound", 1, end - 1)
        starts = [start for start in self.cells if start > most]
        full = self._share_up_to(end, most)
        best = max((self._share_up_to(start, most, len(starts)) for start in starts), key=_low)
        low, high = min(best.low, full.high), full.high
        value = best.value if best.low > 0 else full.value
        if high - low > WIDEST:
            value = self._likely_cut(most)
        return Share(min(max(value, low), high), low, high)

    def shares_cut(self, bounds: Iterable[int]) -> dict[int, Share]:
        """Return the share that each of several bounds drops, in ascending order.

        A larger bound drops no more: likely values are made to say so, beginning at the bound of
        the release, whose value is that of `share_cut`.
        """
        found = {bound: self.share_cut(bound) for bound in sorted({*bounds, self.bound})}
        value = found[self.bound].value
        for bound in [bound for bound in reversed(found) if bound < self.bound]:
            value = max(value, found[bound].value)
            found[bound] = replace(found[bound], value=min(value, found[bound].high))
        value = found[self.bound].value
        for bound in [bound for bound in found if bound > self.bound]:
            value = min(value, found[bound].value)
            found[bound] = replace(found[bound], value=max(value, found[bound].low))
        return found

    def _likely_cut(self, most: int) -> float:
        """Return the share that a bound `most` drops by fitted laws."""
        starts = (*self.cells, self.cells[-1] + 1)
        fitted = fit_users(starts, np.array(self.noisy, np.float64), self.law.standard_deviation)
        spread = np.stack([spread_users(starts, users) for users in fitted.laws])
        return estimate_share_cut(starts, fitted, spread, most).value

    def _share_up_to(self, end: int, most: int, tried: int = 1) -> Share:
        """Return the share that a bound `most` drops, of up to `end` of each user."""
        first, last = (np.minimum(each, end) for each in self._ends)
        # The worst number of a cell is one of its ends, or the bound where it lies between them.
        numbers = [first, last, np.clip(most, first, last), np.minimum(self._middle, end)]
        return self._share([(np.maximum(each - most, 0), each) for each in numbers], tried)

    @property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        """The first and the last number of each cell; of the last cell the first one twice."""
        first = np.array(self.cells, np.float64)
        return first, np.append(first[1:] - 1, first[-1])

    @property
    def _middle(self) -> FloatArray:
        """The likely size of a user in each cell."""
        return np.array([_harmonic_mean(*ends) for ends in zip(*self._ends, strict=True)])

    def _share(self, parts: list[tuple[FloatArray, FloatArray]], tried: int = 1) -> Share:
        """Return the share of (part, whole) of each user of a cell.

        Parameters
        ----------
        parts : several choices of both, each (cells,); the last is the likely one.
        tried : of how many such shares this one was chosen by the noisy numbers.
        """
        return bound_share(self.noisy, self.law, parts, tried)

    def _compute_width(self, weights: FloatArray, tried: int = 1) -> Any:
        """Return what the noise of a weighted sum is below, with 97.5 % for all that were tried."""
        return _compute_width(self.law, weights, tried)


def bound_share(
    users: Sequence[int],
    law: NoiseLaw,
    parts: Sequence[tuple[FloatArray, FloatArray]],
    tried: int = 1,
) -> Share:
    """Return the share of (part, whole) of each user of a cell, with its interval.

    Parameters
    ----------
    users : the noisy number of users in each cell.
    law : of the noise of each.
    parts : several choices of both, each (cells,); the last is the likely one.
    tried : of how many such shares this one was chosen by the noisy numbers.
    """
    noisy, shares = np.array(users, np.float64), np.arange(_STEPS + 1)[:, None] / _STEPS
    left = np.array([part - shares * whole for part, whole in parts])  # (choice, share, cell)
    least, most = left.min(axis=0), left.max(axis=0)
    above = np.flatnonzero(least @ noisy <= _compute_width(law, least, tried))
    below = np.flatnonzero(most @ noisy >= -_compute_width(law, most, tried))
    low = max(int(above[0]) - 1, 0) if len(above) else _STEPS
    high = min(int(below[-1]) + 1, _STEPS) if len(below) else 0
    low, high = min(low, high), max(low, high)
    part, whole = (float(each @ noisy) for each in parts[-1])
    value = part / whole if whole > 0 else low / _STEPS
    return Share(min(max(value, low / _STEPS), high / _STEPS), low / _STEPS, high / _STEPS)


def _compute_width(law: NoiseLaw, weights: FloatArray, tried: int) -> Any:
    """Return what the noise of a weighted sum is below, with 97.5 % for all that were tried."""
    return width_of_sum(law, weights, 1 - (1 - SIDE) / tried)


def _low(share: Share) -> float:
    return share.low


def _harmonic_mean(first: float, last: float) -> float:
    """Return the mean of whole numbers that are the rarer the larger they are, as 1/k."""
    numbers = np.arange(first, min(last, first + 2**20) + 1)
    return float(len(numbers) / np.sum(1 / numbers))
