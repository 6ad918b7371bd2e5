"""How histograms by group are audited: on which neighbors."""

from typing import Any

from dphist.document.audited import SMALL_DELTA, AuditedClass, Auditing, CellNeighbors
from dphist.errors import UnsupportedError
from dphist.groups.grouping import find_group
from dphist.groups.histograms import HistogramsByGroup
from dphist.groups.mechanism import GroupedHistogram


def _neighbors(mechanism: GroupedHistogram) -> CellNeighbors:
    """Return neighbors: one unit adds `max_rows` records to bins, of one group or of several.

    Raises
    ------
    UnsupportedError
        If groups are found: which bins there are depends on the data.
    """
    if mechanism.finding:
        raise UnsupportedError(
            "groups that are found have no bins to be audited on: audit with all groups listed"
        )
    shape = find_group(mechanism.groups).size, mechanism.bins
    return CellNeighbors(shape, mechanism.max_rows, "bin", "bins")


def _list_bins(value: HistogramsByGroup) -> Any:
    return {str(i): each.counts.tolist() for i, each in enumerate(value.histograms)}


_GROUPS = {"a": ["x", "y", "z"]}

AUDITING = Auditing(
    neighbors=_neighbors,
    compared=_list_bins,
    mechanisms={
        GroupedHistogram: AuditedClass(
            small={"groups": _GROUPS, "bins": 8},
            others={
                "of a total": {"groups": _GROUPS, "bins": 8, "delta": SMALL_DELTA},
                "of trees of levels": {"groups": _GROUPS, "bins": 8, "inner": "HierarchicalTree"},
                "of several rows": {"groups": _GROUPS, "bins": 8, "max_rows": 3},
            },
            tiny={"of single bins": {"groups": {"a": [1, 2]}, "bins": 1, "inner": "LeafCounts"}},
        )
    },
)
