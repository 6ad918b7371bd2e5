"""Which mechanisms of dphist state their noisy numbers in a release, and where.

A release *states* its noisy numbers if no other noisy numbers lead to the same release.
`docs/proofs/audits.md`, Lemma 2, proves it for each mechanism here, and for no subclass: what that
releases may be something else.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from dphist.anonymized import AdaptiveScan, CumulativeCounts, PrivHist, RankSplit, SortedCounts
from dphist.lab.auditing.replay.kinds import labels_in_order
from dphist.labels import ThresholdHistogram
from dphist.ranges import AdaptiveTree, HierarchicalTree, LeafCounts
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.release import Release

_EXACT = 2**44  # noisy numbers below it are inferred without rounding

Numbers = Iterable[int] | None


@dataclass(frozen=True)
class Statement:
    """Where the releases of a mechanism state their noisy numbers.

    Attributes
    ----------
    read : returns those of a release of data, in the order of drawing; None where it states none.
    falling : whether they are stated only where each is smaller than the one before.
    """

    read: Callable[[Any, Release, Any], Numbers]
    falling: bool = False


def _of_scan(mechanism: AdaptiveScan, release: Release, data: Any) -> Numbers:
    return [*release.noisy["columns"].tolist(), *release.noisy["rows"].tolist()]


def _of_split(mechanism: RankSplit, release: Release, data: Any) -> Numbers:
    counts = [*release.noisy["rows"].tolist(), *release.noisy["columns"].tolist()]
    if mechanism.total is not None:
        return counts
    return [release.total, *counts] if release.total else None  # 0 stands for all below


def _of_priv_hist(mechanism: PrivHist, release: Release, data: Any) -> Numbers:
    if not release.total:
        return None
    kept = [name for name in ("above", "columns", "rows", "cells") if name in release.noisy]
    return [release.total, *(each for name in kept for each in release.noisy[name].tolist())]


def _of_sorted(mechanism: SortedCounts, release: Release, data: Any) -> Numbers:
    counts = release.value.sorted_counts().tolist()
    alike = mechanism.inference != "isotonic" or len(counts) < mechanism.labels
    return None if alike or len(set(counts)) < len(counts) or counts[0] >= _EXACT else counts


def _of_cumulative(mechanism: CumulativeCounts, release: Release, data: Any) -> Numbers:
    histogram: AnonymizedHistogram = release.value
    heights = histogram.cumulative_prevalences(range(1, mechanism.largest + 1)).tolist()
    alike = len(histogram.counts) < mechanism.largest or heights[0] >= _EXACT
    return None if alike else heights


def _of_tree(mechanism: AdaptiveTree, release: Release, data: Any) -> Numbers:
    return _beside(release, release.noisy["counts"].tolist())


def _of_levels(mechanism: HierarchicalTree, release: Release, data: Any) -> Numbers:
    return _beside(release, [each for level in release.noisy.values() for each in level.tolist()])


def _of_leaves(mechanism: LeafCounts, release: Release, data: Any) -> Numbers:
    return _beside(release, release.value.bins.ravel().tolist())


def _beside(release: Release, counts: list[int]) -> Numbers:
    """Return counts of bins, and those beside them; of these 0 stands for all below."""
    outside = list((release.value.outside or {}).values())
    return [*counts, *outside] if all(outside) else None


def _of_labels(mechanism: ThresholdHistogram, release: Release, data: Any) -> Numbers:
    own = mechanism.noise == "laplace" and not mechanism.count_cut_users
    order = labels_in_order(data)[0] if mechanism.labels is None else mechanism.labels
    found = dict(zip(release.value.labels, release.value.counts.tolist(), strict=True))
    return [found[label] for label in order] if own and found.keys() == set(order) else None


_STATEMENTS: dict[type, Statement] = {
    AdaptiveScan: Statement(_of_scan),
    RankSplit: Statement(_of_split),
    PrivHist: Statement(_of_priv_hist),
    SortedCounts: Statement(_of_sorted, falling=True),
    CumulativeCounts: Statement(_of_cumulative, falling=True),
    AdaptiveTree: Statement(_of_tree),
    HierarchicalTree: Statement(_of_levels),
    LeafCounts: Statement(_of_leaves),
    ThresholdHistogram: Statement(_of_labels),
}


def statement_of(mechanism: Any) -> Statement | None:
    """Return where the releases of a mechanism state their noisy numbers; None if nowhere."""
    return _STATEMENTS.get(type(mechanism))


def stated(mechanism: Any, release: Any, data: Any) -> tuple[int, ...] | None:
    """Return the noisy numbers that a release of data states; None if it states none."""
    statement = statement_of(mechanism)
    if statement is None or not isinstance(release, Release):
        return None
    numbers = statement.read(mechanism, release, data)
    return None if numbers is None else tuple(numbers)
