"""Inference of a diagram from noisy counts: pure functions of noisy numbers.

All of it is post-processing and costs no privacy.
"""

import numpy as np

from dphist.arrays import FloatArray, IntArray


def isotonic_decreasing(
    noisy: IntArray | FloatArray, weights: FloatArray | None = None
) -> FloatArray:
    """Least-squares projection of `noisy` onto non-increasing sequences.

    Parameters
    ----------
    noisy : (k,) int64 or float64
        Noisy row lengths or column heights, in records.
    weights : (k,) float64, optional
        Inverse variances up to a factor (default: equal).

    Returns
    -------
    (k,) float64, non-increasing, with the same weighted sum as `noisy`.

    Notes
    -----
    Pool-adjacent-violators, O(k) (Hay et al. 2010, Theorem 1 gives the min-max form the
    tests compare with).
    """
    if len(noisy) == 0:
        return np.zeros(0)
    from scipy.optimize import isotonic_regression  # slow to import; a dry run needs none

    fit = isotonic_regression(noisy.astype(np.float64), weights=weights, increasing=False)
    projected: FloatArray = fit.x
    return projected


def whole_non_negative(values: FloatArray) -> IntArray:
    """Round to the nearest integers, and negative values to zero; preserves the order."""
    return np.rint(np.maximum(values, 0)).astype(np.int64)


def rounding_error(counts: IntArray) -> int:
    """Bound the float64 rounding error of inferred counts: 0 below 2**44 records."""
    return int(counts.max(initial=0)) >> 44


def infer_decreasing(noisy: IntArray) -> IntArray:
    """Return the non-increasing, non-negative integers that fit `noisy`; (k,) int64."""
    return whole_non_negative(isotonic_decreasing(noisy))
