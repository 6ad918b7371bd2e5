"""Nodes of a tree, and boxes, by definition: what the vectorised code must equal."""

import itertools

import numpy as np
from hypothesis import strategies as st

from dphist.ranges.shape import TreeShape

Bins = tuple[int, ...]


def node_matrices(bins: Bins, branching: int) -> list[np.ndarray]:
    """For each level from the root, (nodes, all bins): 1 where a node covers a bin."""
    cells = list(itertools.product(*map(range, bins)))
    side = 1
    while side < max(bins):
        side *= branching
    levels = []
    while side >= 1:
        corners = sorted({tuple(x // side for x in cell) for cell in cells})
        rows = [[tuple(x // side for x in cell) == corner for cell in cells] for corner in corners]
        levels.append(np.array(rows, dtype=np.int64))
        side = side // branching if side > 1 else 0
    return levels


def all_boxes(bins):
    """Every box, the empty ones too: lists of lo and hi, (q,) an axis."""
    axes = [[(a, b) for a in range(n + 1) for b in range(a, n + 1)] for n in bins]
    boxes = list(itertools.product(*axes))
    lo = [np.array([box[i][0] for box in boxes]) for i in range(len(bins))]
    hi = [np.array([box[i][1] for box in boxes]) for i in range(len(bins))]
    return lo, hi


def ask(ends):
    return ends[0] if len(ends) == 1 else tuple(ends)


def indicators(bins, lo, hi):
    """(q, bins) of 0 and 1: which bins each box holds."""
    grid = np.indices(bins).reshape(len(bins), -1)
    rows = [(grid[i] >= lo[i][:, None]) & (grid[i] < hi[i][:, None]) for i in range(len(bins))]
    return np.all(rows, axis=0).astype(float)


sizes = st.one_of(
    st.tuples(st.integers(1, 30)),
    st.tuples(st.integers(1, 7), st.integers(1, 7)),
    st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4)),
)
"""Domains of one to three axes, ragged more often than not."""

branchings = st.integers(2, 5)


def noisy_levels(shape: TreeShape, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.integers(-40, 60, shape.grid(level)) for level in shape.levels]


def without_ragged_families(self: TreeShape, values: np.ndarray) -> np.ndarray:
    for axis, size in enumerate(values.shape):
        starts = np.arange(0, size, self.branching)
        whole = np.arange(size - size % self.branching)
        kept = np.take(values, whole, axis=axis)
        grid = [len(starts) if a == axis else n for a, n in enumerate(values.shape)]
        sums = np.zeros(grid, values.dtype)
        if len(whole):
            part = np.add.reduceat(kept, starts[: len(whole) // self.branching], axis=axis)
            sums[(slice(None),) * axis + (slice(part.shape[axis]),)] = part
        values = sums
    return values
