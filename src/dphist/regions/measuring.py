"""The measuring halves of histograms by region: they see data, and draw noise."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, final

import numpy as np

from dphist.anonymized.adaptive_scan.mechanism import AdaptiveScan
from dphist.anonymized.cells import CellMeasuring
from dphist.anonymized.measuring import AnonymizedMeasuring, draw_noise, scan_profile
from dphist.arrays import IntArray
from dphist.data.diagram import merge_pairs
from dphist.data.guard import refuse_guarded
from dphist.data.profile import Profile
from dphist.data.region_tree import RegionTree
from dphist.data.regional_profile import RegionalProfile, state_bounds
from dphist.errors import Argument, BoundsError, ParameterError
from dphist.mechanism import provenance_of_unit
from dphist.noise import Source
from dphist.noise.inversion import check_source
from dphist.release.release import Release
from dphist.release.tabular import refuse_released

PARTS = ("column_ends", "columns", "row_ends", "rows")
"""The noisy numbers of a scan, and where its blocks end."""
_TURNS = 2**16  # ranks after which the same leaves come again


class RegionalMeasuring(CellMeasuring):
    """What sees the data: `docs/understand/proofs/regional_profiles.md`."""

    __slots__ = ()

    regions: RegionTree
    top_share: Fraction

    @property
    def cell_epsilon(self) -> Fraction:
        """Parameter of the noise in every leaf: leaves are disjoint, so none is divided by them."""
        return self.epsilon * (1 - self.top_share) / self.sensitivity

    @property
    def top_epsilon(self) -> Fraction:
        """Parameter of the noise of all regions together; 0 if they are not measured."""
        return self.epsilon * self.top_share / self.sensitivity

    @property
    def _rates(self) -> tuple[Fraction, ...]:
        return (self.cell_epsilon, self.top_epsilon) if self.top_share else (self.cell_epsilon,)

    @property
    def leaf_scan(self) -> AdaptiveScan:
        """The mechanism of each leaf."""
        return AdaptiveScan(epsilon=self.cell_epsilon)

    @property
    def top_scan(self) -> AdaptiveScan:
        """The mechanism of all regions together, if they are measured."""
        return AdaptiveScan(epsilon=self.top_epsilon)

    @final
    def release(self, profile: RegionalProfile, source: Source | None = None) -> Release:
        """Release the profile of each region: the only place that sees data and draws noise.

        Parameters
        ----------
        profile : the data, of the regions of this mechanism.
        source : callable, optional
            `source(n)` returns n random bytes. For tests only: the release says so.

        Returns
        -------
        Release
            Of RegionalHistograms, with `total` and `noisy`.

        Raises
        ------
        BoundsError
            If the profile was made with a larger `sensitivity` than this mechanism protects.
        ParameterError
            If its regions differ from the mechanism's.
        """
        self._accept(profile)
        noisy = self._measure(profile, source)
        total = sum(sum(noisy[name].tolist()) for name in ("columns", "rows"))
        return self._make_release(
            self.decode(noisy),
            profile,
            source,
            total=max(total, 0),
            noisy=noisy,
            provenance={
                **provenance_of_unit(profile),
                **state_bounds(profile.unlisted, profile.other),
            },
        )

    def _measure(self, profile: RegionalProfile, source: Source | None) -> dict[str, IntArray]:
        """Return where blocks end, and their noisy numbers of cells, one leaf after the other.

        The ends of each leaf begin with 0.
        """
        found: dict[str, IntArray] = {}
        if self.top_share:
            top, united = self.top_scan, _unite(profile.leaves)
            held = scan_profile(
                top, united, draw_noise(top, source, at_once=1)
            )  # none is left over
            found |= {f"top_{name}": held[name] for name in PARTS}
        scan = self.leaf_scan
        noise = draw_noise(scan, source)  # one after the other: no two blocks get the same
        scans = [scan_profile(scan, leaf, noise) for leaf in profile.leaves]
        return found | {name: np.concatenate([each[name] for each in scans]) for name in PARTS}

    def _accept(self, profile: Any) -> None:
        """Refuse data of other regions, or with a larger bound; both are public."""
        refuse_guarded(profile)
        refuse_released(profile, "profile")
        if not isinstance(profile, RegionalProfile):
            raise ParameterError(
                "profile", "must be a dphist.RegionalProfile; see RegionalProfile.from_table"
            )
        if profile.regions != self.regions:
            raise ParameterError(
                "profile",
                "must have the regions of the mechanism, in the same order",
                "give both the same tree",
            )
        if profile.sensitivity > self.sensitivity:
            raise BoundsError(
                f"the profile was made with sensitivity {profile.sensitivity}, more than the "
                f"mechanism's {self.sensitivity}; give the mechanism "
                + Argument("sensitivity", profile.sensitivity)
            )


def _unite(leaves: Sequence[Profile]) -> Profile:
    """Return the profile of the labels of all leaves; one in two leaves is two."""
    counts, prevalences = (
        np.concatenate([getattr(leaf, name) for leaf in leaves])
        for name in ("counts", "prevalences")
    )
    return Profile(*merge_pairs(counts, prevalences))


class ScannedLeavesMeasuring(AnonymizedMeasuring):
    """What sees the data: labels are dealt to leaves by rank, and each leaf is scanned.

    Which leaf a rank lies in is drawn without the data. A cell more is one more in one rank, so
    that a release costs what that of a `RegionalProfile` does.
    """

    __slots__ = ()

    top_share: Fraction
    sizes: tuple[int, ...]

    @property
    def cell_epsilon(self) -> Fraction:
        """Parameter of the noise in every leaf."""
        return self.epsilon * (1 - self.top_share) / self.sensitivity

    @property
    def _rates(self) -> tuple[Fraction, ...]:
        top = self.epsilon * self.top_share / self.sensitivity
        return (self.cell_epsilon, top) if top else (self.cell_epsilon,)

    def _measure(self, profile: Profile, source: Source | None) -> dict[str, IntArray]:
        """Return where blocks end, and their noisy numbers of cells, one leaf after the other."""
        scan = AdaptiveScan(epsilon=self.cell_epsilon)
        noise = draw_noise(scan, source)
        scans = [scan_profile(scan, leaf, noise) for leaf in self._deal(profile, source)]
        return {name: np.concatenate([each[name] for each in scans]) for name in PARTS}

    def _deal(self, profile: Profile, source: Source | None) -> Iterator[Profile]:
        """Yield the profile of each leaf: of the ranks that it gets, the largest count first.

        A rank is in each leaf with a chance in proportion to its size. The draw sees no data, so
        that its floating point decides no guarantee.
        """
        shares = np.maximum(np.array(self.sizes, np.float64), 1)
        seed = check_source(source)(16)
        random = np.random.default_rng(int.from_bytes(seed, "big"))
        turns = random.choice(len(shares), _TURNS, p=shares / shares.sum())
        places = np.argsort(turns, kind="stable")  # those of a leaf stand together, ascending
        ends = np.cumsum(np.bincount(turns, minlength=len(shares)))
        rounds, rest = np.divmod(np.cumsum(profile.prevalences[::-1]), _TURNS)
        for own in np.split(places, ends[:-1]):
            held = rounds * len(own) + np.searchsorted(own, rest)  # of the ranks so far
            yield Profile(*merge_pairs(profile.counts, np.diff(held, prepend=0)[::-1]))
