"""Bins as plain Python counts them."""

import math
from typing import Any

import numpy as np

from dphist.data.binned_counts import BinnedCounts

INFINITY = math.inf


def python_bins(values: list[Any], edges: list[Any]) -> tuple[list[int], dict[str, int]]:
    """Bin one value after another, by comparisons of Python's own."""
    counts, outside = [0] * (len(edges) - 1), {"below": 0, "above": 0, "null": 0}
    for value in values:
        if value is None or value != value:
            outside["null"] += 1
        elif value < edges[0]:
            outside["below"] += 1
        elif value == INFINITY and edges[-1] == INFINITY:
            counts[-1] += 1
        elif value >= edges[-1]:
            outside["above"] += 1
        else:
            counts[sum(edge <= value for edge in edges) - 1] += 1
    return counts, outside


def assert_bins(found: BinnedCounts, expected: tuple[list[int], dict[str, int]]) -> None:
    assert found.counts.dtype == np.int64
    assert found.counts.tolist() == expected[0]
    assert dict(found.outside) == expected[1]
