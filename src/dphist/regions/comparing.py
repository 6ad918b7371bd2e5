"""Histograms by region compared: the sorted L1 error of each level."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from dphist.anonymized import AdaptiveScan
from dphist.data.profile import Profile
from dphist.data.region_tree import RegionPath, RegionTree
from dphist.data.regional_profile import RegionalProfile
from dphist.document import compared
from dphist.document.options import Needs, Option, whole
from dphist.errors import ParameterError
from dphist.parameters import exact_number
from dphist.regions.histograms import RegionalHistograms
from dphist.regions.mechanism import RegionalProfiles
from dphist.release.anonymized_histogram import AnonymizedHistogram

_LEVELS = ("all regions together", "regions of the top level", "leaves")
_SHARE = Fraction(1, 5)  # of the contender with a share for the top


class IndependentScans:
    """A scan of every region of every level, with shares of epsilon that are equal: no sums.

    A baseline, not a release: numbers of regions do not add up to those above them.

    Parameters
    ----------
    epsilon : of all levels together; the union of all regions is a level of its own.
    opened : the data, which may be looked at.
    """

    def __init__(self, epsilon: Any, opened: Any) -> None:
        self.opened, self.tree = opened, opened.regions
        self.levels = self.tree.depth + (len(self.tree.level(0)) > 1)
        share = exact_number(epsilon, "epsilon") / self.levels
        self.scan = AdaptiveScan(epsilon=share, sensitivity=opened.sensitivity)

    def release(self, _data: Any) -> "LevelHistograms":
        """Return the histograms of all regions."""
        above = [] if self.levels == self.tree.depth else [()]
        paths: list[RegionPath] = [*above, *self.tree.regions]
        found = {path: self.scan.release(self._unite(path)).value for path in paths}
        return LevelHistograms(found, found[paths[0]])

    def _unite(self, path: RegionPath) -> Profile:
        held = self.opened.unite(path)
        return Profile(held.counts, held.prevalences, held.sensitivity)


@dataclass(frozen=True)
class LevelHistograms:
    """Histograms by the paths of regions, and that of all regions together."""

    found: Mapping[RegionPath, AnonymizedHistogram]
    all: AnonymizedHistogram

    def __getitem__(self, path: RegionPath) -> AnonymizedHistogram:
        return self.found[path]


class RegionsCase(compared.Case):
    """Profiles by region, and the ways to release them."""

    measures = tuple(
        compared.Measure(
            f"sorted L1 error, {level}",
            "records",
            "The sum over i of |i-th largest count released - i-th largest count|, and over "
            f"regions: {level}.",
        )
        for level in _LEVELS
    )

    @property
    def facts(self) -> Mapping[str, str]:
        """Regions, records, labels, and the unit."""
        tree = self.opened.regions
        return {
            "regions": f"{len(tree.regions):,}",
            "leaves": f"{len(tree.leaves):,}",
            "records": f"{self.opened.unite(()).total:,}",
            "labels": f"{self.opened.unite(()).labels:,}",
            "sensitivity": str(self.data.sensitivity),
        }

    @property
    def digest(self) -> str:
        """Names the regions, the counts, and the unit."""
        parts = [repr(self.opened.regions.to_content()).encode()]
        for leaf in self.opened.leaves:
            parts += [leaf.counts.astype("<i8").tobytes(), leaf.prevalences.astype("<i8").tobytes()]
        return compared.compute_digest([*parts, str(self.data.sensitivity).encode()])

    def list_known(self) -> Mapping[str, compared.Given]:
        """Return the tree and the bound, which are public."""
        return {
            "regions": compared.Given(self.opened.regions),
            "sensitivity": compared.Given(self.data.sensitivity, always=True),
        }

    def list_published(self) -> list[compared.Contender]:
        """Return the mechanism, with and without a share for the top, and independent scans."""
        with_top = partial(RegionalProfiles, top_share=_SHARE)
        return [
            self.contender("RegionalProfiles", RegionalProfiles, compared.BLACK),
            self.contender(f"RegionalProfiles, top {_SHARE}", with_top, compared.BLUE),
            compared.Contender(
                "Independent scans, do not add up",
                compared.NOTHING,
                IndependentScans,
                compared.ORANGE,
                dashed=True,
            ),
        ]

    def run(self, mechanism: Any) -> compared.Run:
        """Return what releases the profiles once."""
        return compared.make_run(partial(mechanism.release, self.data), self._errors)

    def _errors(self, value: Any) -> Sequence[float]:
        tree = self.opened.regions
        if not isinstance(value, RegionalHistograms | LevelHistograms):
            raise ParameterError("mechanisms", "for regions must release RegionalHistograms")
        level = [[(path, value[path]) for path in tree.level(k)] for k in (0, tree.depth - 1)]
        found = [[((), value.all)], *level]
        return [
            float(sum(self.opened.unite(path).distance(held) for path, held in each))
            for each in found
        ]


def _read(path: str, regions: str, **columns: Any) -> RegionalProfile:
    return RegionalProfile.from_table(path, regions=RegionTree.read(Path(regions)), **columns)


COMPARING = compared.Comparing(
    title="Mechanisms for anonymized histograms by region",
    data="a RegionalProfile",
    takes=lambda data: isinstance(data, RegionalProfile),
    case=RegionsCase,
    file=compared.DataFile(
        option=Option(
            "by_region",
            "a row per record, or per label with a count: anonymized histograms by region",
            "FILE",
            rules=[
                Needs(["label"], "the column of labels"),
                Needs(["region"], "the column of regions"),
                Needs(["regions"], "the file of the tree"),
            ],
        ),
        columns=[
            compared.LABEL,
            Option("region", "column of regions, with --by-region", "COLUMN"),
            Option("regions", "file of the tree, with --by-region", "FILE"),
            compared.COUNT,
            compared.USER,
            Option(
                "max_records",
                "records of a user that are kept, with --profile or --by-region",
                "M",
                whole,
            ),
        ],
        read=_read,
    ),
)
