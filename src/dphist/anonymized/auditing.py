"""How anonymized histograms are audited: what is replayed, and what a release states."""

from typing import Any

import numpy as np

from dphist.anonymized.adaptive_scan.mechanism import AdaptiveScan
from dphist.anonymized.cumulative_counts import CumulativeCounts
from dphist.anonymized.neighbors import ProfileNeighbors
from dphist.anonymized.partition_sampler.mechanism import PartitionSampler
from dphist.anonymized.priv_hist.mechanism import PrivHist
from dphist.anonymized.rank_split import RankSplit
from dphist.anonymized.sorted_counts import SortedCounts
from dphist.document.audited import SMALL_DELTA, AuditedClass, Auditing, Numbers, Setup, Statement
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.release import Release

_BLOCK = 1023  # draws that the scan may leave unused
_EXACT = 2**44  # noisy numbers below it are inferred without rounding


def _list_value(value: AnonymizedHistogram) -> dict[str, Any]:
    return {"counts": value.counts, "prevalences": value.prevalences}


def _tell_total(mechanism: Any) -> Setup:
    """The total is measured first, if none is public."""
    if getattr(mechanism, "total", None) is not None:
        return Setup()
    return Setup(told={0: lambda profile: np.array([profile.total])})


def _read_scan(mechanism: AdaptiveScan, release: Release, data: Any) -> Numbers:
    return [*release.noisy["columns"].tolist(), *release.noisy["rows"].tolist()]


def _read_split(mechanism: RankSplit, release: Release, data: Any) -> Numbers:
    counts = [*release.noisy["rows"].tolist(), *release.noisy["columns"].tolist()]
    if mechanism.total is not None:
        return counts
    return [release.total, *counts] if release.total else None  # 0 stands for all below


def _read_priv_hist(mechanism: PrivHist, release: Release, data: Any) -> Numbers:
    if not release.total:
        return None
    kept = [name for name in ("above", "columns", "rows", "cells") if name in release.noisy]
    return [release.total, *(each for name in kept for each in release.noisy[name].tolist())]


def _read_sorted(mechanism: SortedCounts, release: Release, data: Any) -> Numbers:
    counts = release.value.sorted_counts().tolist()
    alike = mechanism.inference != "isotonic" or len(counts) < mechanism.labels
    return None if alike or len(set(counts)) < len(counts) or counts[0] >= _EXACT else counts


def _read_cumulative(mechanism: CumulativeCounts, release: Release, data: Any) -> Numbers:
    histogram: AnonymizedHistogram = release.value
    heights = histogram.cumulative_prevalences(range(1, mechanism.largest + 1)).tolist()
    alike = len(histogram.counts) < mechanism.largest or heights[0] >= _EXACT
    return None if alike else heights


AUDITING = Auditing(
    neighbors=ProfileNeighbors,
    compared=_list_value,
    mechanisms={
        AdaptiveScan: AuditedClass(
            others={"of users": {"sensitivity": 3}},
            setup=lambda _: Setup(spare=_BLOCK),
            statement=Statement(_read_scan),
        ),
        RankSplit: AuditedClass(
            tiny={"of 1 record": {"total": 1}},
            setup=_tell_total,
            statement=Statement(_read_split),
        ),
        SortedCounts: AuditedClass(
            small={"labels": 6},
            tiny={"of 1 label": {"labels": 1}, "of 2 labels": {"labels": 2}},
            statement=Statement(_read_sorted, falling=True),
        ),
        CumulativeCounts: AuditedClass(
            small={"largest": 8},
            tiny={"up to 1": {"largest": 1}},
            statement=Statement(_read_cumulative, falling=True),
        ),
        PrivHist: AuditedClass(setup=_tell_total, statement=Statement(_read_priv_hist)),
        PartitionSampler: AuditedClass(
            small={"delta": SMALL_DELTA},
            setup=lambda _: Setup(why_not="it draws whole profiles, and adds no noise to numbers"),
        ),
    },
)
