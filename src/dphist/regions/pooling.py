"""Leaves of a region moved towards the sums of their noisy numbers; post-processing.

Each leaf is decoded by itself. Where leaves are small, noise is large for each, and what their
decoding gets wrong has the same direction in all: their union is off by the sum. Sums of noisy
numbers are not: noise of many leaves cancels out, and nothing was decoded that could be wrong. So
the noisy numbers of the small leaves of a region are added up over counts, and decoded like a scan
of the region with less noise; what a leaf's rows say of larger counts keeps the shape that was
decoded, and gets the sum of their noisy numbers as its size. These leaves are then moved towards
this curve as `top.py` does. Large leaves stay as they are: sums of others say nothing of them. Pure
functions of noisy numbers (`docs/understand/benchmarks.md`).
"""

import math
from collections.abc import Sequence

import numpy as np

from dphist.anonymized.adaptive_scan.decoding import decode_curve
from dphist.anonymized.adaptive_scan.scan import Scan
from dphist.anonymized.adaptive_scan.trend import of_columns
from dphist.anonymized.inference import isotonic_decreasing
from dphist.arrays import FloatArray, IntArray
from dphist.regions.histograms import unite
from dphist.regions.scans import NoisyScan, Scans
from dphist.regions.top import move_towards
from dphist.release.anonymized_histogram import AnonymizedHistogram

_LARGE = 250
"""Records of a leaf, in units of 1 / epsilon, from which it stays as it was decoded by itself."""
_FEW = 0.25
"""Labels with a count or more, for each leaf, below which they stay: each could be a large one."""
_BEYOND = 8  # times the decoded rows of a leaf, up to which noisy numbers of rows are added up


def pool_regions(
    leaves: Sequence[AnonymizedHistogram], scans: Scans, parents: Sequence[int], epsilon: float
) -> list[AnonymizedHistogram]:
    """Return the leaves of all regions, those of each parent moved as by `pool_leaves`.

    Parameters
    ----------
    parents : the number of leaves of each region right above leaves, in the order of the tree.
    """
    found: list[AnonymizedHistogram] = []
    for many in parents:
        own = slice(len(found), len(found) + many)
        found += pool_leaves(leaves[own], scans[own], epsilon)
    return found


def pool_leaves(
    leaves: Sequence[AnonymizedHistogram], scans: Scans, epsilon: float
) -> list[AnonymizedHistogram]:
    """Return leaves of a region, the small ones moved towards the sums of their noisy numbers.

    Parameters
    ----------
    leaves : as decoded one by one.
    scans : their noisy numbers, of noise with this `epsilon`.
    """
    small = [place for place, leaf in enumerate(leaves) if epsilon * leaf.total < _LARGE]
    if len(small) < 2:
        return list(leaves)
    found, held = [leaves[place] for place in small], [scans[place] for place in small]
    ends, heights = sum_scans(found, held)
    places, target = decode_sums(ends, heights, epsilon / math.sqrt(len(small)))
    own = unite(found).cumulative_prevalences(places)
    target = np.where(own < _FEW * len(small), own, target)
    moved = iter(move_towards(found, places, target, 1 - 1 / len(small)))
    return [next(moved) if place in small else leaf for place, leaf in enumerate(leaves)]


def sum_scans(leaves: Sequence[AnonymizedHistogram], scans: Scans) -> tuple[IntArray, FloatArray]:
    """Return the sum of the leaves' curves, without the bias of their decoding.

    Returns
    -------
    ends : (k,) int64, ascending; the last count of each block.
    heights : (k,) float64, labels with these counts or more. They need not fall.
    """
    united = unite(leaves).counts
    ends = np.unique(np.concatenate([united, *(scan["column_ends"][1:] for scan in scans)]))
    widths = np.diff(ends, prepend=0)
    columns, beyond = np.zeros(len(ends)), np.zeros(len(ends))
    for leaf, scan in zip(leaves, scans, strict=True):
        within = ends <= scan["column_ends"][-1]
        heights = leaf.cumulative_prevalences(ends)
        columns += np.where(within, heights, 0)
        columns[within] += _find_remainders(leaf, scan, ends[within])
        beyond += np.where(within, 0, heights)
    decoded = float(beyond @ widths)
    scale = min(max(_sum_rows(leaves, scans) / decoded, 0.0), 2.0) if decoded else 0.0
    return ends, columns + scale * beyond


def _find_remainders(leaf: AnonymizedHistogram, scan: NoisyScan, ends: IntArray) -> FloatArray:
    """Return by how much each height misses the noisy numbers of the leaf's blocks of columns."""
    blocks = scan["column_ends"]
    missed = (scan["columns"] - np.diff(leaf.cells_up_to(blocks))) / np.diff(blocks)
    return np.asarray(missed[np.searchsorted(blocks[1:], ends)])


def _sum_rows(leaves: Sequence[AnonymizedHistogram], scans: Scans) -> int:
    """Return the noisy number of cells beyond the columns of all leaves.

    Rows far beyond those that were decoded have noise alone; where they begin is the same for all
    leaves, so that no leaf's noise chooses which of it is added.
    """
    decoded = sum(
        int(leaf.cumulative_prevalences(scan["column_ends"][-1] + 1))
        for leaf, scan in zip(leaves, scans, strict=True)
    )
    last = max(1, math.ceil(_BEYOND * decoded / len(leaves)))
    return sum(int(scan["rows"][: np.searchsorted(scan["row_ends"], last)].sum()) for scan in scans)


def decode_sums(ends: IntArray, heights: FloatArray, epsilon: float) -> tuple[IntArray, FloatArray]:
    """Return a falling curve: decoded in blocks up to where a scan would go on with rows.

    Parameters
    ----------
    ends, heights : as `sum_scans` returns them.
    epsilon : parameter of the noise of sums.
    """
    cells = np.append(0, np.cumsum(heights * np.diff(ends, prepend=0)))
    places, most = np.append(0, ends), int(ends[-1])
    scan = Scan(epsilon, of_columns)
    while scan.position < most and scan.is_before_corner():
        following = sorted({min(end, most) for end in scan.next_ends()})
        sums = np.diff(np.interp([scan.position, *following], places, cells))
        scan.take(following, np.rint(sums).astype(np.int64).tolist())
    blocks, counts = np.array(scan.ends), np.array(scan.counts)
    decoded = decode_curve(blocks, counts, epsilon, of_columns, scan.position).curve
    # A tail that a scan would take for noise is what was decoded of rows: it stays.
    width = int(np.count_nonzero(decoded))
    decoded = decoded[:width]
    beyond = ends > width
    rest = isotonic_decreasing(heights[beyond], np.diff(ends, prepend=0)[beyond].astype(np.float64))
    falling = np.concatenate([decoded, np.maximum(rest, 0)])
    return np.append(np.arange(1, width + 1), ends[beyond]), falling
