"""How contributions to labels are bounded, in words: whom data protect, and what counts are of."""

import math
from collections.abc import Mapping
from typing import Any, cast

from dphist.document.kind import DataFacts
from dphist.document.unit_words import (
    Counted,
    Number,
    counted_after_cut,
    missing_in_words,
    most_shown,
    nouns_of_unit,
    number_shown,
    unit_in_words,
)
from dphist.labels import ThresholdHistogram
from dphist.labels.mechanism import LabelsMechanism
from dphist.labels.threshold.cut_users import CutUsers
from dphist.privacy import PrivacyUnit
from dphist.privacy.unit import ASSERTED_USER, ONE_ROW
from dphist.release.release import Release
from dphist.sentence import Sentence, joined, many


def unit_of(data: DataFacts) -> PrivacyUnit:
    """Return whom data protect; users whose bounds the caller asserts by default.

    >>> print(unit_of(DataFacts()))
    one user, as promised by the caller
    """
    return data.unit or ASSERTED_USER


def mechanism_of(release: Release) -> LabelsMechanism:
    """Return the mechanism of a release, whose kind serves these alone."""
    return cast(LabelsMechanism, release.mechanism)


def bounds_in_words(mechanism: LabelsMechanism) -> Sentence:
    """Say how much one user may add.

    >>> bounds_in_words(ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=10))
    'at most 1 to each of at most 10 labels'
    """
    most, labels = mechanism.max_count, mechanism.max_labels
    if labels == 1:
        return Sentence("at most {most:,} to at most one {label}", most=most)
    held = "any number of {labels}" if labels is None else "at most {held:,} {labels}"
    return Sentence(f"at most {{most:,}} to each of {held}", most=most, held=labels)


def adds_in_words(mechanism: LabelsMechanism, unit: PrivacyUnit) -> Sentence:
    """Say how much one user adds, as a sentence."""
    return Sentence(
        f"{{one}}{','[: unit.or_rows]} adds {{bounds}}.",
        one=unit_in_words(unit.single, "One"),
        bounds=bounds_in_words(mechanism),
    )


def neighbors_of(mechanism: LabelsMechanism, unit: PrivacyUnit) -> Sentence:
    """State which data are neighbors."""
    return Sentence(
        "D and D′ are neighbors if adding or removing {one}{comma} turns one into the other. "
        "{adds}",
        one=unit_in_words(unit.single),
        comma=","[: unit.or_rows],
        adds=adds_in_words(mechanism, unit),
    )


def bounding_in_words(mechanism: LabelsMechanism, data: DataFacts) -> Sentence:
    """Say how contributions are bounded, and what becomes of rows without a user or label."""
    unit = unit_of(data)
    who, _, a_user = nouns_of_unit(unit)
    lines = [adds_in_words(mechanism, unit)]
    if unit.asserted:
        only_adds = isinstance(mechanism, ThresholdHistogram) and mechanism.correlated
        lines.append(
            Sentence(
                "Whoever counted the {labels} asserts that no {who} adds more{smaller}; dphist "
                "cannot check it.",
                who=who,
                smaller=" or makes any count smaller" if only_adds else "",
            )
        )
    elif unit == ONE_ROW:
        lines.append(
            Sentence(
                "Each {who} counts as a separate {user}: someone with m {rows} is protected less.",
                who=who,
                rows=nouns_of_unit(unit)[1],
            )
        )
    else:
        chosen = "" if mechanism.max_labels is None else "; the {labels} are chosen at random"
        lines.append(
            Sentence(f"If {{a_user}} has more, only that much is counted{chosen}.", a_user=a_user)
        )
    return joined([*lines, *missing_in_words(data.bounds, unit)])


