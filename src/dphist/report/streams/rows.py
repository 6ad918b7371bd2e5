"""Labels of the last reading as rows, with the intervals of their counts."""

from dataclasses import dataclass

from dphist.release.release import Release
from dphist.report.streams.words import half_width, mechanism_of, until


@dataclass(frozen=True, slots=True)
class Row:
    """One label of a reading.

    Attributes
    ----------
    rank : place in the reading, from 1.
    label : as text.
    count, low, high : released count and 95 % interval, events.
    """

    rank: int
    label: str
    count: int
    low: int
    high: int


def rows_of(release: Release, most: int) -> list[Row]:
    """Return the first `most` rows of the last reading."""
    table = release.value.top(most)
    return [
        Row(rank, label or "", count, *interval(release, count))
        for rank, (label, count) in enumerate(
            zip(table.texts, table.counts.tolist(), strict=True), 1
        )
    ]


def interval(release: Release, count: int) -> tuple[int, int]:
    """Return the 95 % interval of a released count."""
    width, least = half_width(mechanism_of(release), until(release)), least_count(release)
    low, high = count - width, count + width
    return (low, high) if least is None else (max(low, least), max(high, least))


def least_count(release: Release) -> int | None:
    """Return the lowest end of intervals; None if there is none.

    A label that nobody listed occurs in the stream, so its count is at least 1. The noisy count of
    a listed label may be negative.
    """
    return None if mechanism_of(release).threshold is None else 1
