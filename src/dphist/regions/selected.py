"""ScannedLeaves: how one region of a release was made, so that it is a release of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dphist.anonymized.adaptive_scan.mechanism import AdaptiveScan
from dphist.anonymized.band import ALL_LABELS, Band, holding
from dphist.anonymized.measuring import Drawn
from dphist.anonymized.mechanism import (
    EPSILON,
    SENSITIVITY,
    AnonymizedMechanism,
    check_cell_epsilon,
)
from dphist.arrays import IntArray
from dphist.data.diagram import Diagram
from dphist.data.profile import Profile
from dphist.errors import ParameterError
from dphist.mechanism import parameter
from dphist.noise import Source
from dphist.parameters import Exact, exact_number, whole_number
from dphist.regions.histograms import unite
from dphist.regions.measuring import ScannedLeavesMeasuring
from dphist.regions.pooling import pool_regions
from dphist.regions.scans import bound_leaves, split_scans
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.mechanisms import savable
from dphist.release.release import Release
from dphist.sentence import Sentence


@savable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class ScannedLeaves(ScannedLeavesMeasuring, AnonymizedMechanism):
    """The union of scans of leaves: of a region of `RegionalProfiles`, which makes these.

    Parameters
    ----------
    epsilon, sensitivity, top_share : as of `RegionalProfiles`.
    sizes : the released number of records of each leaf of the region.
    parents : the public number of leaves of each region right above leaves. Leaves are pooled with
        those of the same one.

    Guarantee
    ---------
    Pure epsilon-DP, as `RegionalProfiles`: what is released of all regions costs this once.
    """

    reference = "This library's own; see docs/guides/regions.md in its repository."

    epsilon: Fraction = parameter(**EPSILON)
    sensitivity: int = parameter(**SENSITIVITY)
    top_share: Fraction = parameter(
        "Share of epsilon that all regions together are measured with; leaves get the rest."
    )
    sizes: tuple[int, ...] = parameter("The released number of records of each leaf of the region.")
    parents: tuple[int, ...] = parameter("The number of leaves of each region right above leaves.")

    def __init__(
        self,
        *,
        epsilon: Exact,
        sizes: Sequence[int],
        parents: Sequence[int],
        sensitivity: int = 1,
        top_share: Exact = 0,
    ) -> None:
        self._hold_shared(epsilon, sensitivity)
        share = exact_number(top_share, "top_share")
        if not 0 <= share < 1:
            raise ParameterError("top_share", "must be at least 0 and below 1")
        if not isinstance(sizes, list | tuple) or not sizes:
            raise ParameterError("sizes", "must be a list of the sizes of one leaf or more")
        held = tuple(whole_number(size, "sizes", 0) for size in sizes)
        if not isinstance(parents, list | tuple):
            raise ParameterError("parents", "must be a list of numbers of leaves")
        own = tuple(whole_number(many, "parents", 1) for many in parents)
        if sum(own) != len(held):
            raise ParameterError("parents", "must add up to the number of leaves")
        self._hold(top_share=share, sizes=held, parents=own)
        for rate in self._rates:
            check_cell_epsilon(rate, 1)

    def _draw(self, profile: Profile, source: Source | None) -> Drawn:
        noisy = self._measure(profile, source)
        total = sum(noisy["columns"].tolist()) + sum(noisy["rows"].tolist())
        return Drawn(self.decode(noisy), max(total, 0), noisy)

    def decode(self, noisy: Mapping[str, IntArray]) -> AnonymizedHistogram:
        """Return the union of the leaves inferred from their noisy counts; post-processing."""
        scan, scans = AdaptiveScan(epsilon=self.cell_epsilon), split_scans(noisy, len(self.sizes))
        leaves = [scan.decode(each) for each in scans]
        return unite(pool_regions(leaves, scans, self.parents, float(self.cell_epsilon)))

    def draws_on(self, public: Diagram) -> int:
        """Return about how many draws of noise a release of such a profile takes."""
        scan = AdaptiveScan(epsilon=self.cell_epsilon)
        return scan.draws_on(public) * max(len(self.sizes), 1)

    def band(self, release: Release, level: float = 0.95) -> Band:
        """Return histograms that enclose the true one, all ranks and counts at once."""
        missed = self._compute_miss_chance(release, level)
        bounds = bound_leaves(
            split_scans(release.noisy, len(self.sizes)), self.cell_epsilon, 1 - missed
        )
        lower, upper = (unite(ends) for ends in zip(*bounds, strict=True))
        return Band(*holding(lower, upper, release.value), level, ALL_LABELS)

    def standard_error_of_total(self, release: Release) -> float:
        """Return the standard error of the total: the noise of all blocks together, in records."""
        return AdaptiveScan(epsilon=self.cell_epsilon).standard_error_of_total(release)

    @property
    def description(self) -> str:
        """How a release is made."""
        return Sentence(
            "The union of the {labels} of several regions, each by an adaptive scan (this library) "
            "with two-sided geometric noise on numbers of {records} in blocks of counts; small "
            "ones are moved towards the sums of their noisy numbers."
        )
