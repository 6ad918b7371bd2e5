"""How many users have each size, guessed from noisy numbers of users by size.

A family of laws is weighted by how well each explains the noisy numbers. All of it is
post-processing: a bad guess costs accuracy, never privacy. The size of a user is how many labels,
or how many records, the user has.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtr

from dphist.arrays import FloatArray

_MODEL_ERROR = 0.3  # relative standard error of a fitted number of users
_SURELY = 6  # standard deviations of noise, beyond which a number is believed against a law
_SLOPES = (-20.0, 3.0)  # of users by size, on logarithmic axes
_SURE = 1.96  # standard errors of an interval of 95 %
_MOST_MODELS = 64


@dataclass(frozen=True, slots=True)
class Share:
    """A share between 0 and 1, with both ends of its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class FittedUsers:
    """Possible numbers of users by size.

    Attributes
    ----------
    laws : (laws, j) float64, users in each cell, above 0.
    variances : (laws, j) float64, what is not known of them if the law is right.
    chances : (laws,) float64, how likely each law is; sum 1.
    """

    laws: FloatArray
    variances: FloatArray
    chances: FloatArray

    def total(self, weights: FloatArray) -> float:
        """Return the mean over laws of a total, (laws, ...)."""
        return float(self.chances @ weights.reshape(len(weights), -1).sum(axis=1))


def fit_users(starts: Sequence[int], noisy: FloatArray, scale: float) -> FittedUsers:
    """Return possible numbers of users in each cell.

    A law is corrected by the noisy numbers as far as these are more exact than the law. So the
    tail of users is never noise alone.
    """
    shapes = _user_shapes(tuple(starts))
    total = np.maximum(shapes @ noisy / (shapes * shapes).sum(axis=1), 1.0)
    fitted = shapes * total[:, None]
    variances = (_MODEL_ERROR * fitted) ** 2 + 1 + scale**2
    misfits = ((noisy - fitted) ** 2 / variances + np.log(variances)).sum(axis=1)
    fitted, chances = weigh(fitted, misfits)
    # What noise hardly ever does, such as a few users far above all others, is no noise.
    beyond = np.maximum((noisy - fitted) ** 2 - (_SURELY * scale) ** 2, 0)
    own = (_MODEL_ERROR * fitted) ** 2 + beyond
    trust = own / (own + scale**2)
    laws = np.maximum(fitted + trust * (noisy - fitted), fitted / 10)
    return FittedUsers(laws, trust * scale**2, chances)


@functools.lru_cache(maxsize=8)
def _user_shapes(starts: tuple[int, ...]) -> FloatArray:
    """Return (laws, j) shares of users in each cell.

    Rounded lognormal laws, Weibull laws, whose tails end, and log-logistic laws, whose tails are
    those of powers.
    """
    edges = np.log(np.array(starts) - 0.5)
    centers, widths = (
        values.reshape(-1, 1)
        for values in np.meshgrid(np.arange(-1, max(edges[-1], 0), 0.2), np.geomspace(0.3, 2, 12))
    )
    scaled = (edges - centers) / widths
    weibull = -np.expm1(-np.exp(np.minimum(scaled, 9)))
    reached = np.concatenate([ndtr(scaled), weibull, expit(scaled)])
    shares = np.diff(reached, axis=1)
    shares[:, -1] += 1 - reached[:, -1]  # larger users count in the last cell
    found: FloatArray = np.maximum(shares, 1e-12)
    return found


def spread_users(starts: Sequence[int], users: FloatArray) -> FloatArray:
    """Return how many users have size 1, 2, 3, ..., interpolated in each cell.

    In a cell users fall off by a power of the size, with the slope that the
    neighboring cells show.

    Returns
    -------
    (starts[-1] - 1,) float64
    """
    widths = np.diff(np.array(starts, float))
    middles = np.log(np.array(starts[:-1]) + (widths - 1) / 2)
    slopes = np.gradient(np.log(users / widths), middles) if len(users) > 1 else np.zeros(1)
    weights = []
    for start, end, number, slope in zip(starts[:-1], starts[1:], users, slopes, strict=True):
        shares = (np.arange(start, end) / start) ** np.clip(slope, *_SLOPES)
        weights.append(number * shares / shares.sum())
    return np.concatenate(weights)


def list_sizes(starts: Sequence[int]) -> FloatArray:
    """Return all sizes below the last of `starts`."""
    return np.arange(1, starts[-1], dtype=float)


def estimate_share_cut(
    starts: Sequence[int], fitted: FittedUsers, spread: FloatArray, cap: int
) -> Share:
    """Return the share of what users have that a cap cuts, and what noise and law leave open.

    Parameters
    ----------
    spread : (laws, sizes) float64, users of size 1, 2, 3, ....
    """
    sizes, places = list_sizes(starts), np.array(starts[:-1]) - 1
    pairs, kept = (
        np.add.reduceat(spread * held, places, axis=1) for held in (sizes, np.minimum(sizes, cap))
    )
    total = pairs.sum(axis=1, keepdims=True)
    share = kept.sum(axis=1, keepdims=True) / total
    moved = (pairs * share - kept) / (fitted.laws * total)  # by one user more of a cell
    within = (moved**2 * fitted.variances).sum(axis=1)
    cuts = 1 - share[:, 0]
    value = float(fitted.chances @ cuts)
    error = _SURE * math.sqrt(float(fitted.chances @ ((cuts - value) ** 2 + within)))
    low, value, high = (min(max(end, 0.0), 1.0) for end in (value - error, value, value + error))
    return Share(value, low, high)


def weigh(models: FloatArray, misfits: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return models that are likely, and their chances.

    Parameters
    ----------
    models : (models, ...) float64
    misfits : (models,) float64, -2 times the logarithm of the likelihood, up to a constant.
    """
    order = np.argsort(misfits, kind="stable")[:_MOST_MODELS]
    chances = np.exp((misfits[order[0]] - misfits[order]) / 2)
    return models[order], chances / chances.sum()
