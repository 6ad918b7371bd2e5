"""GroupedHistogram: a histogram over ranges for each group, as one release."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from dphist.arrays import IntArray
from dphist.errors import Argument, ParameterError
from dphist.groups.grouping import count_cells, find_group, read_groups
from dphist.groups.histograms import HistogramsByGroup
from dphist.groups.measuring import GroupsMeasuring, name_numbers
from dphist.mechanism import Intervals, check_kind, parameter
from dphist.noise.law import NoiseLaw
from dphist.parameters import Exact, optional_whole, privacy_parameter, whole_number
from dphist.privacy import ApproxDP, Guarantee, Target
from dphist.privacy.losses import Losses
from dphist.ranges.mechanism import MOST_BINS
from dphist.release.mechanisms import savable
from dphist.release.range_histogram import RangeHistogram
from dphist.release.release import Release
from dphist.sentence import Sentence
from dphist.tables.discovery import read_delta
from dphist.tables.found import split_found
from dphist.tables.keys import Keys

Inner: TypeAlias = Literal["AdaptiveTree", "HierarchicalTree", "LeafCounts"]
_PROBLEM = "must hold what a release of this mechanism was inferred from"


@savable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class GroupedHistogram(GroupsMeasuring):
    """A histogram over the same bins for each group: quantiles of a group, as one release.

    Parameters
    ----------
    epsilon : number, optional
        Epsilon of pure DP of the whole release, by two-sided geometric noise. With `delta` a total:
        the release is (epsilon, delta)-DP by Gaussian noise.
    rho : number, optional
        In place of epsilon: rho of zCDP of the whole release, by Gaussian noise.
    delta : number, optional
        With epsilon, the other half of a total. With rho only where groups are found: the delta of
        finding them. Needed where groups are found.
    groups : mapping of one column to its values
        The groups, public: ``{"district": ["Bern", "Uri"]}``, or ``counts.groups`` of the counted
        data. With ``{"district": DiscoverKeys(share="0.2")}`` those that enough records have are
        found first, in the same release; all other records are in the group "other".
    bins : int
        Bins of each group; public.
    max_rows : int
        Rows of one privacy unit, at most, over all groups together (default: 1).
    inner : "AdaptiveTree", "HierarchicalTree" or "LeafCounts"
        The mechanism of ranges that is run in each group (default: "AdaptiveTree", for ranges from
        the first bin on).
    expected_total : int, optional
        A public guess of the number of records of a usual group, for "AdaptiveTree": see there.

    Guarantee
    ---------
    - Neighbors differ by adding or removing one unit with at most `max_rows` records, each in one
      bin of one group: `GroupedCounts.from_table(user=)` has bounded them, or the caller promises.
    - Pure epsilon-DP, or rho-zCDP: that of `inner` for one group with all of these records. Groups
      share no record, so all of them cost what one does.
    - Where groups are found: delta-approximate rho-zCDP, for finding and counting together.
    - Covered is the whole release, which groups were found included. Not covered are the time it
      takes, groups or edges that were taken from the data, and which rows bounding left out.

    Notes
    -----
    Every listed group is measured, empty ones too. Time and memory are O(groups times bins).
    Source: this library (docs/understand/proofs/groups.md).

    >>> mechanism = GroupedHistogram(epsilon=50, groups={"district": ["Bern", "Uri"]}, bins=4)
    >>> found = mechanism.release([[0, 80, 20, 0], [300, 0, 0, 100]]).value
    >>> found["Bern"].count(1, 2), found.median()["Bern"]
    (80, GroupEstimate(group='Bern', q=0.5, estimate=IntervalEstimate(1.625, 95 % interval 1 to 2)))
    """

    reference = "This library's own; see docs/understand/proofs/groups.md in its repository."

    epsilon: Fraction | None = parameter(
        "Privacy parameter of the whole release; smaller is more private.",
        "The guarantee was asked for in rho.",
        symbol="E",
    )
    rho: Fraction | None = parameter(
        "Privacy parameter of the whole release; smaller is more private.",
        "The guarantee was asked for in epsilon.",
        symbol="R",
    )
    delta: Fraction | None = parameter(
        "Total delta of the whole release.",
        "The guarantee has no delta.",
        symbol="D",
    )
    groups: Keys = parameter(
        "The column of the groups, and how many there are.",
        public=True,
        shown=lambda held: held.groups.sizes(),
    )
    bins: int = parameter("Bins of each group; public.")
    max_rows: int = parameter(
        Sentence("{Records} that one protected unit can add or remove in all groups, at most."),
        symbol="M",
    )
    inner: Inner = parameter("Mechanism of ranges that is run in each group.")
    expected_total: int | None = parameter(
        Sentence("Public guess of the number of {records} of a usual group."),
        not_given=Sentence("The budget is divided to suit any number of {records}."),
        public=True,
    )

    def __init__(
        self,
        *,
        epsilon: Exact | None = None,
        rho: Exact | None = None,
        delta: Exact | None = None,
        groups: Any,
        bins: int,
        max_rows: int = 1,
        inner: Inner = "AdaptiveTree",
        expected_total: int | None = None,
    ) -> None:
        held = read_groups(groups)
        finding = bool(held.discovering)
        if (rho is None) == (epsilon is None):
            raise ParameterError("epsilon", "must be given, or " + Argument("rho") + ", not both")
        if rho is not None and delta is not None and not finding:
            raise ParameterError(
                "delta", "must be given with " + Argument("epsilon") + ", whose other half it is"
            )
        if inner not in self._MADE:
            raise ParameterError("inner", f"must be one of {', '.join(self._MADE)}")
        self._hold(
            epsilon=None if epsilon is None else privacy_parameter(epsilon, "epsilon"),
            rho=None if rho is None else privacy_parameter(rho, "rho"),
            delta=read_delta(delta, "groups are found with a threshold", finding=finding),
            groups=held,
            bins=whole_number(bins, "bins", 1, MOST_BINS),
            max_rows=whole_number(max_rows, "max_rows", 1, 10**6),
            inner=inner,
            expected_total=optional_whole(expected_total, "expected_total", 0),
        )
        count_cells(held, self.bins)
        if expected_total is not None and inner != "AdaptiveTree":
            raise ParameterError(
                "expected_total", "must be left out with " + Argument("inner", inner)
            )
        if self.epsilon is not None and self.delta is not None:
            self._hold(target=Target(ApproxDP(self.epsilon, self.delta, self._unit)))
        _ = self.in_each_group, self.search  # what cannot be drawn is refused before any data

    @classmethod
    def needs_delta(cls, *, groups: Any, **_: Any) -> bool:
        """Return whether the mechanism has a delta of its own, beside that of a total."""
        return bool(read_groups(groups).discovering)

    @property
    def noise_scale(self) -> Fraction:
        """Scale of the noise on a count that the whole budget of a group pays for, in records."""
        return self.in_each_group.noise_scale

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise."""
        return self.in_each_group.law

    def privacy_losses(self) -> Losses:
        """Return the losses of a release: those of one group, as groups share no record."""
        if self.finding:
            return GroupsMeasuring.privacy_losses(self)
        return self.in_each_group.privacy_losses()

    def _losses_of_exchange(self, stated: Guarantee) -> Losses:
        if self.finding:
            return GroupsMeasuring._losses_of_exchange(self, stated)
        return self.in_each_group._losses_of_exchange(stated)

    def expected_error(self, total: int = 10_000, *, prefixes: bool = True) -> float:
        """Return the error to expect of a range in a group of `total` records, in records.

        Parameters
        ----------
        total : a public guess of the number of records of a group.
        prefixes : whether the ranges begin at the first bin, as quantiles ask.
        """
        return self.in_each_group.expected_error(total, prefixes=prefixes)

    def decode(self, noisy: Mapping[str, IntArray]) -> HistogramsByGroup:
        """Return the histograms inferred from noisy numbers; post-processing.

        Raises
        ------
        ParameterError
            If `noisy` does not hold what a release of this mechanism was inferred from.
        UnsupportedError
            If `inner` keeps no noisy numbers beside its bins.
        """
        own, parts = self._split(noisy)
        inner = own.in_each_group
        return HistogramsByGroup(own.groups, tuple(inner.decode(part) for part in parts))

    def restore(self, value: Any, noisy: Mapping[str, IntArray]) -> HistogramsByGroup:
        """Return histograms that were read from a file, with what answers ranges of them.

        Raises
        ------
        ValueError
            If they have other groups or bins than this mechanism.
        """
        check_kind(value, HistogramsByGroup)
        own, parts = self._split(noisy)
        if not own.groups.same_cells(value.groups):
            raise ValueError("the groups are not those of the mechanism")
        inner = own.in_each_group
        pairs = zip(value.histograms, parts, strict=True)
        found: HistogramsByGroup = replace(
            value, histograms=tuple(inner.restore(*pair) for pair in pairs)
        )
        return found

    def _split(
        self, noisy: Mapping[str, IntArray]
    ) -> "tuple[GroupedHistogram, list[dict[str, IntArray]]]":
        """Return the mechanism of known groups, and the noisy numbers of each."""
        problem = ParameterError("noisy", _PROBLEM)
        if self.finding:
            found, rest = split_found(noisy, self.groups, problem)
            return self.with_found(*found.values())._split(rest)
        parts: list[dict[str, IntArray]] = [{} for _ in range(find_group(self.groups).size)]
        for name, held in noisy.items():
            place, _, part = name.partition(" ")
            if not (place.isdecimal() and int(place) < len(parts) and part):
                raise problem
            if name != name_numbers(int(place), part):
                raise problem
            parts[int(place)][part] = held
        return self, parts

    def intervals(self, release: Release, level: float = 0.95) -> Intervals:
        """Return bounds on the true count of each bin of each group: see `RangesMechanism`.

        They are (groups, bins) arrays.
        """
        self._check_asked(release, level)
        inner = self.in_each_group
        bounds = [_compute_bounds(inner, each, level) for each in release.value.histograms]
        lower, upper = (np.stack([held[side] for held in bounds]) for side in (0, 1))
        return Intervals(lower, upper, level)

    @property
    def description(self) -> str:
        """How a release is made."""
        first = ""
        if self.finding:
            first = (
                "Groups are found first: those whose number of records, with Gaussian noise, is "
                "above a threshold; all other records are in the group other. "
            )
        return (
            f"{first}The same mechanism in every group, with the whole budget, as groups share no "
            f"record. {self.in_each_group.description}"
        )


def _compute_bounds(inner: Any, histogram: RangeHistogram, level: float) -> Sequence[Any]:
    width = inner._bin_width(histogram.answers, level)
    return histogram.counts - width, histogram.counts + width
