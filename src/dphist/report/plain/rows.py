"""The rows of a table of labels, with the intervals that its mechanism states."""

from dataclasses import dataclass

import numpy as np

from dphist.arrays import IntArray
from dphist.document.guarantee_words import LEVEL
from dphist.release.label_table import LabelTable
from dphist.release.release import Release
from dphist.release.running_counts import RunningCounts


@dataclass(frozen=True, slots=True)
class Row:
    """One label.

    Attributes
    ----------
    rank : place in the order released, from 1.
    label : as text; None in the row that says that too few labels were found.
    count : released count, or None in a ranking.
    low, high : its 95 % interval, or None where the mechanism states none.
    """

    rank: int
    label: str | None
    count: int | None
    low: int | None
    high: int | None


def table_of(release: Release) -> LabelTable:
    """Return the labels: those of the last reading where there are several."""
    value: LabelTable | RunningCounts = release.value
    return value.latest if isinstance(value, RunningCounts) else value


def size_of(release: Release) -> dict[str, int]:
    """Return how much was released, by name."""
    value, labels = release.value, {"labels": len(table_of(release))}
    if not isinstance(value, RunningCounts):
        return labels
    return {"time": int(value.times[-1]), "readings": len(value), **labels}


def counts_of(release: Release) -> IntArray | None:
    """Return the counts of these labels; None in a ranking."""
    return table_of(release).counts


def rows_of(release: Release, most: int) -> list[Row]:
    """Return the first `most` rows."""
    texts = table_of(release).texts[:most]
    counts = counts_of(release)
    if counts is None:
        return [Row(rank, text, None, None, None) for rank, text in enumerate(texts, 1)]
    low: list[int | None] = [None] * len(texts)
    high = low
    bounds = release.mechanism.intervals(release, LEVEL)
    if bounds is not None:
        low = np.floor(np.asarray(bounds.lower)[:most]).astype(np.int64).tolist()
        high = np.ceil(np.asarray(bounds.upper)[:most]).astype(np.int64).tolist()
    found = zip(texts, counts[:most].tolist(), low, high, strict=True)
    return [Row(rank, *row) for rank, row in enumerate(found, 1)]
