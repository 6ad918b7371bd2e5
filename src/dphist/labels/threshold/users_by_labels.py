"""Users by how many labels they have, with noise, and what these numbers say bounding took.

Each user has a number of labels, and a bound keeps some of them. So the numbers of users say which
share of all pairs of a user and a label was dropped: by so much counts are too low, on average over
these pairs. They say nothing of a single label. All of it is post-processing.

A user in a cell may have any number of labels of the cell. An interval of a share holds for the
number in it that is worst, and for the noise: the share s is that for which a sum over the cells,
of how much was dropped less s times how much there was, is 0 without noise.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dphist.arrays import FloatArray, IntArray
from dphist.data.cells import make_cells
from dphist.errors import ParameterError
from dphist.labels.threshold.measuring import NAME
from dphist.labels.threshold.noise import GaussianNoise, GeometricNoise
from dphist.parameters import whole_number

_SIDE = 0.975  # of each end of an interval, so that both hold with 95 %
_STEPS = 200  # ends of intervals are stated in steps of half a percent


@dataclass(frozen=True, slots=True)
class Share:
    """A share between 0 and 1, with both ends of its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class UsersByLabels:
    """Noisy numbers of users by how many labels they have, before any was dropped.

    Attributes
    ----------
    cells : where each cell of numbers of labels starts; the last has all larger numbers.
    noisy : the number of users in each cell, with noise; some may be negative.
    noise : the law of the noise of each number.
    max_labels : the bound of the release on labels of a user.
    """

    cells: tuple[int, ...]
    noisy: tuple[int, ...]
    noise: GeometricNoise | GaussianNoise
    max_labels: int

    @property
    def total(self) -> int:
        """The number of users, with the noise of all cells; at least 0."""
        return max(sum(self.noisy), 0)

    def users_above(self) -> tuple[int, int]:
        """Return how many users had more than the bound: the number, and its upper bound.

        The bound holds with 97.5 %.
        """
        above = np.array(self.cells) > self.max_labels
        width = self._width_of(np.where(above, 1.0, 0.0).astype(np.float64))
        found = int(np.array(self.noisy)[above].sum())
        return max(found, 0), max(found + math.floor(width), 0)

    def share_of_users(self) -> Share:
        """Return the share of users who had more than the bound."""
        more: FloatArray = np.where(np.array(self.cells) > self.max_labels, 1.0, 0.0)
        return self._share([(more, np.ones_like(more))])

    def share_cut(self, bound: int | None = None) -> Share:
        """Return the share of pairs of a user and a label that a bound drops.

        By that share counts are too low on average, over pairs. Of a user in the last cell as many
        labels are looked at as it starts with, so the share of all pairs is this one or larger.

        Parameters
        ----------
        bound : labels of a user, below the start of the last cell (default: the bound of the
            release).

        Notes
        -----
        Noise on the few users with very many labels can hide all else. Of fewer labels of each
        user a smaller share is dropped: so the lower end, and the likely value, are those of as
        many labels as prove the largest share, and the upper end is that of all.
        """
        end = self.cells[-1]
        most = self.max_labels if bound is None else whole_number(bound, "bound", 1, end - 1)
        starts = [start for start in self.cells if start > most]
        full = self._share_up_to(end, most)
        best = max((self._share_up_to(start, most, len(starts)) for start in starts), key=_low)
        value = best.value if best.low > 0 else full.value
        return Share(min(max(value, best.low), full.high), min(best.low, full.high), full.high)

    def _share_up_to(self, end: int, most: int, tried: int = 1) -> Share:
        """Return the share that a bound `most` drops, of up to `end` labels of each user."""
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
        """The likely number of labels of a user in each cell."""
        return np.array([_harmonic_mean(*ends) for ends in zip(*self._ends, strict=True)])

    def _share(self, parts: list[tuple[FloatArray, FloatArray]], tried: int = 1) -> Share:
        """Return the share of (part, whole) of each user of a cell.

        Parameters
        ----------
        parts : several choices of both, each (cells,); the last is the likely one.
        tried : of how many such shares this one was chosen by the noisy numbers.
        """
        noisy, shares = np.array(self.noisy, np.float64), np.arange(_STEPS + 1)[:, None] / _STEPS
        left = np.array([part - shares * whole for part, whole in parts])  # (choice, share, cell)
        least, most = left.min(axis=0), left.max(axis=0)
        above = np.flatnonzero(least @ noisy <= self._width_of(least, tried))
        below = np.flatnonzero(most @ noisy >= -self._width_of(most, tried))
        low = max(int(above[0]) - 1, 0) if len(above) else _STEPS
        high = min(int(below[-1]) + 1, _STEPS) if len(below) else 0
        low, high = min(low, high), max(low, high)
        part, whole = (float(each @ noisy) for each in parts[-1])
        value = part / whole if whole > 0 else low / _STEPS
        return Share(min(max(value, low / _STEPS), high / _STEPS), low / _STEPS, high / _STEPS)

    def _width_of(self, weights: FloatArray, tried: int = 1) -> Any:
        """Return what the noise of a weighted sum is below, with 97.5 % for all that were tried."""
        return width_of_sum(self.noise, weights, 1 - (1 - _SIDE) / tried)


