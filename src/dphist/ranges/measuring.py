"""The measuring halves of mechanisms: they see counts of bins, pay, and draw noise."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias, final

import numpy as np

from dphist.arrays import IntArray, NumberArray
from dphist.errors import Argument, BoundsError
from dphist.mechanism import MechanismBase, provenance_of_unit
from dphist.noise import Source
from dphist.privacy import ZCDP, Guarantee, PrivacyUnit, PureDP
from dphist.privacy.conversion import geometric_to_rho
from dphist.privacy.exchanged import exchange_by_steps, exchange_of_growing
from dphist.ranges.adaptive_tree.dyadic import DyadicShape
from dphist.ranges.adaptive_tree.exploration import Explorer, Rules
from dphist.ranges.adaptive_tree.inference import Measured
from dphist.ranges.adaptive_tree.path_budget import UNITS, PathBudget
from dphist.ranges.budget import Budget, check_guarantee, find_budget
from dphist.ranges.counts import Counts, load_counts
from dphist.ranges.shape import TreeShape
from dphist.release.range_histogram import Answers, RangeHistogram
from dphist.release.release import Release

Noisy: TypeAlias = Mapping[str, IntArray]


class RangesMeasuring(MechanismBase):
    """What every measuring half shares: the guarantee, its budget, and which data are accepted."""

    __slots__ = ()

    epsilon: Fraction | None
    rho: Fraction | None
    bins: tuple[int, ...]
    sensitivity: int
    _only_grows: ClassVar[bool] = False
    """Whether all noise is on numbers that do not fall if a unit is added."""

    @property
    def _unit(self) -> PrivacyUnit:
        """What is protected: at most `sensitivity` records."""
        return PrivacyUnit("record", self.sensitivity)

    @property
    def guarantee(self) -> PureDP | ZCDP:
        """What a release costs a unit that adds or removes at most `sensitivity` records."""
        stated = self._stated
        return stated if isinstance(stated, ZCDP) else replace(stated, rho=self._rho_of_noise)

    @property
    def exchanged(self) -> Guarantee | None:
        """What a release costs an exchange: counts of bins and nodes only grow with a unit."""
        return (exchange_of_growing if self._only_grows else exchange_by_steps)(self.guarantee)

    @property
    def _stated(self) -> PureDP | ZCDP:
        """The guarantee by the parameters alone."""
        return check_guarantee(self.epsilon, self.rho, self._unit)

    @property
    def _rho_of_noise(self) -> Fraction | None:
        """The rho of geometric noise on all counts; None if it is not known."""
        return None

    def _compute_rho(self, share: Fraction) -> Fraction:
        """Return the rho of counts with noise at a share of epsilon, for the records of a unit."""
        assert self.epsilon is not None  # noqa: S101 - asked of geometric noise alone
        return geometric_to_rho(self.epsilon * share, self.sensitivity)

    @property
    def outside_share(self) -> Fraction:
        """The share of the cost that pays for the numbers of records in no bin.

        Such records pay nothing for the bins. The whole epsilon may cost a larger rho than the
        bins do: then it is the largest that does not, in whole `UNITS`.
        """
        stated = self.guarantee
        if isinstance(stated, ZCDP) or stated.rho is None:
            return Fraction(1)
        low, high = 1, UNITS + 1  # a millionth of epsilon always fits
        while high - low > 1:
            middle = (low + high) // 2
            fits = self._compute_rho(Fraction(middle, UNITS)) <= stated.rho
            low, high = (middle, high) if fits else (low, middle)
        return Fraction(low, UNITS)

    @property
    def budget(self) -> Budget:
        """What a single record may cost."""
        return find_budget(self._stated, self.sensitivity)

    @final
    def release(self, counts: Any, source: Source | None = None) -> Release:
        """Release the histogram: the only place that sees data and draws noise.

        Parameters
        ----------
        counts : BinnedCounts, or (bins,) or (a, b, ...) whole numbers, or an iterator of these
            Records in each bin. An iterator gives chunks of consecutive bins, along the first
            axis where there are several.
        source : callable, optional
            `source(n)` returns n random bytes. For tests only: the release says so.

        Returns
        -------
        Release
            Its `value` is a RangeHistogram, `total` its answer for all bins, `noisy` what they
            were inferred from.

        Raises
        ------
        ParameterError
            If `counts` holds anything but whole numbers, or has another shape than `bins`.
        DataError
            If a count is negative, missing, or 2**62 or more, or chunks do not add up to the bins.
        BoundsError
            If the counts were made with a larger `sensitivity` than this mechanism protects.

        Notes
        -----
        A count above 2**62 / (number of bins) is treated as that.
        """
        data = load_counts(counts, self.bins)
        self._accept(data)
        bins, noisy = self._run(data.counts, source)
        for found in noisy.values():
            found.flags.writeable = False
        # What lies in no bin lies in one of these: such records pay nothing for the bins.
        noise = self.budget.noise(self.outside_share, len(data.outside), source).tolist()
        pairs = zip(data.outside.items(), noise, strict=True)
        outside = {name: max(count + drawn, 0) for (name, count), drawn in pairs}
        value = RangeHistogram(bins, data.axes or (), outside, self.answers(bins, noisy))
        total = max(round(value.count_bins((0,) * bins.ndim, bins.shape)), 0)
        return self._make_release(
            value, counts, source, total=total, noisy=noisy, provenance=provenance_of_unit(data)
        )

    def _accept(self, data: Counts) -> None:
        """Refuse data whose stated bound this mechanism does not protect; both are public."""
        if data.sensitivity > self.sensitivity:
            raise BoundsError(
                f"the counts were made with sensitivity {data.sensitivity}, more than the "
                f"mechanism's {self.sensitivity}; give the mechanism "
                + Argument("sensitivity", data.sensitivity)
            )

    @abstractmethod
    def _run(self, counts: IntArray, source: Source | None) -> tuple[NumberArray, Noisy]:
        """Return the released bins, and the noisy counts they were inferred from, if kept."""

    @abstractmethod
    def answers(self, bins: NumberArray, noisy: Noisy) -> Answers:
        """Return what answers ranges of a release with these bins and noisy counts."""


class LeafCountsMeasuring(RangesMeasuring):
    """What sees the data: `docs/understand/proofs/hierarchical_tree.md`."""

    __slots__ = ()

    _only_grows = True

    @property
    def _rho_of_noise(self) -> Fraction:
        return self._compute_rho(Fraction(1))

    def _run(self, counts: IntArray, source: Source | None) -> tuple[NumberArray, Noisy]:
        return counts + self.budget.noise(Fraction(1), counts.shape, source), {}


class HierarchicalTreeMeasuring(RangesMeasuring):
    """What sees the data: `docs/understand/proofs/hierarchical_tree.md`."""

    __slots__ = ()

    _only_grows = True

    branching: int
    root: bool

    @abstractmethod
    def _infer(self, noisy: Noisy) -> NumberArray:
        """Return the bins inferred from noisy counts."""

    @property
    def shape(self) -> TreeShape:
        """The tree over the bins."""
        return TreeShape(self.bins, self.branching)

    @property
    def measured(self) -> range:
        """The levels that are measured; the root is level 0, the bins are the last."""
        height = self.shape.height
        return range(0 if self.root or height == 0 else 1, height + 1)

    @property
    def levels(self) -> int:
        """How many levels are measured: by so much a record changes all measured counts."""
        return len(self.measured)

    @property
    def share(self) -> Fraction:
        """The share of epsilon or rho that each measured level gets."""
        return Fraction(1, self.levels)

    @property
    def _rho_of_noise(self) -> Fraction:
        return self.levels * self._compute_rho(self.share)

    @property
    def outside_share(self) -> Fraction:
        """The share of a level, so that no way to add up noise finds such records worse off."""
        return Fraction(1) if self.epsilon is None else self.share

    def _run(self, counts: IntArray, source: Source | None) -> tuple[NumberArray, Noisy]:
        noisy = self._collect_measured(counts, source)
        return self._infer(noisy), noisy

    def measure(self, counts: Any, source: Source | None = None) -> dict[str, IntArray]:
        """Return the noisy counts of each measured level, flat.

        They satisfy the guarantee themselves; releasing them and `release` pays twice.

        Parameters
        ----------
        counts, source
            As for `release`; so are the errors.
        """
        data = load_counts(counts, self.bins)
        self._accept(data)
        return self._collect_measured(data.counts, source)

    def _collect_measured(self, counts: IntArray, source: Source | None) -> dict[str, IntArray]:
        budget = self.budget
        exact = self.shape.sums(counts)
        noisy = {}
        for level in self.measured:
            noise = budget.noise(self.share, exact[level].size, source)
            noisy[name_of_level(level)] = noise + exact[level].ravel()
        return noisy


def name_of_level(level: int) -> str:
    return f"level {level}"


class AdaptiveTreeMeasuring(RangesMeasuring):
    """What sees the data: `docs/understand/proofs/adaptive_tree.md`."""

    __slots__ = ()

    _only_grows = True

    @property
    @abstractmethod
    def _rules(self) -> Rules:
        """Which nodes are counted; public."""

    @abstractmethod
    def _bins(self, measured: Measured) -> IntArray:
        """Return the bins inferred from noisy counts."""

    @property
    def shape(self) -> DyadicShape:
        """The binary tree over the bins."""
        return DyadicShape(self.bins)

    @property
    def _first_units(self) -> int:
        """What the counts of the first level cost, which every path pays; public."""
        return self._rules.units_of_first(self.shape.height)

    @property
    def _rho_of_noise(self) -> Fraction:
        first = Fraction(self._first_units, UNITS)
        return self._compute_rho(first) + (self._compute_rho(1 - first) if first < 1 else 0)

    def _run(self, counts: IntArray, source: Source | None) -> tuple[NumberArray, Noisy]:
        shape, budget = self.shape, self.budget
        below = np.append(0, np.cumsum(shape.arrange(counts)))
        paths = PathBudget(shape.height, self._first_units)
        log: list[tuple[IntArray, int, IntArray]] = []

        def count(level: int, nodes: IntArray, units: int) -> IntArray:
            """The only access to the data: pays first."""
            paths.charge(level, nodes, units)
            side = 2 ** (shape.height - level)
            true = below[(nodes + 1) * side] - below[nodes * side]
            noisy: IntArray = true + budget.noise(Fraction(units, UNITS), len(nodes), source)
            log.append((nodes + 2**level, units, noisy))
            return noisy

        measured = Measured(shape.sizes())
        Explorer(measured, self._rules, budget, count).run()
        noisy = {
            "nodes": np.concatenate([nodes for nodes, _, _ in log]),
            "units": np.concatenate([np.full(len(nodes), units) for nodes, units, _ in log]),
            "counts": np.concatenate([found for _, _, found in log]),
        }
        return self._bins(measured), noisy
