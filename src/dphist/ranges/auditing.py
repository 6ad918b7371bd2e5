"""How histograms over ranges are audited: on which neighbors, and what a release states."""

from typing import Any

import numpy as np

from dphist.document.audited import AuditedClass, Auditing, CellNeighbors, Numbers, Statement
from dphist.ranges.adaptive_tree.mechanism import AdaptiveTree
from dphist.ranges.hierarchical_tree.mechanism import HierarchicalTree
from dphist.ranges.leaf_counts import LeafCounts
from dphist.release.range_histogram import RangeHistogram
from dphist.release.release import Release


def _neighbors(mechanism: Any) -> CellNeighbors:
    """Return neighbors: one unit adds `sensitivity` records to bins."""
    bins = tuple(np.atleast_1d(mechanism.bins).tolist())
    return CellNeighbors(bins, mechanism.sensitivity, "bin", "bins")


def _list_value(value: RangeHistogram) -> Any:
    bins = value.counts.ravel().tolist()
    return {"bins": bins, "outside": dict(value.outside)} if value.outside else bins


def _read_tree(mechanism: AdaptiveTree, release: Release, data: Any) -> Numbers:
    return _add_outside(release, release.noisy["counts"].tolist())


def _read_levels(mechanism: HierarchicalTree, release: Release, data: Any) -> Numbers:
    return _add_outside(release, [n for level in release.noisy.values() for n in level.tolist()])


def _read_leaves(mechanism: LeafCounts, release: Release, data: Any) -> Numbers:
    return _add_outside(release, release.value.counts.ravel().tolist())


def _add_outside(release: Release, counts: list[int]) -> Numbers:
    """Return counts of bins, and those beside them; of these 0 stands for all below."""
    outside = list((release.value.outside or {}).values())
    return [*counts, *outside] if all(outside) else None


_TREE: dict[str, Any] = {
    "small": {"bins": 16},
    "others": {"of 4096 bins": {"bins": 4096}},  # twelve levels
    "tiny": {"of 2 bins": {"bins": 2}},
}

AUDITING = Auditing(
    neighbors=_neighbors,
    compared=_list_value,
    mechanisms={
        AdaptiveTree: AuditedClass(**_TREE, statement=Statement(_read_tree)),
        HierarchicalTree: AuditedClass(**_TREE, statement=Statement(_read_levels)),
        LeafCounts: AuditedClass(
            small={"bins": 4},
            tiny={"of 1 bin": {"bins": 1}, "of 2 bins": {"bins": 2}},
            statement=Statement(_read_leaves),
        ),
    },
)
