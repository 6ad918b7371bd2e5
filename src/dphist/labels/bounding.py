"""How contributions to labels are bounded, in words: whom data protect, and what counts are of."""

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from dphist.arrays import IntArray
from dphist.document.blocks import ON_JSON, Block, Fact
from dphist.document.bounding import (
    LABELS,
    cut_in_words,
    facts_of_sizes,
    format_share,
    unknown_in_words,
)
from dphist.document.kind import DataFacts
from dphist.document.unit_words import (
    Counted,
    Number,
    describe_counted_after_cut,
    missing_in_words,
    most_shown,
    nouns_of_unit,
    number_shown,
    unit_in_words,
)
from dphist.document.weight_words import weigh_counted
from dphist.labels import AutoThreshold, ThresholdHistogram
from dphist.labels.mechanism import LabelsMechanism
from dphist.labels.threshold.measuring import NAME
from dphist.privacy import PrivacyUnit
from dphist.privacy.unit import ASSERTED_USER, ONE_ROW
from dphist.release.fitted_users import Share
from dphist.release.release import Release
from dphist.release.users_by_size import WIDEST, UsersBySize
from dphist.sentence import Sentence, join_sentences, many


def find_unit(data: DataFacts) -> PrivacyUnit:
    """Return whom data protect; users whose bounds the caller asserts by default.

    >>> print(find_unit(DataFacts()))
    one user, as promised by the caller
    """
    return data.unit or ASSERTED_USER


def find_mechanism(release: Release) -> LabelsMechanism:
    """Return the mechanism that decides about the labels and counts of a release.

    Of a cap that was found, it is the threshold histogram with this cap.
    """
    mechanism = cast(LabelsMechanism, release.mechanism)
    return mechanism.chosen(release) if isinstance(mechanism, AutoThreshold) else mechanism


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


def describe_neighbors(mechanism: LabelsMechanism, unit: PrivacyUnit) -> Sentence:
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
    unit = find_unit(data)
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
    if isinstance(mechanism, AutoThreshold):
        lines.append(
            Sentence("Of these {labels}, the counts have at most the number that is found.")
        )
    return join_sentences([*lines, *missing_in_words(data.bounds, unit)])


def describe_counted(mechanism: LabelsMechanism, data: DataFacts) -> Counted:
    """Return what a mechanism counts, by what is known of the data before they are read.

    >>> mechanism = ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=10)
    >>> describe_counted(mechanism, DataFacts(unit=PrivacyUnit("user"))).whole
    'records, after each user was bounded to at most 10 labels and 1 record of each'
    >>> describe_counted(mechanism, DataFacts(unit=PrivacyUnit("user"))).cut
    'each user bounded to 10 labels, 1 of each'
    """
    counted = _count_bounded(mechanism, data)
    return weigh_counted(counted, mechanism.step, data.bounds.get("weights"))


def _count_bounded(mechanism: LabelsMechanism, data: DataFacts) -> Counted:
    """Return what is counted, whatever a row counts."""
    unit, (labels, most) = find_unit(data), _bounds(mechanism, data.bounds)
    if unit.asserted:
        before = "{records} as the caller counted them; {several} may have been bounded before"
        return Counted(Sentence(before, several=nouns_of_unit(unit)[1]))
    if unit == ONE_ROW:
        # Without a column of counts a row is one record.
        whole = "max_count" not in data.bounds if "null_labels" in data.bounds else most == 1
        if whole:
            return Counted(Sentence("{records}"))
        return describe_counted_after_cut(unit, f"at most {most:,}", f"{most:,}")
    each = many(most, "record")
    if labels is None:
        held = Sentence("{each} of each {label}", each=each)
        return describe_counted_after_cut(unit, Sentence("at most {held}", held=held), held)
    held = many(labels, "label")
    return describe_counted_after_cut(
        unit,
        Sentence("at most {held} and {each} of each", held=held, each=each),
        Sentence("{held}, {most:,} of each", held=held, most=most),
    )


