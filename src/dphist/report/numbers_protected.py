"""How many units a release protects, as far as released numbers show it; it costs nothing."""

from dphist.release.release import Release
from dphist.report.delta_words import Number


def number_shown(release: Release, records: int, most: int = 1, *, exact: bool = False) -> Number:
    """Return how many units a number of released records shows.

    Parameters
    ----------
    records : a released number of records.
    most : records of one unit, at most; `records` are of `records / most` units or more.
    exact : whether there are no further units.
    """
    unit = release.guarantee.unit
    noun = "units" if unit.at_most > 1 else unit.plural
    return Number(-(-records // most) or None, noun, at_least=not exact)


def most_shown(counts: list[int], labels: int | None, most: int) -> tuple[int, int]:
    """Return the records, and the records of one unit, that show the most units.

    Parameters
    ----------
    counts : released counts of labels.
    labels : how many labels one unit counts for, at most; None for any number.
    most : records of one unit in one label, at most.
    """
    one = max([*counts, 0]), most
    if labels is None:
        return one
    every = sum(count for count in counts if count > 0), most * labels
    return max(one, every, key=lambda found: -(-found[0] // found[1]))
