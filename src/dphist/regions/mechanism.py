"""RegionalProfiles: anonymized histograms of regions that add up, by a scan of every leaf."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dphist.anonymized.adaptive_scan.mechanism import AdaptiveScan
from dphist.anonymized.band import ALL_LABELS, Band, holding
from dphist.anonymized.mechanism import EPSILON, check_cell_epsilon
from dphist.anonymized.reference import public_profile
from dphist.arrays import IntArray
from dphist.data.diagram import merge_pairs
from dphist.data.profile import Profile
from dphist.data.region_tree import RegionPath, RegionTree
from dphist.data.regional_profile import RegionalProfile
from dphist.errors import ParameterError
from dphist.mechanism import check_kind, parameter
from dphist.noise.law import Drawing, NoiseLaw
from dphist.noise.repeatable import repeatable_source
from dphist.parameters import Exact, exact_number, privacy_parameter, whole_number
from dphist.regions.histograms import RegionalHistograms, unite
from dphist.regions.measuring import PARTS, RegionalMeasuring
from dphist.regions.pooling import pool_regions
from dphist.regions.scans import Scans, bound_leaves, not_of_a_release, split_scans
from dphist.regions.selected import ScannedLeaves
from dphist.regions.top import move_leaves
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.mechanisms import savable
from dphist.release.release import Release
from dphist.sentence import Sentence
from dphist.visible import visible

_TRIED = 32  # leaves on which an expected error is tried
_MOST_SHARE = Fraction(9, 10)


def _name_regions(mechanism: "RegionalProfiles") -> list[str]:
    """Return how a tree is shown: the regions of its top level, with their numbers of leaves."""
    tree, found = mechanism.regions, []
    for path in tree.level(0):
        leaves = len(tree.span(path))
        said = f" ({leaves:,} {'leaf' if leaves == 1 else 'leaves'})" if tree.depth > 1 else ""
        found.append(f"{visible(path[-1])}{said}")
    return found


@dataclass(frozen=True, slots=True)
class RegionalBand:
    """Bounds on the true histograms of all regions.

    Attributes
    ----------
    lower, upper : RegionalHistograms
        In every region, for every rank i, the true i-th largest count is between those of `lower`
        and `upper`, and for every r, so is the true number of labels with count r or more.
    level : probability that all of this holds, over the noise alone.
    """

    lower: RegionalHistograms
    upper: RegionalHistograms
    level: float


@savable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class RegionalProfiles(RegionalMeasuring):
    """An adaptive scan of every leaf of a tree of regions; larger regions are unions of leaves.

    Parameters
    ----------
    epsilon : number above 0; required. Every leaf is measured with all of it.
    regions : the public tree, as for `RegionTree`: ``{"North": ["Bern", "Basel"], "South":
        ["Lugano"]}``. It must not be taken from the data.
    sensitivity : int
        Cells that one privacy unit can change, in all leaves together: 1 for a record, M for a user
        with at most M records.
    top_share : number from 0 to 0.9
        The share of epsilon that all regions together are measured with (default: 0); leaves get
        the rest, and are then moved towards it. The top has less error where leaves are many and
        small, and leaves have more.

    Guarantee
    ---------
    - Pure epsilon-DP. Neighbors differ by adding or removing records with at most `sensitivity`
      cells in all leaves together. A record lies in one leaf, by its own region.
    - A record that moves to another region, or a label that does with all its records, is removed
      there and added here: twice the cells.
    - Covered is the whole release, of every region. Not covered are the time it takes, a tree that
      was taken from the data, and that counting refused rows of other regions.

    Notes
    -----
    Leaves are disjoint, so that all get the whole of epsilon, those without records too
    (`docs/understand/proofs/regional_profiles.md`). Leaves of one region with few records are moved
    towards the sums of their noisy numbers, in which noise cancels out. All histograms are unions
    of released leaves: they add up exactly. Time is that of an `AdaptiveScan` for each leaf, some
    milliseconds.
    Source: this library. The problem is that of Kuo, Chiu, Kifer, Hay and Machanavajjhala 2018
    ("count-of-counts histograms"), whose method is another one.

    >>> tree = {"North": ["Bern", "Basel"], "South": ["Lugano"]}
    >>> from dphist.data.regional_profile import RegionalProfile
    >>> data = RegionalProfile.from_counts({"Bern": [800, 300], "Lugano": [90]}, regions=tree)
    >>> found = RegionalProfiles(epsilon=5, regions=tree).release(data).value
    >>> found["North"].total == found["Bern"].total + found["Basel"].total
    True
    """

    reference = "This library's own; see docs/guides/regions.md in its repository."

    epsilon: Fraction = parameter(**EPSILON)
    regions: RegionTree = parameter(
        "The tree of regions, from the top down.", public=True, shown=_name_regions
    )
    sensitivity: int = parameter(
        Sentence("{Records} that one protected unit can change, in all regions together, at most."),
        symbol="M",
    )
    top_share: Fraction = parameter(
        "Share of epsilon that all regions together are measured with; leaves get the rest.",
        symbol="S",
    )

    def __init__(
        self, *, epsilon: Exact, regions: Any, sensitivity: int = 1, top_share: Exact = 0
    ) -> None:
        share = exact_number(top_share, "top_share")
        if not 0 <= share <= _MOST_SHARE:
            raise ParameterError("top_share", "must be from 0 to 0.9")
        self._hold(
            epsilon=privacy_parameter(epsilon, "epsilon"),
            regions=RegionTree(regions),
            sensitivity=whole_number(sensitivity, "sensitivity", 1),
            top_share=share,
        )
        for rate in self._rates:
            check_cell_epsilon(rate, 1)

    @property
    def noise_scale(self) -> Fraction:
        """Scale of the geometric noise on blocks of leaves, or of the top if that is smaller."""
        return 1 / max(self._rates)

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise."""
        return NoiseLaw("two-sided geometric", self.noise_scale, Drawing.WHOLE)

    @property
    def description(self) -> str:
        """How a release is made."""
        moved = (
            ""
            if not self.top_share
            else " All regions together are scanned too, and leaves are moved towards that."
        )
        return Sentence(
            "Adaptive scan (this library) of every leaf, also of those without {records}: how many "
            "{labels} have each count or more, in blocks, each block's number of {records} with "
            "two-sided geometric noise. Small leaves of a region are moved towards the sums of "
            "their noisy numbers. Histograms of larger regions are unions of those of their leaves."
            f"{moved}"
        )

    def decode(self, noisy: Mapping[str, IntArray]) -> RegionalHistograms:
        """Return the histograms inferred from the blocks' noisy counts; post-processing.

        Raises
        ------
        ParameterError
            If `noisy` does not hold the blocks of a release of this mechanism.
        """
        scans, top = self._split(noisy)
        scan = self.leaf_scan
        apart = [scan.decode(each) for each in scans]
        parents = self.regions.count_siblings(())
        leaves = pool_regions(apart, scans, parents, float(self.cell_epsilon))
        if top is not None:
            leaves = move_leaves(leaves, self.top_scan.decode(top))
        return RegionalHistograms(self.regions, leaves)

    def restore(self, value: Any, noisy: Mapping[str, IntArray]) -> RegionalHistograms:
        """Return histograms that were read from a file; ValueError if they are none of these."""
        check_kind(value, RegionalHistograms)
        histograms: RegionalHistograms = value
        if histograms.regions != self.regions:
            raise ValueError("the mechanism releases other regions")
        return histograms

    def compute_total(self, noisy: Mapping[str, IntArray]) -> int:
        """Return the total of a release with these noisy numbers."""
        return max(sum(sum(noisy[name].tolist()) for name in ("columns", "rows")), 0)

    def band(self, release: Release, region: Any, level: float = 0.95) -> Band:
        """Return histograms that enclose the true one of a region, all ranks and counts at once.

        Parameters
        ----------
        region : as for ``release.value[region]``; None for all regions together.
        level : probability, over the noise, for this region by itself.

        Raises
        ------
        ParameterError
            If there is no such region, or `release` is that of another mechanism.
        """
        self._check_asked(release, level, 0.999999)
        path, scans = self._find_scans(release, region)
        lower, upper = (
            unite(ends) for ends in zip(*bound_leaves(scans, self.cell_epsilon, level), strict=True)
        )
        return Band(*holding(lower, upper, release.value[path]), level, ALL_LABELS)

    def intervals(self, release: Release, level: float = 0.95) -> RegionalBand:
        """Return histograms that enclose the true ones of all regions at once.

        They follow from the noisy counts of leaves if no noise of any leaf exceeds t
        (`docs/understand/proofs/regional_profiles.md`, Lemma 4).
        """
        self._check_asked(release, level, 0.999999)
        bounds = bound_leaves(self._split(release.noisy)[0], self.cell_epsilon, level)
        held = [
            holding(lower, upper, leaf)
            for (lower, upper), leaf in zip(bounds, release.value.leaves, strict=True)
        ]
        lower, upper = (RegionalHistograms(self.regions, ends) for ends in zip(*held, strict=True))
        return RegionalBand(lower, upper, level)

    def select(self, release: Release, region: Any) -> Release:
        """Return a region as a release of its own: post-processing, at no further cost.

        It has a page, bands and properties as other anonymized histograms have. Its guarantee is
        that of this release, which covers all regions together. `redecode` of it decodes its own
        noisy numbers alone. It returns what was released, except of a leaf that was moved towards
        sums with others, and of all regions if the top has a share.

        Parameters
        ----------
        region : as for ``release.value[region]``; None for all regions together.
        """
        self._check_asked(release, 0.95)
        path, scans = self._find_scans(release, region)
        span = self.regions.span(path)
        noisy = {name: np.concatenate([each[name] for each in scans]) for name in PARTS}
        mechanism: AdaptiveScan | ScannedLeaves
        alone = len(scans) == 1 and not self.top_share
        if alone and release.value[path] == self.leaf_scan.decode(scans[0]):
            mechanism = AdaptiveScan(epsilon=self.epsilon, sensitivity=self.sensitivity)
        else:
            mechanism = ScannedLeaves(
                epsilon=self.epsilon,
                sensitivity=self.sensitivity,
                top_share=self.top_share,
                sizes=[leaf.total for leaf in release.value.leaves[span.start : span.stop]],
                parents=self.regions.count_siblings(path),
            )
        return Release(
            release.value[path],
            release.guarantee,
            mechanism,
            self.compute_total(noisy),
            noisy,
            provenance=release.provenance,
            for_tests=release.for_tests,
            presentation=release.presentation,
        )

    def expected_error(self, total: int | None = None, shape: Exact = 1) -> float:
        """Return the sorted L1 error to expect of all leaves together, in records.

        Leaves are tried on public profiles of equal size that follow Zipf's law.

        Parameters
        ----------
        total : public guess of the number of records of all regions together.
        shape : exponent s of the public profiles: the i-th count falls like 1 / i^s.
        """
        return self.expected_errors(total, shape)[-1]

    def quick_error(self, total: int) -> float:
        """Return about the `expected_error`."""
        return self.expected_error(total)

    def error_after_cut(self, noise: float, total: int, kept: int) -> float:
        """Return the error to expect of all leaves where a bound dropped some of the records.

        Parameters
        ----------
        noise : the error to expect of the records that are kept.
        total, kept : public numbers of records, before and after the bound.
        """
        return noise + (whole_number(total, "total", 0) - whole_number(kept, "kept", 0))

    def expected_errors(self, total: int | None = None, shape: Exact = 1) -> tuple[float, ...]:
        """Return the same for each level, the top first: all regions of it together.

        If there are more than 32 leaves, 32 are tried, and stand for all.
        """
        size, leaves = whole_number(total, "total", 0), len(self.regions.leaves)
        public = public_profile(size // leaves, shape)
        tried, source = min(leaves, _TRIED), repeatable_source()
        like = type(self)(
            epsilon=self.epsilon,
            regions=[str(leaf) for leaf in range(tried)],
            sensitivity=self.sensitivity,
            top_share=self.top_share,
        )
        found = like.try_on([public] * tried, source)
        errors = []
        for level in range(self.regions.depth):
            summed = 0.0
            for path in self.regions.level(level):
                held = self.regions.span(path)
                parts = [found[place % tried] for place in held]
                summed += _repeat(public, len(held)).distance(unite(parts))
            errors.append(summed)
        return tuple(errors)

    def try_on(self, public: Sequence[Profile], source: Any) -> Sequence[AnonymizedHistogram]:
        """Return leaves as released of public profiles, with repeatable noise."""
        pairs = [(each.counts, each.prevalences) for each in public]
        data = RegionalProfile(self.regions, pairs, self.sensitivity)
        leaves: Sequence[AnonymizedHistogram] = self.release(data, source).value.leaves
        return leaves

    def _find_scans(self, release: Release, region: Any) -> tuple[RegionPath, Scans]:
        """Return the path of a region, empty for all of them, and the scans of its leaves."""
        path = () if region is None else self.regions.find(region)
        span = self.regions.span(path)
        return path, self._split(release.noisy)[0][span.start : span.stop]

    def _split(self, noisy: Mapping[str, IntArray]) -> tuple[Scans, Mapping[str, IntArray] | None]:
        """Return the noisy numbers of each leaf, and those of all regions together, if any."""
        tops = [f"top_{name}" for name in PARTS] if self.top_share else []
        if {*noisy} != {*PARTS, *tops}:
            raise not_of_a_release()
        scans = split_scans(noisy, len(self.regions.leaves))
        top = {name: noisy[f"top_{name}"] for name in PARTS} if tops else None
        return scans, top


def _repeat(profile: Profile, times: int) -> Profile:
    """Return the union of equal profiles."""
    return Profile(*merge_pairs(profile.counts, profile.prevalences * times))
