"""Answers of an adaptive tree, with error bars that hold however records are spread."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dphist.arrays import FloatArray, IntArray, NumberArray
from dphist.ranges.adaptive_tree.dyadic import DyadicShape
from dphist.ranges.adaptive_tree.least_squares import (
    DyadicCounts,
    Halving,
    LeastSquares,
    find_stops,
    least_squares,
    path_variances,
)
from dphist.ranges.adaptive_tree.pooled_weights import GAPS, SQUARES, compute_pools, correction
from dphist.ranges.bars import bars, farther
from dphist.release.range_histogram import Answers
from dphist.release.range_histogram.answers import ERRORS
from dphist.release.range_histogram.boxes import box_sums, sum_boxes


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums of counted nodes: least-squares estimates and their variances, (q,) each."""

    count: FloatArray
    variance: FloatArray


@dataclass(frozen=True, slots=True)
class Enclosed:
    """A range or box enclosed by two sums.

    Counts are nonnegative, so a range contains at least the records of the counted nodes inside it,
    and at most those of the counted nodes that intersect it, however records are spread in a node.

    Attributes
    ----------
    inner : sum of the smallest counted nodes inside the range.
    outer : sum of those that intersect it.
    """

    inner: Sums
    outer: Sums


class Line:
    """Ranges of one axis.

    Parameters
    ----------
    noisy : all noisy counts.
    shape : DyadicShape of one axis.
    """

    def __init__(self, noisy: DyadicCounts, shape: DyadicShape) -> None:
        self.fit = fit = least_squares(noisy)
        self._bins = shape.bins[0]
        self._side = 2 ** (shape.height - fit.deepest)  # bins of a node of the deepest level
        stops = find_stops(fit)
        width = 2 ** (fit.deepest - stops.level)
        places = np.arange(len(width))
        self._start = places // width * width
        self._stop = self._start + width
        # A stop's count is stored at its first node, so that sums are correct at the ends of stops.
        self._below = np.append(0.0, np.cumsum(np.where(places == self._start, stops.count, 0)))

    def enclose(self, lo: list[IntArray], hi: list[IntArray]) -> Enclosed:
        """Enclose the ranges `lo`, ..., `hi` - 1 of the single axis, none of them empty."""
        (low_down, low_up), (high_down, high_up) = self._ends(lo[0]), self._ends(hi[0])
        inner = self._sums(low_up, np.maximum(low_up, high_down))
        return Enclosed(inner, self._sums(low_down, high_up))

    def _ends(self, edge: IntArray) -> tuple[IntArray, IntArray]:
        """Return the last end of stops up to each edge, and the first one from it on."""
        nodes = len(self._start)
        node = np.minimum(edge // self._side, nodes - 1)
        past = edge == self._bins  # the rest is padding
        down = np.where(past, nodes, self._start[node])
        up = np.where(past | (down * self._side == edge), down, self._stop[node])
        return down, up

    def _sums(self, lo: IntArray, hi: IntArray) -> Sums:
        return Sums(self._below[hi] - self._below[lo], path_variances(self.fit, lo, hi))


_AT_ONCE = 2**20  # pairs of a box and a node on its surface


class Boxes:
    """Boxes of any number of axes.

    Parameters
    ----------
    noisy : all noisy counts.
    shape : DyadicShape
    """

    def __init__(self, noisy: DyadicCounts, shape: DyadicShape) -> None:
        self.fit = least_squares(noisy)
        self._shape, self._halved = shape, shape.halved
        self._pools = compute_pools(self.fit, noisy)
        # Maximum number of nodes of a level that a surface cuts: one per bin of the surface.
        bins = shape.bins
        across = [2 * np.prod(bins, dtype=float) / size for size in bins]
        self._together = max(1, int(_AT_ONCE / min(2**self.fit.deepest, sum(across))))

    def enclose(self, lo: list[IntArray], hi: list[IntArray]) -> Enclosed:
        """Enclose the boxes ``lo <= place < hi``, none of them empty."""
        found = np.empty((2, 2, len(lo[0])))
        for start in range(0, len(lo[0]), self._together):
            part = slice(start, start + self._together)
            found[..., part] = self._enclose([low[part] for low in lo], [high[part] for high in hi])
        return Enclosed(Sums(*found[0]), Sums(*found[1]))

    def _enclose(self, lo: list[IntArray], hi: list[IntArray]) -> FloatArray:
        """Return (inner and outer, counts and variances, boxes)."""
        walk = _Walk(self.fit, self._shape, self._halved, lo, hi)
        cuts = [walk.root()]
        for level in range(self.fit.deepest):
            cuts.append(walk.below(cuts[-1], level))
        variance = walk.variances(cuts)
        pooled = self._compute_pooled(walk, cuts)
        pooled[..., walk.nodes == 1] = (
            0  # a single node's count has no others to share a weight with
        )
        return np.stack([walk.count + pooled[0], variance + pooled[1]], axis=1)

    def _compute_pooled(self, walk: "_Walk", cuts: "list[_Cut]") -> FloatArray:
        """Return the pooling terms of counts and variances, (2, inner and outer, boxes)."""
        pools, boxes = self._pools, len(walk.nodes)
        if not pools.own:
            return np.zeros((2, 2, boxes))
        sums = np.zeros((2, SQUARES + GAPS, pools.number, boxes))
        box, node, slope = np.arange(boxes), np.zeros(boxes, np.int64), walk.slope
        for level, (own, whole, passed) in enumerate(
            zip(pools.own, pools.whole, pools.slopes, strict=True)
        ):
            cut = cuts[level]
            parts = whole[..., node]
            parts[..., cut.place] = own[..., cut.node]
            squares = slope[:, None, None] ** 2 * parts[:SQUARES]
            gaps = slope[:, None, None] * parts[SQUARES:]
            _add_by_box(sums, box, np.concatenate([squares, gaps], axis=1))
            if level == self.fit.deepest:
                break
            # The halves' own counts follow that of the node, plus the difference of each half's
            # weight from the node's.
            known = cut.whole(self.fit.halvings[level])
            from_above = slope[:, cut.place] * passed[cut.node] - known
            slope = (cut.slopes + from_above[..., None]).reshape(2, -1)
            box, node = np.repeat(cut.box, 2), _list_halves(cut.node)
        return np.stack(correction(np.moveaxis(sums, 0, 2)))


@dataclass(slots=True)
class _Cut:
    """Pairs of a box and an opened node of one level that its surface cuts.

    Attributes
    ----------
    box, node : (k,) int64, by box.
    place : (k,) int64, index of the node among the halves of the level above.
    starts : list of (k,) int64, start of the node in each axis.
    slopes : (2 sums, k, 2 halves) float64, weights of the node's halves in each sum.
    """

    box: IntArray
    node: IntArray
    place: IntArray
    starts: list[IntArray]
    slopes: FloatArray

    def whole(self, halving: Halving) -> FloatArray:
        """Return the weight of each node: the weights of its halves times their shares."""
        share = halving.share[self.node]
        weight: FloatArray = share * self.slopes[..., 0] + (1 - share) * self.slopes[..., 1]
        return weight


class _Walk:
    """A walk of boxes down a tree along their surfaces, and up again.

    Attributes
    ----------
    count : (2, boxes) float64, inner and outer sums.
    slope : (2, boxes) float64, weight of the root in each.
    nodes : (boxes,) float64, 1 for a box with one counted node in its outer sum, else more.
    """

    def __init__(
        self,
        fit: LeastSquares,
        shape: DyadicShape,
        halved: list[int],
        lo: list[IntArray],
        hi: list[IntArray],
    ) -> None:
        self._fit, self._shape, self._halved, self._lo, self._hi = fit, shape, halved, lo, hi
        boxes = len(lo[0])
        self.count, self.nodes = np.zeros((2, boxes)), np.zeros(boxes)
        self.slope = np.zeros((2, boxes))

    def root(self) -> _Cut:
        """Start with the root for every box."""
        box = np.arange(self.count.shape[1])
        starts = [np.zeros(len(box), np.int64) for _ in self._lo]
        return self._sum_level(0, box, np.zeros(len(box), np.int64), starts, self.slope)

    def below(self, cut: _Cut, level: int) -> _Cut:
        """Continue with the halves of the nodes of a level."""
        axis = self._halved[level]
        starts = [np.repeat(start, 2) for start in cut.starts]
        starts[axis][1::2] += self._sides(level + 1)[axis]
        slopes = cut.slopes.reshape(2, -1)
        return self._sum_level(
            level + 1, np.repeat(cut.box, 2), _list_halves(cut.node), starts, slopes
        )

    def variances(self, cuts: list[_Cut]) -> FloatArray:
        """Return the variances of both sums, and fill in all slopes, from the deepest level up."""
        found = np.zeros(self.count.shape)
        for level in range(self._fit.deepest - 1, -1, -1):
            cut, halving = cuts[level], self._fit.halvings[level]
            errors = (cut.slopes[..., 0] - cut.slopes[..., 1]) ** 2 * halving.spread[cut.node]
            _add_by_box(found, cut.box, errors)
            above = cuts[level - 1].slopes.reshape(2, -1) if level else self.slope
            above[:, cut.place] = cut.whole(halving)
        variances: FloatArray = found + self.slope**2 * self._fit.variances[0]
        return variances

    def _sum_level(
        self, level: int, box: IntArray, node: IntArray, starts: list[IntArray], slopes: FloatArray
    ) -> _Cut:
        """Add the decided pairs to the sums, record their slopes, and keep the pairs still cut."""
        meets, within = np.ones((2, len(box)), np.bool_)
        sides = zip(self._sides(level), self._shape.bins, starts, self._lo, self._hi, strict=True)
        for side, size, start, low, high in sides:
            stop = np.minimum(start + side, size)
            first, last = low[box], high[box]
            meets &= (start < last) & (stop > first)
            within &= (start >= first) & (stop <= last)
        within &= meets  # nodes in the padding intersect nothing
        opened = np.zeros(len(box), np.bool_)
        if level < self._fit.deepest:
            opened = self._fit.halvings[level].opened[node]
        cut = opened & meets & ~within
        taken = np.stack([within, meets & ~cut])
        slopes[...] = taken
        _add_by_box(self.count, box, taken * self._fit.counts[level][node])
        _add_by_box(self.nodes, box, taken[1] * (1.0 + opened))
        kept = np.flatnonzero(cut)
        kept_starts = [start[kept] for start in starts]
        return _Cut(box[kept], node[kept], kept, kept_starts, np.zeros((2, len(kept), 2)))

    def _sides(self, level: int) -> list[int]:
        """Return the length of a node of a level in each axis, in bins."""
        sides = [2**bits for bits in self._shape.bits]
        for axis in self._halved[:level]:
            sides[axis] //= 2
        return sides


def _list_halves(node: IntArray) -> IntArray:
    halves = np.repeat(2 * node, 2)
    halves[1::2] += 1
    return halves


def _add_by_box(sums: FloatArray, box: IntArray, values: FloatArray) -> None:
    """Add values, (..., k), to the sums, (..., boxes), of their boxes, which are sorted."""
    if len(box):
        starts = np.flatnonzero(np.diff(box, prepend=-1))
        sums[..., box[starts]] += np.add.reduceat(values, starts, axis=-1)


class DyadicAnswers(Answers):
    """Sums of bins, with error bars that hold for all data.

    Parameters
    ----------
    shape : DyadicShape
    bins : `shape.bins` int64
    least_width : records; no bar ends nearer than this to the estimate.
    noisy : function that returns the noisy counts; called when an error is computed.

    Notes
    -----
    A range contains at least the records of the counted nodes inside it, and at most those of the
    counted nodes that intersect it. A bar reaches from 1.96 standard errors below the first sum to
    1.96 above the second, both by least squares, without the prior of the estimates. It is
    extended if it does not contain the estimate, or ends too close to it
    (`docs/guides/ranges.md`, Error bars).
    """

    def __init__(
        self,
        shape: DyadicShape,
        bins: NumberArray,
        least_width: float,
        noisy: Callable[[], DyadicCounts],
    ) -> None:
        self.shape, self.bins, self.least_width = shape, bins, least_width
        self._make_noisy = noisy

    @cached_property
    def _sums(self) -> NumberArray:
        return sum_boxes(self.bins)

    @cached_property
    def _enclosing(self) -> Line | Boxes:
        make = Line if len(self.shape.bins) == 1 else Boxes
        return make(self._make_noisy(), self.shape)

    def count(self, lo: list[IntArray], hi: list[IntArray]) -> NumberArray:
        """Return the sums of the boxes."""
        return box_sums(self._sums, lo, hi)

    def error(self, lo: list[IntArray], hi: list[IntArray]) -> FloatArray:
        """Return the distance to the farther end of each bar, over 1.96."""
        return farther(self.count(lo, hi), *self.interval(lo, hi))

    def interval(
        self, lo: list[IntArray], hi: list[IntArray], errors: float = ERRORS
    ) -> tuple[FloatArray, FloatArray]:
        """Return both ends of each bar; 0 and 0 for an empty range."""
        some = np.all([low < high for low, high in zip(lo, hi, strict=True)], axis=0)
        lo, hi = [low[some] for low in lo], [high[some] for high in hi]
        ends = np.zeros((2, len(some)))
        ends[:, some] = self._bars(self.count(lo, hi), self._enclosing.enclose(lo, hi), errors)
        return ends[0], ends[1]

    def count_unclipped(
        self, lo: list[IntArray], hi: list[IntArray]
    ) -> tuple[NumberArray, FloatArray]:
        """Return the least-squares estimate of the root, without the prior, with its error."""
        found = self._enclosing.enclose(lo, hi).inner
        return found.count, np.sqrt(found.variance)

    def bin_errors(self) -> FloatArray:
        """Return the `error` of each bin, in the shape of the bins."""
        fit = self._enclosing.fit
        stops = find_stops(fit)
        single = np.where(
            stops.size == 1, 1.0, 0.0
        )  # else a bin may have none of the records of its stop
        found = Enclosed(
            Sums(single * stops.count, single * stops.variance),
            Sums(stops.count, stops.variance),
        )
        below = 2 ** (self.shape.height - fit.deepest)
        estimate = self.shape.arrange(self.bins).reshape(-1, below)
        ends = self._bars(estimate.T, found)
        return self.shape.restore(farther(estimate.T, *ends).T.ravel())

    def _bars(
        self, count: NumberArray, found: Enclosed, errors: float = ERRORS
    ) -> tuple[FloatArray, FloatArray]:
        low = found.inner.count - errors * np.sqrt(found.inner.variance)
        high = found.outer.count + errors * np.sqrt(found.outer.variance)
        return bars(count, low, high, self.least_width)
