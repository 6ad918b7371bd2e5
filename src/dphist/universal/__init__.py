"""Universal histograms: how many records lie in any range of an ordered domain."""

from dphist.universal.adaptive_tree import AdaptiveTree
from dphist.universal.best import best_range_mechanism
from dphist.universal.hierarchical_tree import HierarchicalTree
from dphist.universal.leaf_counts import LeafCounts
from dphist.universal.mechanism import RangeMechanism

__all__ = [
    "AdaptiveTree",
    "HierarchicalTree",
    "LeafCounts",
    "RangeMechanism",
    "best_range_mechanism",
]
