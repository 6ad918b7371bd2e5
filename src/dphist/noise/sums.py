"""How far the noise of a weighted sum of noisy numbers reaches."""

import math

import numpy as np

from dphist.arrays import FloatArray
from dphist.noise.law import NoiseLaw

_PARTS = np.linspace(0.06, 0.96, 16)
"""Of the largest t at which E exp(t S) is finite, where Chernoff's bound is tried."""


def width_of_sum(law: NoiseLaw, weights: FloatArray, chance: float) -> FloatArray:
    """Return what a weighted sum S of independent noise is below with at least a chance.

    The least of Chernoff's bounds, log(E exp(t S) / (1 - chance)) / t, over some t. Gaussian noise
    is rounded: it has no larger moments than normal noise of variance sigma**2 + 1/4.

    Parameters
    ----------
    law : two-sided geometric or Gaussian, as of each term.
    weights : (..., terms) float64

    Returns
    -------
    (...) float64
    """
    beyond, scale = -math.log1p(-chance), float(law.scale or 0)
    if law.distribution == "Gaussian":
        variance = scale**2 + 0.25
        squares: FloatArray = np.sum(weights * weights, axis=-1)
        return np.sqrt(2 * beyond * variance * squares)
    rate = min(1 / scale, 700.0)
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
