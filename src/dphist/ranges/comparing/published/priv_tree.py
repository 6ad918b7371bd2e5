"""PrivTree (Zhang, Xiao, Xie 2016). For comparison only.

A node is split if its count, less a penalty that grows with its depth, exceeds a threshold under
Laplace noise of a scale that does not grow with the depth. Half of epsilon decides the tree; the
other half counts its leaves, over which records are spread evenly.
"""

import math
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from dphist.arrays import BoolArray, FloatArray, IntArray, NumberArray

Scalar = TypeVar("Scalar", bound=np.generic)

THRESHOLD = 0.0


def noise_scale(fanout: int, epsilon: float) -> float:
    """Return the paper's lambda, the scale of the noise on decisions (Theorem 3.1)."""
    return (2 * fanout - 1) / (fanout - 1) / epsilon


def penalty(fanout: int, epsilon: float) -> float:
    """Return the paper's delta, by which a count is lowered per level (Corollary 1)."""
    return noise_scale(fanout, epsilon) * math.log(fanout)


def biased(count: NumberArray, depth: int, delta: float) -> FloatArray:
    """Return what noise is added to: at least the threshold less delta."""
    found: FloatArray = np.maximum(THRESHOLD - delta, count - depth * delta)
    return found


def priv_tree(counts: IntArray, epsilon: float, generator: np.random.Generator) -> FloatArray:
    """Return estimates of the bins; each axis is padded to the same power of two."""
    axes, depths = counts.ndim, (max(counts.shape) - 1).bit_length()
    bins = tuple(map(slice, counts.shape))
    counts = np.pad(counts, [(0, 2**depths - size) for size in counts.shape])
    fanout = 2**axes
    scale, delta = noise_scale(fanout, epsilon / 2), penalty(fanout, epsilon / 2)
    estimate = np.zeros(counts.shape)
    alive: BoolArray = np.ones((1,) * axes, np.bool_)
    for depth in range(depths + 1):
        nodes = block_sums(counts, 2 ** (depths - depth))
        noisy = biased(nodes, depth, delta) + generator.laplace(scale=scale, size=nodes.shape)
        split = alive & (noisy > THRESHOLD) if depth < depths else np.zeros_like(alive)
        leaf = alive & ~split
        counted = nodes + generator.laplace(scale=2 / epsilon, size=nodes.shape)
        width = 2 ** (depths - depth)
        estimate += repeat_blocks(np.where(leaf, counted, 0) / width**axes, width)
        alive = repeat_blocks(split, 2)
    return estimate[bins]


def block_sums(counts: IntArray, width: int) -> IntArray:
    """Return the sums of blocks of this width along every axis."""
    for axis in range(counts.ndim):
        starts = np.arange(0, counts.shape[axis], width)
        counts = np.add.reduceat(counts, starts, axis=axis)
    return counts


def repeat_blocks(values: npt.NDArray[Scalar], width: int) -> npt.NDArray[Scalar]:
    """Return every value for a block of this width along every axis."""
    for axis in range(values.ndim):
        values = np.repeat(values, width, axis=axis)
    return values