def find_counted(release: Release) -> Counted:
    """Return what the counts of a release count."""
    return describe_counted(find_mechanism(release), DataFacts.of(release))


def _bounds(mechanism: LabelsMechanism, stated: Mapping[str, Any]) -> tuple[int | None, int]:
    """Return what users were cut to: the data's own bounds, or else the mechanism's."""
    if "max_labels" not in stated:  # in files of earlier versions
        return mechanism.max_labels, mechanism.max_count
    labels = None if stated["max_labels"] == "none" else int(stated["max_labels"])
    if labels is not None and mechanism.max_labels is not None:
        labels = min(labels, mechanism.max_labels)  # less where a cap was found
    return labels, int(stated["max_count"])


def counts_users(release: Release) -> bool:
    """Whether each count is a number of users: every user adds at most 1 to a label."""
    unit = release.guarantee.unit
    adds_one = unit.who != "record" and dict(unit.bounds).get("max_count") == 1
    if find_mechanism(release).step is not None:
        return False
    return adds_one and bool(find_counted(release).cut)


def read_users(release: Release) -> UsersBySize | None:
    """Return how many users have how many labels, if the release tells."""
    mechanism = release.mechanism
    if not isinstance(mechanism, ThresholdHistogram):
        return None
    return mechanism.users(release.noisy)


def bounding_in_numbers(found: UsersBySize, mechanism: ThresholdHistogram) -> Sentence:
    """Say how much bounding took from the counts.

    >>> import numpy as np
    >>> mechanism = ThresholdHistogram(
    ...     epsilon=1, delta="1e-6", max_labels=2, users_by_labels=5
    ... )
    >>> found = mechanism.users({"users": np.array([4000, 3000, 2000, 1000, 3])})
    >>> bounding_in_numbers(found, mechanism)  # doctest: +NORMALIZE_WHITESPACE
    'Counts are about 20 % too low on average (95 % interval 19.5 to 20.5 %), because each user
    counts for at most 2 labels; about 30 % (29.5 to 30.5 %) of users have more. Labels of one user
    beyond 5 are not in this, so it may be more.'
    """
    if mechanism.max_count == 1:
        return cut_in_words(found, LABELS)
    pairs = "of the pairs of {a_user} and {a_label} are missing from the counts (95 % interval"
    lacking = f"About {{share}} {pairs} {{interval}})", f"Some {pairs} {{interval}})"
    said = "What {a_user} has beyond {most:,} {records} of one {label} is missing besides."
    besides = Sentence(said, most=mechanism.max_count)
    return join_sentences((cut_in_words(found, LABELS, lacking), besides))


def estimate_in_words(found: Share, mechanism: LabelsMechanism) -> Sentence:
    """Say by how much counts are too low on average where this is an estimate.

    >>> mechanism = ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=10)
    >>> estimate_in_words(Share(0.281, 0.25, 0.31), mechanism)  # doctest: +NORMALIZE_WHITESPACE
    'Counts are about 28.1 % too low on average (an estimate; probably 25 to 31 %), because each
    user counts for at most 10 labels. A single label may lack more.'
    >>> estimate_in_words(Share(0.9, 0, 1), mechanism)  # doctest: +NORMALIZE_WHITESPACE
    'Nothing is known of how much too low counts are because each user counts for at most 10 labels:
    too few users are in the data to tell them from the noise.'
    """
    share, interval = format_share(found)
    held = many(cast(int, mechanism.max_labels), "label")
    if found.low == 0 and found.high == 1:
        return Sentence(_TOO_FEW, held=held)
    text = (
        f"{_UNSURE if found.high - found.low > WIDEST else _LIKELY}, because each {{user}} counts "
        "for at most {held}. A single {label} may lack more."
    )
    return Sentence(text, share=share, interval=interval, held=held)


_LIKELY = "Counts are about {share} too low on average (an estimate; probably {interval})"
_UNSURE = "Counts are too low by {interval} on average (an estimate; too uncertain for one number)"
_TOO_FEW = (
    "Nothing is known of how much too low counts are because each {user} counts for at most "
    "{held}: too few {users} are in the data to tell them from the noise."
)


