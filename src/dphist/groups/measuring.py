"""The measuring half of groups: it sees counts, pays, and draws noise.

Proofs: `docs/understand/proofs/groups.md`.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self, final

from dphist.arrays import IntArray
from dphist.data.guard import refuse_guarded
from dphist.errors import ParameterError
from dphist.groups.grouped_counts import GroupedCounts, accept_counts
from dphist.groups.grouping import find_group
from dphist.groups.histograms import HistogramsByGroup
from dphist.mechanism import MechanismBase, provenance_of_unit
from dphist.noise import Source
from dphist.privacy import ZCDP, ApproxZCDP, Guarantee, PrivacyUnit, least_epsilon
from dphist.privacy.epsilon_search import find_largest_rho
from dphist.privacy.exchanged import exchange_by_steps
from dphist.ranges.adaptive_tree.mechanism import AdaptiveTree
from dphist.ranges.hierarchical_tree.mechanism import HierarchicalTree
from dphist.ranges.leaf_counts import LeafCounts
from dphist.ranges.mechanism import RangesMechanism
from dphist.release.range_histogram import RangeHistogram
from dphist.release.release import Release
from dphist.release.tabular import refuse_released
from dphist.tables.accepting import too_many_rows
from dphist.tables.discovery import LabelSearch, make_search
from dphist.tables.found import write_found
from dphist.tables.keys import Keys
from dphist.tables.row_bounds import state_bounds


class GroupsMeasuring(MechanismBase):
    """What sees the data: the same mechanism of ranges in each group."""

    __slots__ = ()

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction | None
    groups: Keys
    bins: int
    max_rows: int
    inner: str
    expected_total: int | None

    _MADE: ClassVar[Mapping[str, type[RangesMechanism]]] = {
        "AdaptiveTree": AdaptiveTree,
        "HierarchicalTree": HierarchicalTree,
        "LeafCounts": LeafCounts,
    }

    @property
    def guarantee(self) -> Guarantee:
        """What a release costs a unit that adds or removes at most `max_rows` records.

        The histograms of all groups together cost what that of one group does: a record is in one
        of them, and so a unit with several costs at most what it would with all in one group.
        """
        if not self.finding:
            return self.in_each_group.guarantee
        return ApproxZCDP(self.rho_of_all, self.delta_of_finding, self._unit)

    @property
    def exchanged(self) -> Guarantee | None:
        """What a release costs a unit that is exchanged for another.

        That of the mechanism of a group: counts of all groups only grow with a unit. Where groups
        are found it is two steps.
        """
        if self.finding:
            return exchange_by_steps(self.guarantee)
        return self.in_each_group.exchanged

    @property
    def _unit(self) -> PrivacyUnit:
        return PrivacyUnit("record", self.max_rows)

    @property
    def finding(self) -> bool:
        """Whether groups are found first."""
        return bool(self.groups.discovering)

    @property
    def rho_of_all(self) -> Fraction:
        """The rho of a whole release with Gaussian noise."""
        if self.rho is not None:
            return self.rho
        assert self.epsilon is not None and self.delta is not None  # noqa: S101, PT018
        return find_rho_of_total(self.epsilon, self.delta, self.delta_of_finding)

    @property
    def delta_of_finding(self) -> Fraction:
        """The delta with which groups are found: all of it with rho, half of that of a total."""
        if not self.finding or self.delta is None:
            return Fraction(0)
        return self.delta if self.epsilon is None else self.delta / 2

    @property
    def rho_of_finding(self) -> Fraction:
        """The rho with which groups are found; 0 where all are listed."""
        found = find_group(self.groups).discover
        return Fraction(0) if found is None else self.rho_of_all * found.share

    @property
    def search(self) -> LabelSearch | None:
        """How groups are found; None if all are listed."""
        found = find_group(self.groups).discover
        if found is None:
            return None
        return make_search(
            self.rho_of_finding, self.delta_of_finding, self.max_rows, found.max_found
        )

    @property
    def in_each_group(self) -> RangesMechanism:
        """The mechanism of each group: it gets all that finding the groups left."""
        given: dict[str, Any] = {"bins": self.bins, "sensitivity": self.max_rows}
        if self.epsilon is not None and self.delta is None:
            given["epsilon"] = self.epsilon
        else:
            given["rho"] = self.rho_of_all - self.rho_of_finding
        if self.inner == "AdaptiveTree":
            given |= {"workload": "prefix", "expected_total": self.expected_total}
        return self._MADE[self.inner](**given)

    def with_found(self, found: Sequence[str]) -> Self:
        """Return the mechanism once the groups are known: it pays what finding them left."""
        name = find_group(self.groups).name
        return type(self)(
            rho=self.rho_of_all - self.rho_of_finding,
            groups=self.groups.with_found({name: tuple(found)}),
            bins=self.bins,
            max_rows=self.max_rows,
            inner=self.inner,
            expected_total=self.expected_total,
        )

    @final
    def release(self, counts: Any, source: Source | None = None) -> Release:
        """Release the histograms: the only place that sees data and draws noise.

        Parameters
        ----------
        counts : GroupedCounts, or (groups, bins) whole numbers
            For plain numbers, you assert the mechanism's bound.
        source : callable, optional
            `source(n)` returns n random bytes. For tests only: the release says so.

        Returns
        -------
        Release
            Its `value` is HistogramsByGroup, `total` the estimated number of all records, `noisy`
            what each group's histogram was inferred from, and the groups found as numbers.

        Raises
        ------
        ParameterError
            If `counts` is no such data, or has other groups or bins than the mechanism.
        BoundsError
            If the counts were made with more `max_rows` than this mechanism protects.
        """
        refuse_guarded(counts)
        refuse_released(counts, "counts")
        data = accept_counts(counts, self.groups)
        self.accept(data)
        value, noisy = self._measure(data, source)
        for held in noisy.values():
            held.flags.writeable = False
        return self._make_release(
            value if data.axis is None else value.with_axis(data.axis),
            counts,
            source,
            total=estimate_total(value),
            noisy=noisy,
            provenance=provenance_of_unit(data) | state_bounds(data.cells.unlisted, None),
        )

    def accept(self, data: GroupedCounts) -> None:
        """Refuse data with other groups or bins, or a bound that is not protected; all public."""
        if not self.groups.same_cells(data.groups):
            raise ParameterError(
                "groups",
                "must be those that the data were counted by, in the same order",
                "give the mechanism groups=counts.groups",
            )
        if data.bins != self.bins:
            raise ParameterError(
                "bins", "must be the number of bins of the data", "give it bins=counts.bins"
            )
        if data.max_rows > self.max_rows:
            raise too_many_rows(data.max_rows, self.max_rows)

    def _measure(
        self, data: GroupedCounts, source: Source | None
    ) -> tuple[HistogramsByGroup, dict[str, IntArray]]:
        """Return the histogram of every group, and the noisy numbers they were inferred from."""
        search = self.search
        if search is not None:
            return self._find_and_measure(search, data, source)
        inner = self.in_each_group
        histograms: list[RangeHistogram] = []
        noisy: dict[str, IntArray] = {}
        # Every group that the parameters name, whether it has records or not.
        for place, exact in enumerate(data.counts_by_group()):
            made = inner.release(exact, source)
            histograms.append(made.value)
            noisy |= {name_numbers(place, each): held for each, held in made.noisy.items()}
        return HistogramsByGroup(self.groups, tuple(histograms)), noisy

    def _find_and_measure(
        self, search: LabelSearch, data: GroupedCounts, source: Source | None
    ) -> tuple[HistogramsByGroup, dict[str, IntArray]]:
        """Return the same for the groups that are found first, and for "other"."""
        if not search.costs_at_most(self.rho_of_finding, self.max_rows):
            raise RuntimeError("finding groups costs more than the release states")
        found = {find_group(self.groups).name: search.find(*data.rows_by_label(), source)}
        own = self.with_found(*found.values())
        value, noisy = own._measure(data.with_found(found), source)
        return value, write_found(found) | noisy


def name_numbers(place: int, part: str) -> str:
    """Return the name of noisy numbers of a group in a release.

    >>> name_numbers(3, "counts")
    '3 counts'
    """
    return f"{place} {part}"


def estimate_total(value: HistogramsByGroup) -> int:
    """Return the estimated number of all records, at least 0; post-processing."""
    return round(float(value.total().value))


@lru_cache(maxsize=256)
def find_rho_of_total(epsilon: Fraction, delta: Fraction, of_finding: Fraction) -> Fraction:
    """Return the largest rho of 9 digits that costs (epsilon, delta) with the delta of finding.

    What is returned was priced: `least_epsilon` of it, or of one a little larger, is at most
    epsilon.

    Raises
    ------
    ParameterError
        If there is none.
    """

    def fits(rho: Fraction) -> bool:
        guarantee = ApproxZCDP(rho, of_finding) if of_finding else ZCDP(rho)
        cost = least_epsilon([guarantee], delta, 1)
        return cost is not None and cost <= epsilon

    return find_largest_rho(fits, epsilon)
