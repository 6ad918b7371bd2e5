"""A tree of noisy counts, made consistent (Hay et al. 2010, sec. 4: H~ and H-)."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from dphist.arrays import FloatArray, IntArray, NumberArray
from dphist.errors import Argument, ParameterError
from dphist.mechanism import parameter
from dphist.parameters import Exact, whole_number
from dphist.privacy import Guarantee
from dphist.privacy.losses import Losses
from dphist.ranges.budget import losses_of_exchange, losses_of_noise
from dphist.ranges.consistency import consistent, subtree_estimates, zero_subtrees
from dphist.ranges.hierarchical_tree.answers import NodeAnswers, TreeAnswers
from dphist.ranges.leaf_counts import BinAnswers
from dphist.ranges.measuring import HierarchicalTreeMeasuring, Noisy, name_of_level
from dphist.ranges.mechanism import BINS, EPSILON, RHO, SENSITIVITY, RangesMechanism
from dphist.ranges.nonnegative import nonnegative, whole_bins
from dphist.release.mechanisms import savable
from dphist.release.range_histogram import Answers, RangeHistogram

Nonnegative: TypeAlias = bool | Literal["subtrees"]


@savable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class HierarchicalTree(HierarchicalTreeMeasuring, RangesMechanism):
    """Noisy counts of all nodes of a tree over the bins; each range from few of them.

    Parameters
    ----------
    epsilon, rho : number above 0; exactly one is required.
        Epsilon of pure DP, by two-sided geometric noise; or rho of zCDP, by Gaussian noise.
    bins : int or tuple of int
        Bins of the axis, or of each axis; public. Any number: nothing is padded.
    branching : int or "auto"
        Children of a node along each axis; "auto" takes what should serve ranges best, by the
        number of bins and axes and the kind of noise.
    root : bool
        Whether the total of all bins is measured too. Without it the other levels get more.
    consistent : bool
        Whether all nodes are fitted by least squares, so that each is the sum of its children
        (H-). If not, a range is the sum of the fewest nodes that make it up (H~).
    nonnegative : bool or "subtrees"
        Whether estimates are made non-negative and whole: the children of each node, from the
        root down, are projected onto those that are not negative and add up to it. "subtrees":
        the paper's heuristic (sec. 4.2) instead, which sets to 0 what lies below a node of 0 or
        less, and answers from the fewest nodes. (Default: `consistent`.)
    sensitivity : int
        Records that one privacy unit (a person) can add or remove (default: 1).

    Guarantee
    ---------
    - Neighbors differ by adding or removing at most `sensitivity` records. No unit has more: you
      assert it, or `bin_counts(user=)` bounds users.
    - With `epsilon`: pure epsilon-DP. With `rho`: rho-zCDP.
    - Covered: the whole release, also the noisy counts of all nodes.
    - Not covered: the time it takes, and bins or edges that were taken from the data.

    Notes
    -----
    A record is counted once in each of `levels` levels, and each gets an equal share of epsilon
    or rho (`docs/understand/proofs/hierarchical_tree.md`). Time and memory O(bins).
    Source: Hay, Rastogi, Miklau, Suciu 2010, sec. 4; branching by Qardaji, Yang, Li 2013.

    >>> tree = HierarchicalTree(epsilon=50, bins=4, branching=2)
    >>> h = tree.release([2, 0, 10, 2]).value
    >>> h.count(0, 4), h.counts
    (14, array([ 2,  0, 10,  2]))
    """

    paper = "hay2010"
    reference = (
        "M. Hay, V. Rastogi, G. Miklau, D. Suciu. Boosting the Accuracy of Differentially "
        "Private Histograms Through Consistency. Proceedings of the VLDB Endowment 3(1), 2010. "
        "arXiv:0904.0942. Section 4."
    )

    epsilon: Fraction | None = parameter(**EPSILON)
    rho: Fraction | None = parameter(**RHO)
    bins: tuple[int, ...] = parameter(**BINS)
    branching: int = parameter("Children of a node of the tree, along each axis.")
    root: bool = parameter("Whether all records together are a noisy count of their own.")
    consistent: bool = parameter("Whether the counts of all nodes are fitted so that they add up.")
    nonnegative: Nonnegative = parameter("Whether estimates are made non-negative.")
    sensitivity: int = parameter(**SENSITIVITY)

    def __init__(
        self,
        *,
        epsilon: Exact | None = None,
        rho: Exact | None = None,
        bins: int | tuple[int, ...],
        branching: int | Literal["auto"] = "auto",
        root: bool = True,
        consistent: bool = True,
        nonnegative: Nonnegative | None = None,
        sensitivity: int = 1,
    ) -> None:
        self._hold_shared(epsilon, rho, bins, sensitivity)
        if branching == "auto":
            branching = best_branching(self.bins, gaussian=self.rho is not None)
        object.__setattr__(self, "branching", whole_number(branching, "branching", 2))
        object.__setattr__(self, "root", _truth(root, "root"))
        object.__setattr__(self, "consistent", _truth(consistent, "consistent"))
        if nonnegative is None:
            nonnegative = self.consistent
        if nonnegative != "subtrees":
            _truth(nonnegative, "nonnegative")
        if nonnegative and not self.consistent:
            raise ParameterError(
                "nonnegative", "must be False where " + Argument("consistent") + " is False"
            )
        object.__setattr__(self, "nonnegative", nonnegative)
        self.budget.check(self.share)

    @property
    def noise_scale(self) -> Fraction:
        """Scale of the noise on the count of each node, in records."""
        return self.budget.scale(self.share)

    def privacy_losses(self) -> Losses:
        """Return the losses of a release: those of the noise on all counts."""
        return losses_of_noise(self.guarantee, self.sensitivity, self.levels)

    def _losses_of_exchange(self, stated: Guarantee) -> Losses:
        return losses_of_exchange(self.guarantee, self.sensitivity, self.levels)

    def decode(self, noisy: Noisy) -> RangeHistogram:
        """Return the histogram inferred from the noisy counts; post-processing.

        Raises
        ------
        ParameterError
            If `noisy` does not hold the levels of a release of this mechanism.
        """
        bins = self._infer(noisy)
        return RangeHistogram(bins, answers=self.answers(bins, noisy))

    def _infer(self, noisy: Noisy) -> NumberArray:
        nodes = self._nodes(noisy)
        if not self.consistent:
            return nodes[-1]
        shape = self.shape
        if self.nonnegative is True:
            estimates = subtree_estimates(shape, nodes, self._weights)
            return whole_bins(shape, nonnegative(shape, *estimates)[-1])
        return self._fit(nodes)[-1]

    def _fit(self, nodes: list[IntArray]) -> list[FloatArray]:
        """Fit all nodes by least squares, and with the paper's heuristic set some to 0."""
        fitted = consistent(self.shape, nodes, self._weights)
        return zero_subtrees(self.shape, fitted) if self.nonnegative else fitted

    def answers(self, bins: NumberArray, noisy: Noisy) -> Answers:
        """Return sums of the bins, or of the fewest nodes where they are not consistent."""
        nodes = self._nodes(noisy)  # so that a file without them is refused when it is read
        variance = self.budget.variance(self.share)
        if not self.consistent:
            return NodeAnswers(self.shape, nodes, self.measured.start, variance)
        variances = partial(self._variances, variance)
        if not self.nonnegative:
            return TreeAnswers(self.shape, BinAnswers(bins, variance), variances)
        counted: BinAnswers | NodeAnswers = BinAnswers(bins, variance)
        if self.nonnegative == "subtrees":
            # Zeros among the bins make their sums too large by far: larger nodes are not.
            counted = NodeAnswers(self.shape, self._fit(nodes), 0, variance)
        fitted = partial(self._least_squares, nodes)
        least = self.budget.half_width()
        return TreeAnswers(self.shape, counted, variances, fitted, least)

    def _bin_width(self, answers: Answers, level: float) -> FloatArray | int:
        if self.consistent:
            return RangesMechanism._bin_width(self, answers, level)
        return self.budget.half_width(level, self.share)  # each bin is one noisy count

    def _least_squares(self, nodes: list[IntArray]) -> FloatArray:
        """Fit the bins before any was made non-negative."""
        return consistent(self.shape, nodes, self._weights)[-1]

    def _variances(self, variance: float) -> list[FloatArray]:
        """What a node's subtree says of it has these variances, in records squared."""
        nothing = [np.zeros(self.shape.grid(level)) for level in self.shape.levels]
        found = subtree_estimates(self.shape, nothing, self._weights).variances
        return [variance * level for level in found]

    @property
    def _weights(self) -> list[float]:
        return [float(level in self.measured) for level in self.shape.levels]

    def _nodes(self, noisy: Noisy) -> list[IntArray]:
        """Return the levels as grids, the root's first; zeros where one was not measured."""
        shape, measured = self.shape, self.measured
        if sorted(noisy) != sorted(name_of_level(level) for level in measured):
            raise ParameterError("noisy", "must hold the measured levels of a release")
        grids = [shape.grid(level) for level in shape.levels]
        flat = [noisy.get(name_of_level(level), np.zeros(1, np.int64)) for level in shape.levels]
        if any(part.size != np.prod(grid) for part, grid in zip(flat, grids, strict=True)):
            raise ParameterError(
                "noisy", "must hold every node of the measured levels of a release"
            )
        return [part.reshape(grid) for part, grid in zip(flat, grids, strict=True)]

    @property
    def description(self) -> str:
        """How a release is made."""
        how = {
            True: "least squares and a projection make them consistent and non-negative",
            False: "least squares makes them consistent",
            "subtrees": "least squares makes them consistent, and all under one of 0 or less is 0",
        }[self.nonnegative]
        used = how if self.consistent else "a range is the sum of the fewest counts that make it up"
        return (
            "Hierarchical tree (Hay, Rastogi, Miklau and Suciu 2010). The counts of "
            f"{self.levels} levels of a tree over the bins, {self.branching} children a node along "
            f"each axis, with {self.law.distribution} noise; {used}."
        )


