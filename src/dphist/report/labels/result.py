"""The result of a release of labels in one sentence for a manager."""

import math

from dphist.labels import DiscoverLabels
from dphist.release.release import Release
from dphist.report.labels.appearance import half_width
from dphist.report.labels.counted import counted_of
from dphist.report.labels.words import mechanism_of
from dphist.report.labels_shown import label_texts
from dphist.report.nouns import Verbatim, nouns_of


def result_of(release: Release) -> list[str]:
    """Return the sentence in parts; the released label is `Verbatim`."""
    value, nouns = release.value, nouns_of(release)
    labels = [label for label in label_texts(value) if label is not None]
    if not labels:
        return [f"No {nouns.label[0]} is common enough to be named."]
    first = Verbatim(labels[0])
    number = nouns.several(len(labels), nouns.label)
    if isinstance(release.mechanism, DiscoverLabels):
        have = "has" if len(labels) == 1 else "have"
        return [f"{number} {have} enough {nouns.unit[1]} to be named; ", first, " is one of them."]
    if value.counts is None:
        if len(labels) == 1:
            return [f"The most common {nouns.label[0]} is ", first, "."]
        return [f"The {len(labels):,} most common {nouns.label[1]}, in order: ", first, " first."]
    about = about_text(int(value.counts[0]), half_width(mechanism_of(release)))
    if mechanism_of(release).threshold is None:
        return [f"Counts of {number}; the largest is that of ", first, f", about {about}."]
    is_are = "is" if len(labels) == 1 else "are"
    if counts_users(release):
        who = nouns.unit[1]
        have = "has" if len(labels) == 1 else "have"
        return [f"{number} {have} enough {who} to be named; ", first, f" has about {about}."]
    what = nouns.record[1]
    return [f"{number} {is_are} common enough to be named; ", first, f" has about {about} {what}."]


def counts_users(release: Release) -> bool:
    """Whether each count is a number of users: every user adds at most 1 to a label."""
    unit = release.guarantee.unit
    return unit.who != "record" and dict(unit.bounds).get("max_count") == 1 and bool(
        counted_of(release).cut
    )  # fmt: skip


def about_text(count: int, error: float) -> str:
    """Round a count to the place that its error leaves.

    >>> about_text(3888, 15), about_text(753_217, 4), about_text(12, 15)
    ('3,890', '753,217', '10')
    """
    place = 10 ** max(math.floor(math.log10(error)), 0) if error >= 1 else 1
    return f"{max(round(count / place) * place, min(count, place)):,}"
