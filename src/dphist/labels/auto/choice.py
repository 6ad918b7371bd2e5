"""The cap with the smallest expected error, from noisy numbers and public ones alone.

Two laws are guessed, each by a family that is weighted by how well it explains the noisy numbers:
how many labels users have, and how common the most common labels are. Bias and noise at each cap
follow from both. All of it is post-processing: a bad guess costs accuracy, never privacy.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from dphist.arrays import FloatArray
from dphist.labels.auto.law import TOPS
from dphist.release.fitted_users import (
    Share,
    estimate_share_cut,
    fit_users,
    list_sizes,
    spread_users,
    weigh,
)

GOALS = (100, 400)
"""The error is that of the 100 and of the 400 most common labels."""

_PAIRS_ERROR = 0.2  # by how much the most common labels may exceed all pairs of the fitted users


@dataclass(frozen=True, slots=True)
class Look:
    """Noisy numbers that a cap is chosen by.

    Attributes
    ----------
    starts : (j + 1,) where cells of a number of labels start; the last is past the end.
    users : (j,) float64, noisy numbers of users with a number of labels in each.
    means : (3,) float64, noisy mean counts of the `TOPS` most common labels, before any cut.
    users_scale : standard deviation of the noise of each number of users.
    means_scale : (3,) float64, those of the noise of the means.
    """

    starts: Sequence[int]
    users: FloatArray
    means: FloatArray
    users_scale: float
    means_scale: FloatArray


@dataclass(frozen=True, slots=True)
class TriedCap:
    """What is expected of a cap.

    Attributes
    ----------
    max_labels : labels that one user keeps at most.
    error : root mean square error of the counts of the most common labels, in records, with bias
        and noise; a label that is not released counts as 0. The geometric mean over the `GOALS`.
    share_cut : of all pairs of a user and a label, by the fitted laws of users; its interval has
        about 95 %, from the noise and what these laws leave open.
    """

    max_labels: int
    error: float
    share_cut: Share


def expect_errors(
    look: Look, caps: Sequence[int], scales: Sequence[float], thresholds: Sequence[float]
) -> list[TriedCap]:
    """Return what to expect of each cap.

    Parameters
    ----------
    caps : public list of caps, ascending.
    scales : standard deviation of the noise of a count at each cap, records.
    thresholds : of the noisy count of a released label at each cap, records.
    """
    fitted = fit_users(look.starts, look.users, look.users_scale)
    spread = np.stack([spread_users(look.starts, users) for users in fitted.laws])
    shares = [estimate_share_cut(look.starts, fitted, spread, cap) for cap in caps]
    users, pairs = fitted.total(spread), fitted.total(spread * list_sizes(look.starts))
    counts, likely = fit_counts(look.means, look.means_scale, users, pairs)
    tried = []
    for cap, share, scale, threshold in zip(caps, shares, scales, thresholds, strict=True):
        squares = compute_expected_squares(counts, counts * (1 - share.value), scale, threshold)
        errors = [np.log(squares[:, :goal].mean(axis=1)) / 2 for goal in GOALS]
        tried.append(TriedCap(cap, math.exp(float(likely @ np.mean(errors, axis=0))), share))
    return tried


def choose_cap(tried: Sequence[TriedCap]) -> TriedCap:
    """Return the cap with the smallest expected error; of several, the smallest."""
    return min(tried, key=lambda each: (each.error, each.max_labels))


def compute_expected_squares(
    counts: FloatArray, kept: FloatArray, scale: float, threshold: float
) -> FloatArray:
    """Return the expected squared error of each count.

    Parameters
    ----------
    counts, kept : (..., k) float64, true counts and what is left of them after the cut. What is
        released is kept + scale N if that is above `threshold`, and else 0.
    """
    lowest, bias = (threshold - kept) / scale, kept - counts
    shown, density = ndtr(-lowest), np.exp(-(lowest**2) / 2) / math.sqrt(2 * math.pi)
    near = bias**2 * shown + 2 * bias * scale * density + scale**2 * (shown + lowest * density)
    found: FloatArray = near + (1 - shown) * counts**2
    return found


def threshold_at(scale: float, delta: float, cap: int) -> float:
    """Return about the threshold at a cap, records."""
    return 1 - scale * float(ndtri(-math.expm1(math.log1p(-delta) / cap)))


def fit_counts(
    means: FloatArray, scales: FloatArray, users: float, pairs: float
) -> tuple[FloatArray, FloatArray]:
    """Return possible counts of the most common labels, and how likely each is.

    Parameters
    ----------
    means, scales : (3,) float64, noisy mean counts of the `TOPS`, and standard deviations of the
        noise.
    users : how many users there are; no label has more.
    pairs : about the sum of all counts.

    Returns
    -------
    laws : (laws, 400) float64, counts in descending order.
    chances : (laws,) float64, sum 1.
    """
    levels = np.geomspace(1, max(users, 2), 64)[:, None, None]
    laws = np.minimum(levels * _count_shapes(), users)
    sums = laws.cumsum(axis=2)
    found = np.stack([sums[:, :, top - 1] / top for top in TOPS], axis=2)
    beyond = np.maximum(sums[:, :, -1] / max(pairs, 1) - 1, 0) / _PAIRS_ERROR
    misfits = (((means - found) / scales) ** 2).sum(axis=2) + beyond**2
    return weigh(laws.reshape(-1, laws.shape[2]), misfits.reshape(-1))


@functools.lru_cache(maxsize=1)
def _count_shapes() -> FloatArray:
    """Return (shapes, 400) counts in units of the largest: (1 + rank / flat)**-power."""
    flats, powers = np.meshgrid([1, 3, 10, 30, 100], [0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5])
    shapes: FloatArray = (1 + np.arange(TOPS[-1]) / flats.reshape(-1, 1)) ** -powers.reshape(-1, 1)
    return shapes
