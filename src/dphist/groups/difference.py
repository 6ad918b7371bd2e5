"""What two releases say of the records of the same groups, in all bins and in parts of them."""

import math
from collections.abc import Iterable
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np

from dphist.arrays import FloatArray, IntArray
from dphist.document.csv_rows import edge_texts
from dphist.document.differing import (
    BOTH,
    INTERVALS,
    UNKNOWN_BOUNDING,
    Bounds,
    Differing,
    check_same,
)
from dphist.errors import ParameterError, UnsupportedError
from dphist.groups.grouping import find_group
from dphist.groups.histograms import HistogramsByGroup
from dphist.groups.words import UNLISTED
from dphist.release.range_histogram import RangeHistogram
from dphist.release.release import Release
from dphist.sentence import Sentence
from dphist.tables.keys import OTHER, Value
from dphist.visible import visible

_PARTS = 20  # of the bins of a group, at most
_ALL = "all"
_NEARLY = (
    "Counts have intervals by the normal law, or by the Laplace law of the same variance where "
    "noise is two-sided geometric, whichever is wider: nearly right, and not proved."
)
_LEFT_OUT = Sentence(
    "Both releases leave out {others}: a change may come from how many these are.", others=UNLISTED
)

_Named: TypeAlias = tuple[type, Value]
"""A group with its type: True is not the group 1."""

_Found: TypeAlias = dict[_Named, RangeHistogram]


def compare_releases(before: Release, after: Release) -> Differing:
    """Return what two releases say of the groups that both have."""
    first, second = before.value, after.value
    check_same("column of groups", first.name, second.name)
    check_same("number of bins", first.axis.bins, second.axis.bins)
    if _edges(first) != _edges(second):
        raise ParameterError(
            BOTH, "must have the same column and edges; otherwise their bins are other bins"
        )
    old, new = _share(first, second)
    lo, hi = _ranges(first.axis.bins)
    counts = len(old) * len(lo)
    left_out = all(each.provenance.get("unlisted") == "drop" for each in (before, after))
    return Differing(
        places=_places(first, [label for _, label in old], lo, hi),
        before=_counts(old.values(), lo, hi),
        after=_counts(new.values(), lo, hi),
        bounds=lambda level: (
            _bounds(before, old.values(), lo, hi, level),
            _bounds(after, new.values(), lo, hi, level),
        ),
        tests=counts,
        correction=Sentence("Bonferroni over all {n:,} counts", n=counts),
        holds=[
            INTERVALS,
            _NEARLY,
            *_describe_others(first, second, len(old)),
            *([_LEFT_OUT] if left_out else []),
        ],
        noun="count",
        joint=", ",
        proved=False,
        bounding=[
            UNKNOWN_BOUNDING if "max_records" in each.provenance else "" for each in (before, after)
        ],
    )


def _edges(value: HistogramsByGroup) -> Any:
    return value.axis.to_content() if value.histograms[0].has_edges else None


def _share(first: HistogramsByGroup, second: HistogramsByGroup) -> tuple[_Found, _Found]:
    """Return the histograms of the groups that both have, in the order of the first.

    Of different groups, those that are "other" are other records, and are left out.
    """
    found, others = (_by_group(each) for each in (first, second))
    if {*found} != {*others}:
        for value, held in ((first, found), (second, others)):
            if find_group(value.groups).other:
                del held[str, OTHER]
    shared = [group for group in found if group in others]
    if not shared:
        raise ParameterError(BOTH, "must have a group in common; otherwise nothing is compared")
    return {group: found[group] for group in shared}, {group: others[group] for group in shared}


def _by_group(value: HistogramsByGroup) -> _Found:
    named = ((type(label), label) for label in value.labels)
    return dict(zip(named, value.histograms, strict=True))


def _ranges(bins: int) -> tuple[IntArray, IntArray]:
    """Return the ranges of bins that are compared: all of them, then each of up to 20 parts.

    >>> [each.tolist() for each in _ranges(3)]
    [[0, 0, 1, 2], [3, 1, 2, 3]]
    """
    parts = min(bins, _PARTS)
    cuts = np.arange(parts + 1) * bins // parts
    if parts == 1:
        return cuts[:1], cuts[1:]
    return np.append(0, cuts[:-1]), np.append(bins, cuts[1:])


def _places(
    value: HistogramsByGroup, labels: list[Value], lo: IntArray, hi: IntArray
) -> dict[str, list[str]]:
    edges = edge_texts(value.axis.edges, value.axis.zone)
    parts = [f"{edges[start]} to {edges[stop]}" for start, stop in zip(lo, hi, strict=True)]
    ranges = [_ALL, *parts[1:]]
    return {
        "group": [visible(str(label)) for label in labels for _ in ranges],
        "range": ranges * len(labels),
    }


def _counts(histograms: Iterable[RangeHistogram], lo: IntArray, hi: IntArray) -> FloatArray:
    return np.concatenate([each.count_bins(lo, hi) for each in histograms]).astype(np.float64)


def _bounds(
    release: Release,
    histograms: Iterable[RangeHistogram],
    lo: IntArray,
    hi: IntArray,
    level: float,
) -> Bounds:
    """Return intervals for the true counts, which are not negative."""
    mechanism: Any = release.mechanism
    inner = mechanism.in_each_group
    errors = NormalDist().inv_cdf((1 + level) / 2)
    if inner.law.distribution != "Gaussian":
        # A sum of two-sided geometric noise has tails between the normal and the Laplace law.
        errors = max(errors, -math.log(1 - level) / math.sqrt(2))
    least = inner.budget.half_width(level)  # noise is discrete: that of one count with all of it
    ends = []
    for each in histograms:
        if each.answers is None:
            raise UnsupportedError("a release of groups that was made by hand has no intervals")
        count = each.count_bins(lo, hi)
        low, high = each.answers.interval([lo], [hi], errors)
        ends.append((np.minimum(low, count - least), np.maximum(high, count + least)))
    low, high = (np.concatenate(side) for side in zip(*ends, strict=True))
    return np.maximum(low, 0), np.maximum(high, 0)


def _describe_others(first: HistogramsByGroup, second: HistogramsByGroup, shared: int) -> list[str]:
    """Return what is said of groups that are not compared, if there are any."""
    alone = [len(each) - shared for each in (first, second)]
    if not any(alone):
        return []
    return [
        Sentence(
            "Not compared are groups that one release alone has: {before} before, {after} after. "
            "Where these are not the same, the group other holds other rows, and is one of them.",
            before=alone[0],
            after=alone[1],
        )
    ]
