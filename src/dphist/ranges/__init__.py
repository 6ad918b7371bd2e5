"""Histograms over ranges: how many records lie in any range of an ordered domain."""

from dphist.ranges.adaptive_tree.mechanism import AdaptiveTree
from dphist.ranges.hierarchical_tree.mechanism import HierarchicalTree
from dphist.ranges.leaf_counts import LeafCounts
from dphist.ranges.mechanism import RangesMechanism

__all__ = [
    "AdaptiveTree",
    "HierarchicalTree",
    "LeafCounts",
    "RangesMechanism",
]