def counted_by(mechanism: LabelsMechanism, data: DataFacts) -> Counted:
    """Return what a mechanism counts, by what is known of the data before they are read.

    >>> mechanism = ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=10)
    >>> counted_by(mechanism, DataFacts(unit=PrivacyUnit("user"))).whole
    'records, after each user was cut to at most 10 labels and 1 record of each'
    >>> counted_by(mechanism, DataFacts(unit=PrivacyUnit("user"))).cut
    'each user cut to 10 labels, 1 of each'
    """
    unit, (labels, most) = unit_of(data), _bounds(mechanism, data.bounds)
    if unit.asserted:
        before = "{records} as the caller counted them; {several} may have been cut before"
        return Counted(Sentence(before, several=nouns_of_unit(unit)[1]))
    if unit == ONE_ROW:
        # Without a column of counts a row is one record.
        whole = "max_count" not in data.bounds if "null_labels" in data.bounds else most == 1
        if whole:
            return Counted(Sentence("{records}"))
        return counted_after_cut(unit, f"at most {most:,}", f"{most:,}")
    each = many(most, "record")
    if labels is None:
        held = Sentence("{each} of each {label}", each=each)
        return counted_after_cut(unit, Sentence("at most {held}", held=held), held)
    held = many(labels, "label")
    return counted_after_cut(
        unit,
        Sentence("at most {held} and {each} of each", held=held, each=each),
        Sentence("{held}, {most:,} of each", held=held, most=most),
    )


def counted_of(release: Release) -> Counted:
    """Return what the counts of a release count."""
    return counted_by(mechanism_of(release), DataFacts.of(release))


def _bounds(mechanism: LabelsMechanism, stated: Mapping[str, Any]) -> tuple[int | None, int]:
    """Return what users were cut to: the data's own bounds, or else the mechanism's."""
    if "max_labels" not in stated:  # in files of earlier versions
        return mechanism.max_labels, mechanism.max_count
    labels = stated["max_labels"]
    return None if labels == "none" else int(labels), int(stated["max_count"])


def counts_users(release: Release) -> bool:
    """Whether each count is a number of users: every user adds at most 1 to a label."""
    unit = release.guarantee.unit
    adds_one = unit.who != "record" and dict(unit.bounds).get("max_count") == 1
    return adds_one and bool(counted_of(release).cut)


def read_cut_users(release: Release) -> CutUsers | None:
    """Return how many users were cut, if the release tells."""
    mechanism = mechanism_of(release)
    if not isinstance(mechanism, ThresholdHistogram):
        return None
    return mechanism.cut_users(release.noisy)


def format_cut_share(found: CutUsers) -> tuple[str, str]:
    """Return the share of users who were cut, and its 95 % interval.

    >>> format_cut_share(CutUsers(9030, 970, 30))
    ('9.7 %', '9.4 to 10 %')
    """
    low, high = math.floor(1000 * found.low) / 10, math.ceil(1000 * found.high) / 10
    return f"{round(1000 * found.share) / 10:g} %", f"{low:g} to {high:g} %"


def cut_users_in_words(found: CutUsers, mechanism: ThresholdHistogram, users: str) -> Sentence:
    """Say how many users had more than the bounds.

    Parameters
    ----------
    users : what users are called, in the plural.

    >>> mechanism = ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=10)
    >>> cut_users_in_words(CutUsers(9030, 970, 30), mechanism, "users")
    ... # doctest: +NORMALIZE_WHITESPACE
    'About 9.7 % of users (95 % interval 9.4 to 10 %) had more than 10 labels; their surplus is
    missing from the counts.'
    """
    share, interval = format_cut_share(found)
    more = ", or more than {most:,} {records} of one" if mechanism.max_count > 1 else ""
    return Sentence(
        "About {share} of {several} (95 % interval {interval}) had more than {held}"
        f"{more}; their surplus is missing from the counts.",
        share=share,
        several=users,
        interval=interval,
        held=many(mechanism.max_labels, "label"),
        most=mechanism.max_count,
    )


def bounding_cost(release: Release) -> str:
    """Say how many users were cut, or that the release does not tell; empty if none were."""
    mechanism, found = mechanism_of(release), read_cut_users(release)
    unit = unit_of(DataFacts.of(release))
    several = nouns_of_unit(unit)[1]
    if isinstance(mechanism, ThresholdHistogram) and found is not None:
        return cut_users_in_words(found, mechanism, several)
    if not counted_of(release).cut or unit == ONE_ROW:
        return ""
    said = "The release does not state how many {several} had more than the bounds."
    return Sentence(said, several=several)


def number_of(release: Release) -> Number:
    """Return how many users there are: a released number of users, or what counts show."""
    users, counts = read_cut_users(release), release.value.counts
    if users is not None:
        return number_shown(release, max(users.within, 0) + max(users.cut, 0), exact=True)
    if counts is None:
        return number_shown(release, 0)
    mechanism = mechanism_of(release)
    shown = most_shown(counts.tolist(), mechanism.max_labels, mechanism.max_count)
    return number_shown(release, *shown)