def bounding_cost(release: Release) -> str:
    """Say how much bounding took, or that nothing is known of it; empty if nobody was bounded."""
    mechanism, found = find_mechanism(release), read_users(release)
    if isinstance(release.mechanism, AutoThreshold):
        return estimate_in_words(release.mechanism.share_cut(release), mechanism)
    if isinstance(mechanism, ThresholdHistogram) and found is not None:
        return bounding_in_numbers(found, mechanism)
    unit = find_unit(DataFacts.of(release))
    if not find_counted(release).cut or unit == ONE_ROW:
        return ""
    return unknown_in_words(LABELS, nouns_of_unit(unit)[1])


def read_users_above(release: Release) -> UsersBySize | None:
    """Return numbers of users whose `users_above` are all who had more labels than were counted.

    None if a release does not tell, or users add more than 1. Of a number that was found, users
    above the largest were cut before the look, so those in the last cell may have had more.
    """
    found, mechanism = read_users(release), find_mechanism(release)
    if mechanism.max_count > 1:
        return None
    auto = release.mechanism
    return auto.users(release) if isinstance(auto, AutoThreshold) else found


def find_max_labels(release: Release) -> int | None:
    """Return how many labels of a user count in a release at most; None without a maximum."""
    return _bounds(find_mechanism(release), release.provenance)[0]


def facts_of_bounding(release: Release) -> list[Block]:
    """Return what programs are told of bounding, and a page's table of other bounds.

    Null where users were bounded and nothing is known of what that took.
    """
    found, auto = read_users(release), release.mechanism
    if found is not None:
        return facts_of_sizes(found, LABELS)
    if isinstance(auto, AutoThreshold):
        cap, share = auto.chosen(release).max_labels, auto.share_cut(release)
        dropped = {str(cap): [share.value, share.low, share.high]}
        as_json = {"max_labels": cap, "share_of_pairs_dropped": dropped, "estimate": True}
        return [Fact("", "", "bounding", as_json, on=ON_JSON)]
    return [Fact("", "", "bounding", None, on=ON_JSON)] if bounding_cost(release) else []


def most_before_bounding(release: Release) -> IntArray | None:
    """Return upper bounds on counts before users were bounded, (k,) int64; None if none is proved.

    A label lacks at most the users who had more than the bound. With 95 % a bound holds, as the
    interval's end and the number of these users each hold with 97.5 %.
    """
    found, mechanism = read_users(release), find_mechanism(release)
    if found is None or mechanism.max_count > 1:
        return None
    bounds: Any = mechanism.intervals(release)
    upper: IntArray = bounds.upper + found.users_above()[1]
    return upper


def most_in_words(release: Release) -> str:
    """Say what is proved of counts before bounding, and what is typical; empty if nothing is."""
    found = read_users(release)
    if found is None or most_before_bounding(release) is None:
        return ""
    share = found.share_cut()
    typical = f"{1 / (1 - share.value):.2f}" if share.value < 1 else ""
    text = (
        "Before bounding, a count is at most the end of its interval and {more:,} more (with 95 %, "
        "for each {label} by itself): no more {users} can have had more than {held}. That is all "
        "that is proved of a single {label}."
    )
    if typical:
        text += " On average it is about {typical} times the bounded count, or more."
    return Sentence(
        text,
        more=found.users_above()[1],
        held=many(found.bound, "label"),
        typical=typical,
    )


def count_users(release: Release) -> Number:
    """Return how many users there are: a released number of users, or what counts show."""
    users, counts = read_users(release), release.value.counts
    if isinstance(release.mechanism, AutoThreshold):
        return number_shown(release, max(int(release.noisy[NAME].sum()), 0), exact=True)
    if users is not None:
        return number_shown(release, users.total, exact=True)
    if counts is None:
        return number_shown(release, 0)
    mechanism = find_mechanism(release)
    whole = np.floor(counts).astype(np.int64)
    shown = most_shown(whole.tolist(), mechanism.max_labels, mechanism.max_count)
    return number_shown(release, *shown)
