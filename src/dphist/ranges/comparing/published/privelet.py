"""Privelet, the Haar wavelet mechanism of Xiao, Wang and Gehrke (2010): a baseline.

Its noise is Laplace's in floating point from a seeded generator: what it estimates is fit for a
comparison of errors and for nothing else, least of all for a release.
"""

import numpy as np

from dphist.arrays import FloatArray, IntArray


def privelet(counts: IntArray, epsilon: float, generator: np.random.Generator) -> FloatArray:
    """Return estimates of the bins, in the shape of `counts`; unbiased, neither whole nor clipped.

    Noise of scale sensitivity / (epsilon * weight) on each coefficient. Neighbors differ by one
    record, here as everywhere; the paper lets one record move, which costs it a factor of 2.
    """
    padded = np.pad(counts, [(0, (1 << (size - 1).bit_length()) - size) for size in counts.shape])
    weights = compute_weights(padded.shape)
    scale = sensitivity(padded.shape) / (epsilon * weights)
    noisy = transform(padded.astype(np.float64)) + generator.laplace(size=padded.shape) * scale
    return inverse(noisy)[tuple(slice(size) for size in counts.shape)]


def transform(values: FloatArray) -> FloatArray:
    """Return the Haar coefficients, axis after axis (the standard decomposition, sec. 6).

    Along an axis: first the mean of all; then, for the node k = 1, 2, ... of a binary tree,
    numbered from the root level by level, half of what the mean of its left half is more than
    that of its right (sec. 4). Each axis is a power of two.
    """
    for axis in range(values.ndim):
        values = np.moveaxis(_along_last(np.moveaxis(values, axis, -1)), -1, axis)
    return values


def inverse(coefficients: FloatArray) -> FloatArray:
    """Return the values of which these are the coefficients."""
    for axis in range(coefficients.ndim):
        back = _invert_along_last(np.moveaxis(coefficients, axis, -1))
        coefficients = np.moveaxis(back, -1, axis)
    return coefficients


def compute_weights(shape: tuple[int, ...]) -> FloatArray:
    """Return each coefficient's weight: the bins it is a mean over, multiplied over the axes."""
    weights = np.ones(())
    for size in shape:
        nodes = np.arange(size)
        level = np.frexp(nodes)[1] - 1  # nodes 2**l, ..., 2**(l + 1) - 1 have level l
        one = np.where(nodes == 0, size, size / np.exp2(level))
        weights = np.multiply.outer(weights, one)
    return weights


def sensitivity(shape: tuple[int, ...]) -> int:
    """Return what one record changes the coefficients by in all, each times its weight."""
    return int(np.prod([size.bit_length() for size in shape]))


def _along_last(values: FloatArray) -> FloatArray:
    found = np.empty_like(values)
    means = values
    while (size := means.shape[-1]) > 1:
        left, right = means[..., ::2], means[..., 1::2]
        found[..., size // 2 : size] = (left - right) / 2
        means = (left + right) / 2
    found[..., :1] = means
    return found


def _invert_along_last(coefficients: FloatArray) -> FloatArray:
    means = coefficients[..., :1]
    while (size := means.shape[-1]) < coefficients.shape[-1]:
        halves = coefficients[..., size : 2 * size]
        means = np.stack([means + halves, means - halves], axis=-1)
        means = means.reshape(*halves.shape[:-1], 2 * size)
    return means
