"""Boxes of several axes, enclosed by sums of counted nodes; vectorized."""

from dataclasses import dataclass

import numpy as np

from dphist.arrays import FloatArray, IntArray
from dphist.ranges.adaptive_tree.counts import DyadicCounts
from dphist.ranges.adaptive_tree.dyadic import DyadicShape
from dphist.ranges.adaptive_tree.enclosing import Enclosed, Sums
from dphist.ranges.adaptive_tree.least_squares import Halving, LeastSquares, least_squares
from dphist.ranges.adaptive_tree.pooled_weights import GAPS, SQUARES, correction, pools_of

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
        self._pools = pools_of(self.fit, noisy)
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
        pooled = self._pooled(walk, cuts)
        pooled[..., walk.nodes == 1] = (
            0  # a single node's count has no others to share a weight with
        )
        return np.stack([walk.count + pooled[0], variance + pooled[1]], axis=1)

    def _pooled(self, walk: "_Walk", cuts: "list[_Cut]") -> FloatArray:
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
            box, node = np.repeat(cut.box, 2), _halves_of(cut.node)
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
        return self._kept(0, box, np.zeros(len(box), np.int64), starts, self.slope)

    def below(self, cut: _Cut, level: int) -> _Cut:
        """Continue with the halves of the nodes of a level."""
        axis = self._halved[level]
        starts = [np.repeat(start, 2) for start in cut.starts]
        starts[axis][1::2] += self._sides(level + 1)[axis]
        slopes = cut.slopes.reshape(2, -1)
        return self._kept(level + 1, np.repeat(cut.box, 2), _halves_of(cut.node), starts, slopes)

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

    def _kept(
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


def _halves_of(node: IntArray) -> IntArray:
    halves = np.repeat(2 * node, 2)
    halves[1::2] += 1
    return halves


def _add_by_box(sums: FloatArray, box: IntArray, values: FloatArray) -> None:
    """Add values, (..., k), to the sums, (..., boxes), of their boxes, which are sorted."""
    if len(box):
        starts = np.flatnonzero(np.diff(box, prepend=-1))
        sums[..., box[starts]] += np.add.reduceat(values, starts, axis=-1)
