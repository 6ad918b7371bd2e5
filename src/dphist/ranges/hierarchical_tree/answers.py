"""Answers of a tree of noisy counts, with standard errors.

Where nodes do not add up, a range is answered by the minimum number of nodes that form it (Hay et
al. 2010, sec. 4). Answers of a consistent tree have errors computed from the tree.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dphist.arrays import FloatArray, IntArray, NumberArray
from dphist.ranges.bars import Part, bars, farther, prefix
from dphist.ranges.consistency import spread
from dphist.ranges.leaf_counts import BinAnswers
from dphist.ranges.shape import TreeShape
from dphist.release.range_histogram import Answers
from dphist.release.range_histogram.answers import ERRORS, band
from dphist.release.range_histogram.boxes import box_sums, sum_boxes


@dataclass(frozen=True)
class NodeAnswers(Answers):
    """Sums of noisy nodes, each with independent noise of one variance.

    Attributes
    ----------
    shape : TreeShape
    nodes : one array for each level, the root's first; `grid(level)` int64 or float64
    coarsest : the first level that is measured.
    variance : variance of each node's noise, records squared.
    """

    shape: TreeShape
    nodes: Sequence[NumberArray]
    coarsest: int
    variance: float

    @property
    def bins(self) -> NumberArray:
        """Answers of single bins, in the shape of the bins."""
        return self.nodes[-1]

    @cached_property
    def _sums(self) -> list[NumberArray]:
        return [sum_boxes(level) for level in self.nodes]

    def count(self, lo: list[IntArray], hi: list[IntArray]) -> NumberArray:
        """Return the sums of the minimum number of nodes of each box."""
        total: NumberArray = np.zeros(lo[0].shape, self.nodes[-1].dtype)
        for level, sign, low, high, chosen in self._boxes(lo, hi):
            found = box_sums(self._sums[level], low, high)
            total[chosen] = total[chosen] + found if sign > 0 else total[chosen] - found
        return total

    def error(self, lo: list[IntArray], hi: list[IntArray]) -> FloatArray:
        """Return the standard errors: sqrt(number of nodes) times that of one."""
        number = np.zeros(lo[0].shape, np.int64)
        for _, sign, low, high, chosen in self._boxes(lo, hi):
            number[chosen] += sign * _volume(low, high)
        return math.sqrt(self.variance) * np.sqrt(number)

    def bin_errors(self) -> FloatArray:
        """Return the standard error of each bin, in the shape of the bins."""
        return np.full(self.shape.bins, math.sqrt(self.variance))

    def _boxes(
        self, lo: list[IntArray], hi: list[IntArray]
    ) -> Iterator[tuple[int, int, list[IntArray], list[IntArray], IntArray]]:
        """Decompose boxes level by level: nodes inside a box, except those inside larger ones.

        Yields (level, sign, lo, hi, chosen): the nodes lo..hi of `level` count `sign` times in the
        queries `chosen`. A node inside a box counts if its parent is not inside, and the nodes of
        one level inside a box form a box.
        """
        branching = self.shape.branching
        chosen = np.arange(len(lo[0]))
        for level in range(self.shape.height, self.coarsest - 1, -1):
            yield level, 1, lo, hi, chosen
            if level == self.coarsest:
                return
            grid, above = self.shape.grid(level), self.shape.grid(level - 1)
            first = [-(-low // branching) for low in lo]
            # The last node ends with the domain, however few children it has.
            stop = [
                np.where(high == size, parents, high // branching)
                for high, size, parents in zip(hi, grid, above, strict=True)
            ]
            inside = np.all([f < s for f, s in zip(first, stop, strict=True)], axis=0)
            chosen = chosen[inside]
            lo, hi = [f[inside] for f in first], [s[inside] for s in stop]
            low = [f * branching for f in lo]
            high = [np.minimum(s * branching, size) for s, size in zip(hi, grid, strict=True)]
            yield level, -1, low, high, chosen


def _volume(lo: list[IntArray], hi: list[IntArray]) -> IntArray:
    volume: IntArray = np.prod([high - low for low, high in zip(lo, hi, strict=True)], axis=0)
    return volume


def line_variances(
    shape: TreeShape, variances: list[FloatArray], lo: IntArray, hi: IntArray
) -> FloatArray:
    """Return the variances of the sums of bins `lo`, ..., `hi` - 1.

    Parameters
    ----------
    shape : TreeShape of one axis.
    variances : list of (nodes,) float64, as `TreeAnswers` has them.
    lo, hi : (q,) int64

    Returns
    -------
    (q,) float64

    Notes
    -----
    A range is the part left of `hi` minus the part left of `lo`. Within any node, each is a share
    of that node plus an independent error; both are carried from the bins up until their paths
    meet in one family. O(height) for each range.
    """
    last = shape.bins[0] - 1
    left, right = prefix(last, lo), prefix(last, hi)
    met = left.node == right.node
    both = Part(left.node, right.slope - left.slope, np.zeros(len(lo)))
    for level in range(shape.height, 0, -1):
        values = variances[level]
        sums = np.append(0.0, np.cumsum(values))
        together = left.node // shape.branching == right.node // shape.branching
        joined = _join(shape.branching, values, sums, left, right)
        both = _choose(met, _raise(shape.branching, values, sums, both, whole=False), joined)
        left = _raise(shape.branching, values, sums, left, whole=True)
        right = _raise(shape.branching, values, sums, right, whole=True)
        met = met | together
    total: FloatArray = both.variance + both.slope**2 * variances[0][0]
    return total


def _raise(branching: int, values: FloatArray, sums: FloatArray, part: Part, whole: bool) -> Part:
    """Go to the parent; `whole` if the sum holds all siblings to the left too."""
    parent, own = part.node // branching, values[part.node]
    before = sums[part.node] - sums[parent * branching] if whole else 0.0
    return _in_parent(
        branching,
        sums,
        parent,
        before + part.slope * own,
        before + part.slope**2 * own,
        part.variance,
    )


def _join(branching: int, values: FloatArray, sums: FloatArray, left: Part, right: Part) -> Part:
    """Go to the parent of both: all siblings between them, and their parts."""
    between = sums[right.node] - sums[np.minimum(left.node + 1, right.node)]
    rest = 1 - left.slope
    first, last = values[left.node], values[right.node]
    return _in_parent(
        branching,
        sums,
        right.node // branching,
        between + rest * first + right.slope * last,
        between + rest**2 * first + right.slope**2 * last,
        left.variance + right.variance,
    )


def _in_parent(
    branching: int,
    sums: FloatArray,
    parent: IntArray,
    weighted: FloatArray,
    squared: FloatArray,
    variance: FloatArray,
) -> Part:
    """Apply weights w to a family: slope w.v / sum(v), and w'(diag(v) - vv'/sum(v))w more."""
    stop = np.minimum((parent + 1) * branching, len(sums) - 1)
    family = sums[stop] - sums[parent * branching]
    slope = weighted / family
    return Part(parent, slope, variance + np.maximum(squared - slope * weighted, 0))


def _choose(first: np.ndarray, one: Part, other: Part) -> Part:
    return Part(
        np.where(first, one.node, other.node),
        np.where(first, one.slope, other.slope),
        np.where(first, one.variance, other.variance),
    )


def box_variance(
    shape: TreeShape, variances: list[FloatArray], lo: list[int], hi: list[int]
) -> float:
    """Return the variance of the sum of the bins ``lo <= place < hi``.

    Parameters
    ----------
    shape : TreeShape
    variances : list of `grid(level)` float64, as `TreeAnswers` has them.
    lo, hi : one whole number for each axis.

    Notes
    -----
    As for one axis, but over all nodes that intersect the box: a node's part of the sum is a
    slope times its estimate plus an independent error. Nodes inside have slope 1 and no error.
    """
    if not all(low < high for low, high in zip(lo, hi, strict=True)):
        return 0.0
    where = list(zip(lo, hi, strict=True))
    slopes = np.ones([high - low for low, high in where])
    error = 0.0
    for level in range(shape.height, 0, -1):
        wider = [
            _family_ends(low, high, shape, level, axis) for axis, (low, high) in enumerate(where)
        ]
        padding = [
            (low - first, stop - high)
            for (low, high), (first, stop) in zip(where, wider, strict=True)
        ]
        slopes = np.pad(slopes, padding)
        values = variances[level][tuple(slice(*ends) for ends in wider)]
        family = shape.sum_children(values)
        weighted = shape.sum_children(slopes * values)
        squared = shape.sum_children(slopes**2 * values)
        slopes = weighted / family
        error += float(np.maximum(squared - slopes * weighted, 0).sum())
        where = [(first // shape.branching, -(-stop // shape.branching)) for first, stop in wider]
    return error + float((slopes**2 * variances[0]).sum())


def _family_ends(low: int, high: int, shape: TreeShape, level: int, axis: int) -> tuple[int, int]:
    """Widen a range of nodes to whole families, within the grid."""
    b = shape.branching
    return low // b * b, min(-(-high // b) * b, shape.grid(level)[axis])


class TreeAnswers(Answers):
    """Answers with errors computed from a tree of measurements.

    Parameters
    ----------
    shape : TreeShape
    counted : object that gives the answers
    variances : function that returns one array for each level, the root's first, records squared
        The variance of the root, and those of siblings before they are made to add up to their
        parent. Called when an error is computed.
    fitted : function that returns the least-squares fit of the bins, if the answers come from
        elsewhere: bars are then around its sums, and also contain the answers.
    least_width : records; no such bar ends closer to the answer than this.

    Notes
    -----
    A node is its share of its parent plus an error independent of all nodes above. Children have
    variances v_i before they are made to add up. Afterwards, the parent's error is distributed in
    proportion to them, and the rest has covariance diag(v) - v v' / sum(v).
    That is exact for least squares (`docs/understand/proofs/hierarchical_tree.md`, Lemma 6).
    """

    def __init__(
        self,
        shape: TreeShape,
        counted: BinAnswers | NodeAnswers,
        variances: Callable[[], list[FloatArray]],
        fitted: Callable[[], FloatArray] | None = None,
        least_width: float = 0.0,
    ) -> None:
        self.shape, self.counted, self.least_width = shape, counted, least_width
        self._make_variances, self._make_fitted = variances, fitted

    @cached_property
    def _variances(self) -> list[FloatArray]:
        return self._make_variances()

    @cached_property
    def _fitted(self) -> tuple[FloatArray, NumberArray] | None:
        """The bins of the fit, and sums of them."""
        if self._make_fitted is None:
            return None
        bins = self._make_fitted()
        return bins, sum_boxes(bins)

    def count(self, lo: list[IntArray], hi: list[IntArray]) -> NumberArray:
        """Return estimates of the boxes."""
        return self.counted.count(lo, hi)

    def error(self, lo: list[IntArray], hi: list[IntArray]) -> FloatArray:
        """Return the standard errors of the boxes, or the farther end of each bar over 1.96."""
        if self._fitted is None:
            return self._noise(lo, hi)
        return farther(self.count(lo, hi), *self.interval(lo, hi))

    def interval(
        self, lo: list[IntArray], hi: list[IntArray], errors: float = ERRORS
    ) -> tuple[FloatArray, FloatArray]:
        """Return both ends of each bar; 0 and 0 for an empty range."""
        if self._fitted is None:
            return band(self.count(lo, hi), errors * self._noise(lo, hi))
        middle, noise = box_sums(self._fitted[1], lo, hi), errors * self._noise(lo, hi)
        some = np.all([low < high for low, high in zip(lo, hi, strict=True)], axis=0)
        ends = bars(self.count(lo, hi), middle - noise, middle + noise, self.least_width)
        return ends[0] * some, ends[1] * some

    def count_unclipped(
        self, lo: list[IntArray], hi: list[IntArray]
    ) -> tuple[NumberArray, FloatArray]:
        """Return the sums of the fit, with their standard errors."""
        if self._fitted is None:
            return self.count(lo, hi), self.error(lo, hi)
        return box_sums(self._fitted[1], lo, hi), self._noise(lo, hi)

    def bin_errors(self) -> FloatArray:
        """Return the `error` of each bin, in the shape of the bins."""
        found = self._variances[0]
        for level in self.shape.levels[1:]:
            own = self._variances[level]
            share = own / spread(self.shape, self.shape.sum_children(own), level)
            found = own * (1 - share) + share**2 * spread(self.shape, found, level)
        if self._fitted is None:
            return np.sqrt(found)
        middle, noise = self._fitted[0], ERRORS * np.sqrt(found)
        count = self.counted.bins
        return farther(count, *bars(count, middle - noise, middle + noise, self.least_width))

    def _noise(self, lo: list[IntArray], hi: list[IntArray]) -> FloatArray:
        """Return the standard errors of the fit's sums."""
        if len(lo) == 1:
            return np.sqrt(line_variances(self.shape, self._variances, lo[0], hi[0]))
        low, high = np.stack(lo, axis=1).tolist(), np.stack(hi, axis=1).tolist()
        boxes = zip(low, high, strict=True)
        return np.sqrt([box_variance(self.shape, self._variances, *box) for box in boxes])