def _low(share: Share) -> float:
    return share.low


def read_users(
    noisy: Mapping[str, IntArray], most: int, max_labels: int, noise: GeometricNoise | GaussianNoise
) -> UsersByLabels:
    """Return what a release says of users, refusing what no release of them holds.

    Raises
    ------
    ParameterError
    """
    cells, found = make_cells(most, max_labels), noisy.get(NAME)
    if found is None or found.shape != (len(cells),):
        raise ParameterError(
            "noisy", f"must hold {len(cells)} numbers of {NAME}, as the release has them"
        )
    return UsersByLabels(cells, tuple(found.tolist()), noise, max_labels)


def _harmonic_mean(first: float, last: float) -> float:
    """Return the mean of whole numbers that are the rarer the larger they are, as 1/k."""
    numbers = np.arange(first, min(last, first + 2**20) + 1)
    return float(len(numbers) / np.sum(1 / numbers))


_PARTS = np.linspace(0.06, 0.96, 16)
"""Of the largest t at which E exp(t S) is finite, where Chernoff's bound is tried."""


def width_of_sum(
    noise: GeometricNoise | GaussianNoise, weights: FloatArray, chance: float
) -> FloatArray:
    """Return what a weighted sum S of independent noise is below with at least a chance.

    The least of Chernoff's bounds, log(E exp(t S) / (1 - chance)) / t, over some t. Gaussian noise
    is rounded: it has no larger moments than normal noise of variance sigma**2 + 1/4.

    Parameters
    ----------
    weights : (..., terms) float64

    Returns
    -------
    (...) float64
    """
    beyond = -math.log1p(-chance)
    if isinstance(noise, GaussianNoise):
        variance = float(noise.sigma) ** 2 + 0.25
        squares: FloatArray = np.sum(weights * weights, axis=-1)
        return np.sqrt(2 * beyond * variance * squares)
    rate = min(float(noise.rate), 700.0)
    largest = np.maximum(np.abs(weights).max(axis=-1), np.finfo(np.float64).tiny)
    steps = rate * weights / largest[..., None]
    widths = [
        (_log_moment(rate, part * steps) + beyond) * largest / (part * rate) for part in _PARTS
    ]
    found: FloatArray = np.where(np.any(weights, axis=-1), np.min(widths, axis=0), 0)
    return found


def _log_moment(rate: float, steps: FloatArray) -> FloatArray:
    """Return the sum over the last axis of log E exp(t Z), for Z of geometric noise of a rate."""
    both = np.log(-np.expm1(steps - rate)) + np.log(-np.expm1(-steps - rate))
    found: FloatArray = np.sum(2 * math.log(-math.expm1(-rate)) - both, axis=-1)
    return found
