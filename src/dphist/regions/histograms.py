"""RegionalHistograms: anonymized histograms of regions that add up, as they were released."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.arrays import IntArray
from dphist.data.region_tree import RegionPath, RegionTree
from dphist.errors import ParameterError
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.release import save_kind
from dphist.release.tabular import Released

_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RegionalHistograms(Released):
    """The released anonymized histogram of each region of a tree.

    The histogram of a region is the union of those of its parts: numbers of labels with each count,
    of labels and of records add up over all levels, exactly.

    Parameters
    ----------
    regions : the tree.
    leaves : the histogram of each leaf, in the order of the tree.

    >>> tree = RegionTree({"North": ["Bern", "Basel"], "South": ["Lugano"]})
    >>> found = RegionalHistograms(tree, [AnonymizedHistogram([c], [1]) for c in (8, 3, 5)])
    >>> found["Bern"], found["North"].sorted_counts(), found.all.total
    (AnonymizedHistogram(1 label, 8 records), array([8, 3]), 16)
    >>> {name: held.total for name, held in found.level(0).items()}
    {'North': 11, 'South': 5}
    """

    regions: RegionTree
    leaves: Sequence[AnonymizedHistogram]
    _unions: dict[RegionPath, AnonymizedHistogram] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "regions", RegionTree(self.regions))
        object.__setattr__(self, "leaves", tuple(self.leaves))
        if len(self.leaves) != len(self.regions.leaves):
            raise ParameterError("leaves", "must be one for each leaf of the tree")

    def __getitem__(self, region: Any) -> AnonymizedHistogram:
        """Return the histogram of a region.

        Parameters
        ----------
        region : its name; or its names from the top down, as a tuple, where others have the name.

        Raises
        ------
        ParameterError
            If there is no such region, or several have the name.
        """
        return self._union(self.regions.find(region))

    @property
    def all(self) -> AnonymizedHistogram:
        """The histogram of all regions together."""
        return self._union(())

    @property
    def total(self) -> int:
        """Number of records of all regions together."""
        return self.all.total

    @property
    def labels(self) -> int:
        """Number of labels of all regions together; one in two leaves is two."""
        return self.all.labels

    def level(self, level: int) -> dict[str, AnonymizedHistogram]:
        """Return the histograms of a level by the names of its regions; 0 is the top.

        A name that other regions have too is written with those above it and / between them.
        """
        return {self.regions.name(p): self._union(p) for p in self.regions.level(level)}

    def to_arrow(self) -> pa.Table:
        """Return columns region, count, ascending, and prevalence, of all regions from the top."""
        paths = self.regions.regions
        held = [self._union(path) for path in paths]
        sizes = [len(each.counts) for each in held]
        names = pa.array([self.regions.name(path) for path in paths], pa.string())
        rows = np.repeat(np.arange(len(paths)), sizes)
        return pa.table(
            {
                "region": names.take(pa.array(rows)),
                "count": np.concatenate([each.counts for each in held]),
                "prevalence": np.concatenate([each.prevalences for each in held]),
            }
        )

    def to_content(self) -> dict[str, Any]:
        """Return the histograms as a JSON object, for saving."""
        leaves = [leaf.to_content() for leaf in self.leaves]
        return {"regions": self.regions.to_content(), "leaves": leaves}

    @classmethod
    def from_content(cls, content: Any) -> "RegionalHistograms":
        """Make histograms from the result of `to_content`.

        Raises
        ------
        DphistError, KeyError, TypeError, ValueError
        """
        if {*content} != {"regions", "leaves"}:
            raise ValueError("released histograms of regions have regions and leaves")
        tree = RegionTree(content["regions"])
        if tree.to_content() != content["regions"]:
            raise ValueError("the leaves of each region must stand together")
        return cls(tree, [AnonymizedHistogram.from_content(leaf) for leaf in content["leaves"]])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RegionalHistograms):
            return NotImplemented
        return (self.regions, self.leaves) == (other.regions, other.leaves)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type["RegionalHistograms"], tuple[Any, ...]]:
        return RegionalHistograms, (self.regions, self.leaves)

    def __repr__(self) -> str:
        records = "1 record" if self.total == 1 else f"{self.total:,} records"
        return f"RegionalHistograms({self.regions!r}, {records})"

    def _union(self, path: RegionPath) -> AnonymizedHistogram:
        if path not in self._unions:
            span = self.regions.span(path)
            self._unions[path] = unite(self.leaves[span.start : span.stop])
        return self._unions[path]


def unite(parts: Sequence[AnonymizedHistogram]) -> AnonymizedHistogram:
    """Return the histogram of the labels of all parts.

    Noise may make more than 2**63 - 1 labels together; that many stand for more.
    """
    if len(parts) == 1:
        return parts[0]
    counts = np.concatenate([part.counts for part in parts])
    prevalences = np.concatenate([part.prevalences for part in parts])
    if float(prevalences.sum(dtype=np.float64)) >= 2**62:
        counts, prevalences = _clip(counts, prevalences)
    return AnonymizedHistogram(counts, prevalences)


def _clip(counts: IntArray, prevalences: IntArray) -> tuple[IntArray, IntArray]:
    """Return pairs with at most 2**63 - 1 labels, those with the largest counts first."""
    order, left = np.argsort(-counts, kind="stable"), _LARGEST
    kept = np.zeros(len(counts), np.int64)
    for place in order.tolist():
        kept[place] = min(int(prevalences[place]), left)
        left -= int(kept[place])
    return counts, kept


save_kind("regions", RegionalHistograms)
