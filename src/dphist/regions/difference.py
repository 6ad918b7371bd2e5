"""What two releases of the same regions say of the counts at the same ranks."""

import numpy as np

from dphist.anonymized.difference import counts_at
from dphist.arrays import FloatArray
from dphist.document.differing import UNKNOWN_BOUNDING, Bounds, Differing, check_same
from dphist.regions.histograms import RegionalHistograms
from dphist.release.release import Release
from dphist.sentence import Sentence

_RANKS = 10  # of a region, at most
_HOLDS = Sentence(
    "All intervals hold at once with the stated probability, over the noise of both releases: the "
    "bands of each release hold in all regions and at all ranks at once, and are taken at half of "
    "the error, so that it does not matter what the two have in common, such as the same people."
)
_RANK = Sentence(
    "Rows compare the counts at a rank of a region, the largest first: the {label} at a rank may "
    "be another one in each release, as the releases name none."
)


def compare_releases(before: Release, after: Release) -> Differing:
    """Return what two releases say of the counts at some ranks of each region."""
    first, second = before.value, after.value
    check_same("regions", first.regions, second.regions)
    tree = first.regions
    ranks = [_ranks(first, second, path) for path in tree.regions]
    names = [tree.name(path) for path in tree.regions]
    bounded = {"max_records", "max_labels"}
    return Differing(
        places={
            "region": [n for n, own in zip(names, ranks, strict=True) for _ in own],
            "rank": [str(rank) for own in ranks for rank in own.tolist()],
        },
        before=_counts(first, ranks),
        after=_counts(second, ranks),
        bounds=lambda level: (_bounds(before, ranks, level), _bounds(after, ranks, level)),
        tests=1,
        correction="No division is needed: the bands hold in all regions and at all ranks at once",
        holds=[_HOLDS, _RANK],
        noun="rank of a region",
        joint=", ",
        bounding=[
            UNKNOWN_BOUNDING if bounded & set(each.provenance) else "" for each in (before, after)
        ],
    )


def _ranks(first: RegionalHistograms, second: RegionalHistograms, path: object) -> np.ndarray:
    last = max(first[path].labels, second[path].labels, 1)
    return np.unique(np.geomspace(1, last, _RANKS).astype(np.int64))


def _counts(value: RegionalHistograms, ranks: list[np.ndarray]) -> FloatArray:
    paths = value.regions.regions
    return np.concatenate(
        [counts_at(value[path], own) for path, own in zip(paths, ranks, strict=True)]
    )


def _bounds(release: Release, ranks: list[np.ndarray], level: float) -> Bounds:
    band = release.mechanism.intervals(release, level)
    return _counts(band.lower, ranks), _counts(band.upper, ranks)
