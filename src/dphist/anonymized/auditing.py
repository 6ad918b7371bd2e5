"""How anonymized histograms are audited: on which neighbors, and what a release states."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from dphist.anonymized.adaptive_scan.mechanism import AdaptiveScan
from dphist.anonymized.cumulative_counts import CumulativeCounts
from dphist.anonymized.partition_sampler.mechanism import PartitionSampler
from dphist.anonymized.priv_hist.mechanism import PrivHist
from dphist.anonymized.rank_split import RankSplit
from dphist.anonymized.sorted_counts import SortedCounts
from dphist.data.profile import Profile
from dphist.document.audited import (
    SMALL_DELTA,
    AuditedClass,
    Auditing,
    Numbers,
    Pair,
    Setup,
    Statement,
)
from dphist.errors import DphistError
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.release import Release

_RANDOM_PAIRS = 6
_MOST_UNITS = 8
_HUGE = 2**61

Counts = tuple[int, ...]


class ProfileNeighbors:
    """One unit adds a record to each of `sensitivity` labels, or all of them to one label."""

    def __init__(self, mechanism: Any) -> None:
        self.sensitivity = mechanism.sensitivity
        self.takes_huge = not isinstance(mechanism, PartitionSampler)

    def pairs(self) -> Iterator[Pair]:
        """Return edge cases first, then random pairs."""
        by = min(self.sensitivity, _MOST_UNITS)
        added = [1] * by
        cases: dict[str, tuple[list[int], list[int]]] = {
            "nothing, and one unit": ([], added),
            "a label grows from 1 to 2": ([1] * by, [2] * by),
            "a new label beside one": ([1], [1, *added]),
            "a tie is broken": ([5] * (by + 1), [6] * by + [5]),
            "a tie comes about": ([6] + [5] * by, [6] + [6] * by),
            "a large count grows": ([10**4] * by + [1], [10**4 + 1] * by + [1]),
            "a very large count grows": ([10**6] * by + [1], [10**6 + 1] * by + [1]),
            "a count next to 2**62": ([_HUGE], [_HUGE, *added]),
            "a count next to 2**62 grows": ([_HUGE, 3], [_HUGE + self.sensitivity, 3]),
            "stairs": (list(range(1, 40)), [*range(1, 40), *added]),
        }
        if self.sensitivity > 1:
            cases["all records in one label"] = ([4, 2], [4 + self.sensitivity, 2])
        draw = random.Random(2)  # noqa: S311 - public data
        for number in range(_RANDOM_PAIRS):
            counts = [draw.choice((1, 1, 1, 2, 3, 8, 40)) for _ in range(draw.randrange(by, 20))]
            grown = [c + (k < by) for k, c in enumerate([*counts, *[0] * (by - len(counts))])]
            cases[f"random counts, {number + 1}"] = (counts, grown)
        for name, (one, other) in cases.items():
            yield from self._make(name, one, other)

    def vary(self, name: str, raw: Any, draw: random.Random) -> Iterator[Pair]:
        """Give both more labels alike, or take labels away from both."""
        one, other = (list(counts) for counts in raw)
        more = [draw.choice((1, 1, 2, 3, 10, 100)) for _ in range(draw.randrange(1, 6))]
        yield from self._make(f"{name}, more labels", [*one, *more], [*other, *more])
        shared = [count for count in one if count in other]
        if shared:
            gone = draw.choice(shared)
            one.remove(gone)
            other.remove(gone)
            yield from self._make(f"{name}, fewer labels", one, other)

    def _make(self, name: str, one: list[int], other: list[int]) -> Iterator[Pair]:
        huge = max(one, default=0) >= _HUGE
        if huge and not self.takes_huge:
            return
        try:
            first, second = (
                Profile.from_counts(counts, sensitivity=self.sensitivity) for counts in (one, other)
            )
        except DphistError:
            return
        yield Pair(name, first, second, (tuple(one), tuple(other)), huge)


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
