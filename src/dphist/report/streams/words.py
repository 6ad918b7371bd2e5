"""What running counts of a stream promise, in sentences.

Functions of parameters and of what was stated before data were seen.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, cast

from dphist.document.counted import how_many
from dphist.document.guarantee_words import LEVEL, limits_in_words, plural_of
from dphist.privacy import PrivacyUnit
from dphist.privacy.as_text import plain, up, with_article
from dphist.release.release import Release
from dphist.streams import ContinualMechanism
from dphist.streams.methods import COMPOSITION


def mechanism_of(release: Release) -> ContinualMechanism:
    """Return the mechanism of a release, whose kind serves these alone."""
    return cast(ContinualMechanism, release.mechanism)


def unit_of(mechanism: ContinualMechanism, provenance: Mapping[str, Any]) -> PrivacyUnit:
    """Return what is protected."""
    unit: PrivacyUnit = provenance.get("unit", mechanism.unit)
    return unit


def coverage_in_words(mechanism: ContinualMechanism) -> str:
    """Say that the guarantee is for all readings together."""
    readings = "however many there are"
    if mechanism.readings is not None:
        readings = f"at most {mechanism.readings:,}"
    events = "the whole stream of up to " + how_many(mechanism.horizon, "event")
    if mechanism.method == "unbounded":
        events = f"the whole stream, however long (it ends after {mechanism.horizon:,} events)"
    return f"This holds for all readings together, {readings}, over {events}."


def neighbors_in_words(mechanism: ContinualMechanism, provenance: Mapping[str, Any]) -> str:
    """State which data are neighbors."""
    bound = mechanism.max_events_per_user
    if bound is None:
        replaced, kept = "one event by an event without labels", ""
    else:
        user = unit_of(mechanism, provenance).single
        replaced = f"the events of {user} by events without labels"
        kept = f" At most {how_many(bound, 'event')} of each {user.name} count."
    return (
        f"D and D′ are neighbors if replacing {replaced} turns one into the other.{kept} The "
        "number and the times of events are public."
    )


def bounding_in_words(mechanism: ContinualMechanism, provenance: Mapping[str, Any]) -> list[str]:
    """Say how events are bounded, for a stream that goes on or is only planned."""
    labels, bound = mechanism.max_labels, mechanism.max_events_per_user
    lines = [f"At most {how_many(labels, 'label')} of an event counts, chosen at random."]
    if labels > 1:
        lines = [f"At most {labels:,} labels of an event count, chosen at random if it has more."]
    if bound is not None:
        user = with_article(unit_of(mechanism, provenance).name)
        lines.append(
            f"At most {how_many(bound, 'event')} of {user} {'counts' if bound == 1 else 'count'} "
            "over the whole stream; a further one counts as an event without labels."
        )
    return lines


def method_in_words(mechanism: ContinualMechanism) -> str:
    """Name the method, and say what its noise is made of.

    >>> method_in_words(ContinualMechanism(epsilon=1, delta="1e-6", horizon=9, method="binary"))
    'binary: Gaussian noise, drawn for each sum over a dyadic block of events'
    """
    method = mechanism.method
    return f"{method}: {mechanism.law.distribution} noise, {COMPOSITION[method]}"


def threshold_in_words(mechanism: ContinualMechanism, until: int | None = None) -> str:
    """Say where the threshold lies, and which counts are above it.

    Parameters
    ----------
    until : the last time, if the threshold grows with time: see `stated_until`.
    """
    threshold = mechanism.threshold if until is None else mechanism.threshold_at(until)
    if threshold is None:
        return "There is no threshold: all listed labels are in each reading."
    after = "" if until is None else f" after {how_many(until, 'event')}, less before"
    return (
        f"Threshold: {threshold_text(threshold)}{after}; labels with a noisy count above it are in "
        f"a reading. From a count of {likely_count(mechanism, until):,} on, a label is in it with "
        "a chance of 95 % or more."
    )


def until(release: Release) -> int | None:
    """Return the time up to which errors are stated; None where they are for all times."""
    return mechanism_of(release).stated_until(int(release.value.times[-1]))


def threshold_of(release: Release) -> Fraction | None:
    """Return the threshold at the last reading."""
    mechanism, last = mechanism_of(release), until(release)
    return mechanism.threshold if last is None else mechanism.threshold_at(last)


def threshold_text(threshold: Fraction) -> str:
    """Write a threshold with one decimal place, rounded up."""
    return f"{math.ceil(threshold * 10) / 10:,.1f}"


def likely_count(mechanism: ContinualMechanism, until: int | None = None) -> int:
    """Return the count from which on a label is released with 95 %, by the largest noise."""
    return int(mechanism.likely_count(LEVEL, until))


def half_width(mechanism: ContinualMechanism, until: int | None = None) -> int:
    """Return the least q at which a count's noise, rounded, is within q with 95 % at any time."""
    return int(mechanism.half_width(LEVEL, until))


def error_text(mechanism: ContinualMechanism, until: int | None = None) -> str:
    """Write the largest standard error in three digits, rounded up."""
    error = mechanism.standard_error if until is None else mechanism.standard_error_at(until)
    return plain(up(error, 3))


def intervals_in_words(mechanism: ContinualMechanism, until: int | None = None) -> str:
    """Say what the error bands mean."""
    multiple = "" if mechanism.method == "laplace" else "That is 1.96 standard errors, and a"
    start = (
        f"Bands and intervals reach {half_width(mechanism, until):,} to both sides of a released "
        f"count. {multiple or 'A'} standard error is at most {error_text(mechanism, until)}. "
        "The noise stays within that with a probability of 95 % or more, for each label and each "
        "time by itself. At times that are close together the noise is partly the same: a line "
        "that is too high now is likely too high a little later."
    )
    if mechanism.threshold is None:
        return start
    return (
        f"{start} Near the threshold intervals miss more often: a label that has just been "
        "released is there because its noise was large."
    )


def limits_of(
    mechanism: ContinualMechanism, provenance: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """Say what the release leaves out and the guarantee does not cover."""
    limits = []
    if mechanism.threshold is not None:
        limits.append(
            (
                "Labels that are missing.",
                "A label that is not in a reading was below the threshold. Its count may have been "
                "above zero. Noise may hide a label longer, or hide it again.",
            )
        )
    limits.append(
        (
            "The number and times of events.",
            "They are public: the release holds the exact number of events at each reading.",
        )
    )
    if mechanism.max_events_per_user is not None:
        limits.append(
            (
                f"What {plural_of(unit_of(mechanism, provenance))} had beyond the bound.",
                "No count contains it, so counts may be too small even without noise.",
            )
        )
    if mechanism.labels is not None:
        limits.append(
            (
                "The listed labels.",
                "They were given as public knowledge. If they were taken from the data, the "
                "guarantee does not cover what they reveal.",
            )
        )
    told = {
        "Errors of the data.": "Bands and intervals describe the noise added here, not how the "
        "data were gathered, sampled or cleaned.",
        "Other releases.": "Further readings of this stream are covered. Each other release from "
        "the same data costs privacy again; the epsilons add up, and so do the deltas.",
    }
    unit = unit_of(mechanism, provenance)
    return limits + [(about, told.get(about, how)) for about, how in limits_in_words(unit)]


def reached_in_words(release: Release) -> str:
    """Say how far the stream has come.

    The horizon is the last event the guarantee covers.
    """
    time, horizon = int(release.value.times[-1]), mechanism_of(release).horizon
    if mechanism_of(release).method == "unbounded":
        return f"{time:,}; no horizon was chosen"
    return f"{time:,} of at most {horizon:,} (the horizon)"
