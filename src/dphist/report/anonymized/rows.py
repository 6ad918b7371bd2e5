"""Rows of an anonymized histogram: those of its largest and of its smallest counts."""

from dataclasses import dataclass

from dphist.release.anonymized_histogram import AnonymizedHistogram


@dataclass(frozen=True, slots=True)
class Row:
    """One distinct count.

    Attributes
    ----------
    count : records per label.
    prevalence : labels with that count.
    or_more : labels with that count or a larger one.
    """

    count: int
    prevalence: int
    or_more: int


@dataclass(frozen=True, slots=True)
class Ends:
    """Both ends of the table, each from its largest count down.

    Attributes
    ----------
    largest, smallest : rows; `smallest` is empty if `largest` holds the whole table.
    rows : how many rows the whole table has.
    """

    largest: list[Row]
    smallest: list[Row]
    rows: int


def ends_of(histogram: AnonymizedHistogram, size: int = 10) -> Ends:
    """Return the first `size` rows of each end; all of a table of at most `2 * size` rows."""
    rows = len(histogram.counts)
    if rows <= 2 * size:
        return Ends(_rows(histogram, range(rows)), [], rows)
    return Ends(_rows(histogram, range(size)), _rows(histogram, range(rows - size, rows)), rows)


def _rows(histogram: AnonymizedHistogram, places: range) -> list[Row]:
    """Return rows by their place from the largest count, which is place 0."""
    found = []
    for place in places:
        at = len(histogram.counts) - 1 - place
        count = int(histogram.counts[at])
        found.append(
            Row(count, int(histogram.prevalences[at]), int(histogram.cumulative_prevalences(count)))
        )
    return found