def _truth(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise ParameterError(name, "must be True or False")
    return value


FEW = 2
MANY = 64  # with more siblings a tree is close to plain bins; limits the search


def best_branching(bins: tuple[int, ...], gaussian: bool) -> int:
    """Return the number of children along each axis with the smallest predicted error.

    Parameters
    ----------
    bins : bins of each axis.
    gaussian : whether noise is Gaussian: its variance grows with the number of levels, that of
        geometric noise with the square.

    Notes
    -----
    For one axis, the mean variance of all ranges under least squares, proportional to
    (b - 1) h**3 - 2 (b + 1) h**2 / 3 for h levels below the root (Qardaji, Yang, Li 2013); with
    Gaussian noise one factor h less. For more axes a box consists mostly of nodes along its
    surface, about (b - 1) side**(axes - 1) of a level with `side` nodes along an axis, and the
    predicted variance is that of their sum. Of branchings within 15 % the smallest is taken, since
    more levels help least squares and sparse data. Root and constants are omitted.

    >>> best_branching((4096,), gaussian=False), best_branching((4096,), gaussian=True)
    (16, 4)
    """
    most = max(FEW, min(MANY, max(bins)))
    foreseen = {b: _predict_seconds(bins, b, gaussian) for b in range(FEW, most + 1)}
    slack = 1.0 if len(bins) == 1 else 1.15
    return next(b for b, cost in foreseen.items() if cost <= slack * min(foreseen.values()))


def _predict_seconds(bins: tuple[int, ...], branching: int, gaussian: bool) -> float:
    height = 0
    while branching**height < max(bins):
        height += 1
    each = height if gaussian else height**2
    if len(bins) == 1:
        return each * ((branching - 1) * height - 2 * (branching + 1) / 3)
    sizes = sorted(bins)
    nodes = 0.0
    for level in range(1, height + 1):
        sides = [math.ceil(size / branching ** (height - level)) for size in sizes]
        whole = math.prod(sides)
        nodes += sum((branching - 1) * whole / side for side in sides if side > 1)
    return each * nodes
