"""The head of a released table: its largest and its smallest counts."""

from dataclasses import dataclass

from dphist.data.profile import Profile


@dataclass(frozen=True, slots=True)
class Row:
    """One distinct count, in records per label.

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
class Head:
    """The largest counts, from the largest, and the smallest ones, down to the smallest.

    Attributes
    ----------
    largest, smallest : rows; `smallest` is empty where `largest` holds the whole table.
    rows : of the whole table, which is released in full.
    """

    largest: list[Row]
    smallest: list[Row]
    rows: int


def head(profile: Profile, size: int = 10) -> Head:
    """Return the first `size` rows of each end; all of a table of at most `2 * size` rows."""
    rows = len(profile.counts)
    whole = rows <= 2 * size
    return Head(
        _rows(profile, range(rows if whole else size)),
        [] if whole else _rows(profile, range(rows - size, rows)),
        rows,
    )


def _rows(profile: Profile, places: range) -> list[Row]:
    """Return rows by their place from the largest count, which is place 0."""
    found = []
    for place in places:
        at = len(profile.counts) - 1 - place
        count = int(profile.counts[at])
        found.append(
            Row(count, int(profile.prevalences[at]), int(profile.cumulative_prevalences(count)))
        )
    return found
