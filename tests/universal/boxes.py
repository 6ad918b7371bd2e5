"""The nodes of a tree by definition, one at a time: what the vectorised code must equal."""

import itertools

import numpy as np
from hypothesis import strategies as st

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


sizes = st.one_of(
    st.tuples(st.integers(1, 30)),
    st.tuples(st.integers(1, 7), st.integers(1, 7)),
    st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4)),
)
"""Domains of one to three axes, ragged more often than not."""

branchings = st.integers(2, 5)
