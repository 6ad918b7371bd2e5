"""What two histograms over the same ranges say of each bin."""

import math
from itertools import pairwise, product
from statistics import NormalDist
from typing import Any

import numpy as np

from dphist.arrays import FloatArray
from dphist.document.csv_rows import edge_texts
from dphist.document.differing import (
    BOTH,
    INTERVALS,
    UNKNOWN_BOUNDING,
    Bounds,
    Differing,
    check_same,
)
from dphist.errors import ParameterError
from dphist.ranges.leaf_counts import LeafCounts
from dphist.release.range_histogram import RangeHistogram
from dphist.release.release import Release
from dphist.sentence import Sentence

_PROVED = "Of bins that are single noisy counts, the intervals are exact."
_NEARLY = (
    "Bins inferred from several noisy counts have intervals by the normal law, or by the Laplace "
    "law of the same variance where noise is two-sided geometric, whichever is wider: nearly "
    "right, and not proved."
)


def compare_releases(before: Release, after: Release) -> Differing:
    """Return what two releases say of the same bins."""
    first, second = before.value, after.value
    check_same("number of bins", first.counts.shape, second.counts.shape)
    if _edges(first) != _edges(second):
        raise ParameterError(
            BOTH, "must have the same columns and edges: otherwise their bins differ"
        )
    exact = all(isinstance(each.mechanism, LeafCounts) for each in (before, after))
    bins = first.counts.size
    return Differing(
        places=_places(first),
        before=first.counts.ravel().astype(np.float64),
        after=second.counts.ravel().astype(np.float64),
        bounds=lambda level: (_bounds(before, level), _bounds(after, level)),
        tests=bins,
        correction=Sentence("Bonferroni over all {n:,} bins", n=bins),
        holds=[INTERVALS, _PROVED if exact else _NEARLY],
        noun="bin",
        proved=exact,
        bounding=[_bounding(each) for each in (before, after)],
    )


def _edges(value: RangeHistogram) -> Any:
    return [axis.to_content() for axis in value.axes] if value.has_edges else None


def _places(value: RangeHistogram) -> dict[str, list[str]]:
    """Return the texts of the edges of each bin, by column."""
    single = value.counts.ndim == 1
    names = ["" if single else f"_{value.axis_name(axis)}" for axis in range(value.counts.ndim)]
    rows = list(product(*(pairwise(edge_texts(edges)) for edges in value.edges)))
    columns = {}
    for axis, name in enumerate(names):
        for end, side in enumerate(("start", "stop")):
            columns[f"{side}{name}"] = [row[axis][end] for row in rows]
    return columns


def _bounds(release: Release, level: float) -> Bounds:
    """Return intervals for the true counts of the bins, which are not negative."""
    mechanism: Any = release.mechanism
    missed = 1 - level
    if not isinstance(mechanism, LeafCounts) and mechanism.law.distribution != "Gaussian":
        # A sum of two-sided geometric noise has tails between the normal and the Laplace law.
        normal = NormalDist()
        reach = max(-normal.inv_cdf(missed / 2), -math.log(missed) / math.sqrt(2))
        level = min(1 - 2 * normal.cdf(-reach), 1 - 2**-50)
    found: Any = mechanism.intervals(release, level)
    low, high = (np.asarray(each, np.float64).ravel() for each in (found.lower, found.upper))
    clamped: tuple[FloatArray, FloatArray] = np.maximum(low, 0), np.maximum(high, 0)
    return clamped


def _bounding(release: Release) -> str:
    """Say that nothing is known of what bounding took; empty if nobody was bounded."""
    if "max_records" not in release.provenance:
        return ""
    return UNKNOWN_BOUNDING
