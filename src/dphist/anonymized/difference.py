"""What two anonymized histograms say of the counts at the same ranks."""

import numpy as np

from dphist.anonymized.band import ALL_LABELS
from dphist.arrays import FloatArray
from dphist.document.differing import UNKNOWN_BOUNDING, Bounds, Differing
from dphist.errors import UnsupportedError
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.release import Release
from dphist.sentence import Sentence

_RANKS = 40  # compared at most
_HOLDS = Sentence(
    "All intervals hold at once with the stated probability, over the noise of both releases: the "
    "band of each release holds at all ranks at once, and is taken at half of the error, so that "
    "it does not matter what the two have in common, such as the same people."
)
_RANK = Sentence(
    "Rows compare the counts at a rank, the largest first: the {label} at a rank may be another "
    "one in each release, as the releases name none."
)


def compare_releases(before: Release, after: Release) -> Differing:
    """Return what two releases say of the counts at some ranks, closer together at the top."""
    for each in (before, after):
        covers = each.mechanism.intervals(each).covers
        if covers != ALL_LABELS:
            raise UnsupportedError(
                f"the error band of {type(each.mechanism).__name__} does not cover {ALL_LABELS}, "
                "so nothing is known of the difference at some ranks: use AdaptiveScan"
            )
    last = max(each.value.labels for each in (before, after))
    ranks = np.unique(np.geomspace(1, max(last, 1), _RANKS).astype(np.int64))
    return Differing(
        places={"rank": [str(rank) for rank in ranks.tolist()]},
        before=counts_at(before.value, ranks),
        after=counts_at(after.value, ranks),
        bounds=lambda level: (_bounds(before, ranks, level), _bounds(after, ranks, level)),
        tests=1,
        correction="No division is needed: the bands hold at all ranks at once",
        holds=[_HOLDS, _RANK],
        noun="rank",
        bounding=[_bounding(each) for each in (before, after)],
    )


def counts_at(histogram: AnonymizedHistogram, ranks: np.ndarray) -> FloatArray:
    """Return the counts at ranks; 0 beyond the last label."""
    ends = np.cumsum(histogram.prevalences[::-1])
    counts = np.append(histogram.counts[::-1], 0)
    found: FloatArray = counts[np.searchsorted(ends, ranks, side="left")].astype(np.float64)
    return found


def _bounds(release: Release, ranks: np.ndarray, level: float) -> Bounds:
    band = release.mechanism.intervals(release, level)
    return counts_at(band.lower, ranks), counts_at(band.upper, ranks)


def _bounding(release: Release) -> str:
    if not {"max_records", "max_labels"} & set(release.provenance):
        return ""
    return UNKNOWN_BOUNDING
