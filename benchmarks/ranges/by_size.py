"""Squared errors of ranges by their size, as in Hay et al. (2010), sec. 5.2."""

import random
import zlib
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from benchmarks.ranges.data import Shape
from dphist import HierarchicalTree, LeafCounts
from dphist.arrays import FloatArray, IntArray, NumberArray
from dphist.noise import Source

# What the paper calls them.
SYMBOLS = {
    "leaves": "L̃",
    "cut leaves": "L̃ cut",
    "nodes": "H̃",
    "fitted": "H̄",
    "zeroed": "H̄ zeroed",
    "added": "H̄ zeroed, added",
    "projected": "H̄ projected",
}
RANGES = 1000  # of a size, for each noisy tree, as in the paper

Count: TypeAlias = Callable[[IntArray, IntArray], Any]


def sizes_of(bins: int) -> list[int]:
    """Return 2**i for i = 0, ..., l - 2, where the binary tree over the bins has l levels.

    The paper begins with i = 1, and speaks of single bins too.
    """
    return [2**i for i in range((bins - 1).bit_length())]


def widened(shape: Shape, bins: int) -> Shape:
    """Return the histogram with empty bins at its end, `bins` in all."""
    more = np.zeros(bins - len(shape.counts), np.int64)
    return Shape(f"{shape.name}, {bins:,} bins", np.append(shape.counts, more))


def errors_by_size(
    shape: Shape, epsilon: str, runs: int, seed: int = 2010
) -> dict[str, FloatArray]:
    """Return each estimate's mean squared error in each run, (runs, sizes) float64, records².

    All estimates of a tree are of the same noisy tree, and all answers are rounded to whole
    numbers of at least 0, as in the paper.
    """
    bins = len(shape.counts)
    source = random.Random(f"{shape.name} {epsilon} {seed}").randbytes
    places = np.random.default_rng([seed, zlib.crc32(shape.name.encode())])
    true = np.append(0, np.cumsum(shape.counts))
    sizes = np.array(sizes_of(bins))[:, None]
    found: dict[str, list[FloatArray]] = {name: [] for name in SYMBOLS}
    for _ in range(runs):
        estimates = _estimates(shape.counts, epsilon, source)
        lo = places.integers(0, bins - sizes + 1, (len(sizes), RANGES))
        hi = lo + sizes
        for name, count in estimates.items():
            answers = np.asarray(count(lo.ravel(), hi.ravel()), np.float64).reshape(lo.shape)
            errors = np.maximum(np.rint(answers), 0) - (true[hi] - true[lo])
            found[name].append(np.square(errors).mean(axis=1))
    return {name: np.array(one) for name, one in found.items()}


def _estimates(counts: IntArray, epsilon: str, source: Source) -> dict[str, Count]:
    """Return what answers ranges.

    The paper says that counts are rounded to whole numbers of at least 0, and that the error of
    L̃ grows linearly with the size. That holds if its answers are ("leaves"), not if its bins
    are ("cut leaves"): their sums are biased. Likewise it has H̄ below H̃ at every size, also
    with subtrees set to 0. That holds if ranges are sums of the fewest nodes ("zeroed"), not if
    they are sums of bins ("added").
    """
    about: dict[str, Any] = {"epsilon": epsilon, "bins": len(counts)}
    leaves = LeafCounts(**about).release(counts, source=source).value
    about["branching"] = 2
    nodes = HierarchicalTree(**about, consistent=False, nonnegative=False)
    noisy = nodes.measure(counts, source)
    fitted = HierarchicalTree(**about, nonnegative=False).decode(noisy)
    projected = HierarchicalTree(**about, nonnegative=True).decode(noisy)
    zeroed = HierarchicalTree(**about, nonnegative="subtrees").decode(noisy)
    return {
        "leaves": leaves.count_bins,
        "cut leaves": _added(np.maximum(leaves.counts, 0)),
        "nodes": nodes.decode(noisy).count_bins,
        "fitted": fitted.count_bins,
        "zeroed": zeroed.count_bins,
        "added": _added(zeroed.counts),
        "projected": projected.count_bins,
    }


def _added(bins: NumberArray) -> Count:
    sums = np.append(0, np.cumsum(bins))
    return lambda lo, hi: sums[hi] - sums[lo]
