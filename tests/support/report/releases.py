"""Releases that the tests of this folder share, and a mechanism made to be awkward."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from dphist import (
    AdaptiveScan,
    AnonymizedHistogram,
    CumulativeCounts,
    PartitionSampler,
    PrivHist,
    Profile,
    PureDP,
    RankSplit,
    Release,
    SortedCounts,
)
from dphist.anonymized.band import Band
from dphist.document.kind import find_kind
from dphist.document.unit_words import Number, count_units
from dphist.labels import bounding
from dphist.streams.kind import count_units as streams_number

# Counts that stand nowhere but in the true data: releases at this epsilon miss them.
SENTINELS = (918273645, 564738291, 192837465)
HOSTILE = "<script>alert('x')</script> & \"quoted\""


def number_protected(release: Release) -> Number:
    """How many there are of what is protected, as far as released numbers show it."""
    own = {"labels": bounding.count_users, "streams": streams_number}
    return own.get(find_kind(release).name, count_units)(release)


def secret_release() -> Release:
    """Release the sentinels; no released number equals one of them."""
    profile = Profile.from_prevalences(SENTINELS, [1, 1, 1])
    return RankSplit(epsilon="0.001").release(profile, random.Random(1).randbytes)


def usual_release() -> Release:
    """Release a list with more distinct counts than the report shows."""
    profile = Profile.from_counts([3000 // i for i in range(1, 3001)])
    return RankSplit(epsilon=1).release(profile, random.Random(2).randbytes)


def tiny_release() -> Release:
    return RankSplit(epsilon="1/3").release(Profile.from_counts([3, 1]), random.Random(3).randbytes)


def empty_release() -> Release:
    return RankSplit(epsilon=1, total=0).release(Profile.from_counts([]))


def sorted_release() -> Release:
    """Release with a mechanism whose parameters hold a string and a public number."""
    mechanism = SortedCounts(epsilon="0.05", labels=60, sensitivity=3)
    profile = Profile.from_counts(range(1, 51))
    return mechanism.release(profile, random.Random(4).randbytes)


def other_releases() -> dict[str, Callable[[], Release]]:
    """One release of each other mechanism."""
    profile = Profile.from_counts(range(1, 51))
    mechanisms = {
        "no smoothing": PrivHist(epsilon="0.5"),
        "smoothing": PrivHist(epsilon="0.5", shares=(1, 1, "1/3"), sensitivity=2),
        "adaptive scan": AdaptiveScan(epsilon=1),
        "partition": PartitionSampler(epsilon=1, delta=1e-7),
        "cumulative": CumulativeCounts(epsilon=1, largest=60),
    }
    return {
        name: partial(mechanism.release, profile, random.Random(5).randbytes)
        for name, mechanism in mechanisms.items()
    }


ALL = {
    **other_releases(),
    "usual": usual_release,
    "tiny": tiny_release,
    "empty": empty_release,
    "sorted": sorted_release,
    "secret": secret_release,
}


@dataclass(frozen=True)
class Hostile:
    """A mechanism whose every text holds markup."""

    epsilon: Fraction = Fraction(1)
    sensitivity: int = 1
    note: str = HOSTILE

    @property
    def guarantee(self) -> PureDP:
        return PureDP(self.epsilon)

    def expected_error(self, total: int | None = None) -> float:
        return 1.0

    def intervals(self, release: Release) -> Band:
        return Band(release.value, release.value, 0.9, HOSTILE)

    @property
    def description(self) -> str:
        return HOSTILE

    @property
    def reference(self) -> str:
        return HOSTILE


def hostile_release() -> Release:
    mechanism = Hostile()
    value = AnonymizedHistogram([5, 2], [1, 1])
    return Release(value, mechanism.guarantee, mechanism, 7, {}, HOSTILE)  # type: ignore[arg-type]
