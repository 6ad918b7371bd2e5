"""The adaptive tree: nodes are opened where noisy counts say that it is worth it."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from dphist.arrays import IntArray, NumberArray
from dphist.errors import ParameterError
from dphist.mechanism import parameter
from dphist.parameters import Exact, optional_whole
from dphist.ranges.adaptive_tree.answers import DyadicAnswers
from dphist.ranges.adaptive_tree.exploration import Rules, rules_for
from dphist.ranges.adaptive_tree.inference import Measured, infer, spread_evenly
from dphist.ranges.adaptive_tree.least_squares import Batch, DyadicCounts
from dphist.ranges.adaptive_tree.path_budget import UNITS
from dphist.ranges.measuring import AdaptiveTreeMeasuring, Noisy
from dphist.ranges.mechanism import (
    BINS,
    EPSILON,
    MOST_BINS,
    RHO,
    SENSITIVITY,
    RangesMechanism,
)
from dphist.ranges.nonnegative import whole_intervals
from dphist.release.mechanisms import savable
from dphist.release.range_histogram import RangeHistogram
from dphist.sentence import Sentence

Workload: TypeAlias = Literal["ranges", "prefix"]

# LEAST of the budget, divided among the rounds of one opening of at most 28 levels.
_SMALLEST_SHARE = Fraction(3, 100_000)


@savable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class AdaptiveTree(AdaptiveTreeMeasuring, RangesMechanism):
    """Counts of the nodes of a binary tree, opened where noisy counts say that it is worth it.

    Parameters
    ----------
    epsilon, rho : number above 0; exactly one is required.
        Epsilon of pure DP, by two-sided geometric noise; or rho of zCDP, by Gaussian noise.
    bins : int or tuple of int
        Bins of the axis, or of each axis; public.
    workload : "ranges" or "prefix"
        What is asked most: any ranges, or those from the first bin on (quantiles, a cumulative
        curve). In several axes it makes no difference, and with rho only if a total is expected.
    expected_total : int, optional
        A public guess of the number of records, never taken from the data. If it is small for the
        budget, the budget is divided to suit few records. The guarantee is the same for every
        guess; a wrong guess only costs accuracy (`docs/guides/ranges.md`).
    sensitivity : int
        Records that one privacy unit (a person) can add or remove (default: 1).

    Guarantee
    ---------
    - Neighbors differ by adding or removing at most `sensitivity` records. No unit has more: you
      assert it, or `bin_counts(user=)` bounds users.
    - With `epsilon`: pure epsilon-DP. With `rho`: rho-zCDP.
    - Covered: the whole release, also which nodes were counted.
    - Not covered: the time it takes, and bins or edges that were taken from the data.

    Notes
    -----
    One coarse level is counted with a share of the budget. Then each node with many records for
    the noise that it can still afford is opened by some levels, spending a part of what its path
    has left; others stop, and are counted once more with all they have left, together with
    siblings that stop too. Disjoint nodes do not compose, so what counts is the sum along each
    path, which a `PathBudget` refuses to exceed before anything is counted
    (`docs/understand/proofs/adaptive_tree.md`). Estimates follow from all noisy counts under a
    fixed public prior; they are non-negative and whole. Time and memory are O(bins) in one axis,
    and up to 2**axes times that in several, which are padded to powers of two.
    Source: this library (docs/guides/ranges.md).

    >>> tree = AdaptiveTree(epsilon=100, bins=4)
    >>> tree.release([2, 0, 10, 2]).value.count(0, 4)
    14
    """

    reference = "This library's own; see docs/guides/ranges.md in its repository."

    epsilon: Fraction | None = parameter(**EPSILON)
    rho: Fraction | None = parameter(**RHO)
    bins: tuple[int, ...] = parameter(**BINS)
    workload: Workload = parameter(
        "What is asked most: any ranges, or those from the first bin on."
    )
    expected_total: int | None = parameter(
        Sentence("Public guess of the number of {records}; the budget is divided to suit it."),
        not_given=Sentence("The budget is divided to suit any number of {records}."),
        public=True,
    )
    sensitivity: int = parameter(**SENSITIVITY)

    def __init__(
        self,
        *,
        epsilon: Exact | None = None,
        rho: Exact | None = None,
        bins: int | tuple[int, ...],
        workload: Workload = "ranges",
        expected_total: int | None = None,
        sensitivity: int = 1,
    ) -> None:
        self._hold_shared(epsilon, rho, bins, sensitivity)
        if workload not in ("ranges", "prefix"):
            raise ParameterError("workload", "must be 'ranges' or 'prefix'")
        self._hold(
            workload=workload,
            expected_total=optional_whole(expected_total, "expected_total", 0),
        )
        if 2**self.shape.height > MOST_BINS:
            raise ParameterError(
                "bins",
                f"must be at most {MOST_BINS} in all, each axis rounded up to a power of two",
            )
        self.budget.check(_SMALLEST_SHARE)

    @property
    def _rules(self) -> Rules:
        """Which nodes are counted; public."""
        return self._rules_for(self.expected_total)

    @property
    def follows_total(self) -> bool:
        """Whether `expected_total` divides the budget differently than no guess would; public."""
        return self._rules != self._rules_for(None)

    def _rules_for(self, total: int | None) -> Rules:
        strength = None
        if total is not None:
            strength = total * math.sqrt(2 / self.budget.variance(Fraction(1)))
        return rules_for(
            several_axes=len([size for size in self.bins if size > 1]) > 1,
            gaussian=self.rho is not None,
            prefixes=self.workload == "prefix",
            strength=strength,
        )

    def decode(self, noisy: Noisy) -> RangeHistogram:
        """Return the histogram inferred from the noisy counts; post-processing.

        Raises
        ------
        ParameterError
            If `noisy` does not hold the counts of a release of this mechanism.
        """
        bins = self._bins(self._read_measured(noisy))
        return RangeHistogram(bins, answers=self.answers(bins, noisy))

    def answers(self, bins: NumberArray, noisy: Noisy) -> DyadicAnswers:
        """Return sums of the bins, with bars that follow from the noisy counts and their noise."""
        self._batches(noisy)  # so that a file without them is refused when it is read
        least = self.budget.half_width()
        return DyadicAnswers(self.shape, bins, least, partial(self._read_counted, noisy))

    def _bins(self, measured: Measured) -> IntArray:
        """Infer all nodes, and round sums from the first bin on: every node stays within 1."""
        found = spread_evenly(infer(measured).counts[-1], measured.sizes)
        return self.shape.restore(whole_intervals(found))

    def _read_measured(self, noisy: Noisy) -> Measured:
        """Return what the noisy counts of a release measure."""
        measured = Measured(self.shape.sizes())
        for batch in self._batches_with_variances(noisy):
            measured.take(*batch)
        return measured

    def _read_counted(self, noisy: Noisy) -> DyadicCounts:
        """Return the noisy counts of a release by node, as error bars follow from them."""
        return DyadicCounts(self.shape.sizes(), self._batches_with_variances(noisy))

    def _batches_with_variances(self, noisy: Noisy) -> list[Batch]:
        return [
            (level, nodes, counts, self.budget.variance(Fraction(units, UNITS)))
            for level, nodes, units, counts in self._batches(noisy)
        ]

    def _batches(self, noisy: Noisy) -> list[tuple[int, IntArray, int, IntArray]]:
        """Return (level, nodes, units, counts) as they were taken: no node twice in a batch."""
        places, units, counts = (_column(noisy, name) for name in ("nodes", "units", "counts"))
        if not (
            len(places) == len(units) == len(counts) > 0
            and places.min() >= 1
            and places.max() < 2 ** (self.shape.height + 1)
            and units.min() >= 1
            and units.max() <= UNITS
        ):
            raise ParameterError("noisy", "must hold the counts of a release and what each cost")
        levels = np.frexp(places.astype(np.float64))[1] - 1
        ends = (np.diff(places) <= 0) | (np.diff(units) != 0) | (np.diff(levels) != 0)
        starts = [0, *(np.flatnonzero(ends) + 1).tolist()]
        batches = []
        for start, stop in zip(starts, [*starts[1:], len(places)], strict=True):
            level, part = int(levels[start]), slice(start, stop)
            batches.append((level, places[part] - 2**level, int(units[start]), counts[part]))
        return batches

    @property
    def description(self) -> str:
        """How a release is made."""
        return (
            "Adaptive tree (this library). Counts of nodes of a binary tree over the bins, with "
            f"{self.law.distribution} noise; a node is opened where the noisy counts before say "
            "that it is worth it, and what is counted along a bin's path costs the guarantee in "
            "all. Estimates are non-negative and whole."
        )


def _column(noisy: Noisy, name: str) -> IntArray:
    column: IntArray = np.asarray(noisy.get(name, ()), np.int64)
    return column
