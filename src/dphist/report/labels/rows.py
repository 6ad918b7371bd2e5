"""Released labels as rows, with the intervals of their counts."""

from dataclasses import dataclass

from dphist.labels.mechanism import LARGEST_COUNT
from dphist.release.release import Release
from dphist.report.labels.appearance import half_width
from dphist.report.labels.words import mechanism_of, threshold_base
from dphist.report.labels_shown import label_texts


@dataclass(frozen=True, slots=True)
class Row:
    """One released label.

    Attributes
    ----------
    rank : place in the order released, from 1.
    label : as text; None in the row that says that too few labels were found.
    count, low, high : released count and 95 % interval, records; None if there are no counts.
    """

    rank: int
    label: str | None
    count: int | None
    low: int | None
    high: int | None


def rows_of(release: Release, most: int) -> list[Row]:
    """Return the first `most` rows of a release."""
    texts = label_texts(release.value)[:most]
    counts = release.value.counts
    if counts is None:
        return [Row(i, text, None, None, None) for i, text in enumerate(texts, 1)]
    width, least = half_width(mechanism_of(release)), least_count(release)
    return [
        Row(i, text, count, max(count - width, least), max(count + width, least))
        for i, (text, count) in enumerate(zip(texts, counts[:most].tolist(), strict=True), 1)
    ]


def least_count(release: Release) -> int:
    """Return the lowest end of intervals.

    A label that nobody listed occurs in the data, so its count is at least 1. The noisy count of a
    listed label may be negative, and so may its interval.
    """
    return -LARGEST_COUNT if threshold_base(mechanism_of(release)) is None else 1
