"""What a release of running counts promises, in sentences.

As in `words`: functions of a mechanism's parameters and of what was stated before data were seen.
"""

import math
from collections.abc import Mapping
from typing import Any

from scipy.special import ndtri

from dphist.privacy.as_text import plain, up
from dphist.release.release import Release
from dphist.report.counted import how_many
from dphist.report.words import LEVEL, limits_in_words

_METHODS = {
    "autoregressive": "noise that is a sum of a few processes, slow and fast ones",
    "binary": "noise on each sum over a dyadic block of events",
}
_LIKELY = float(ndtri(LEVEL))
_WITHIN = float(ndtri((1 + LEVEL) / 2))


def protected_unit(mechanism: Any, provenance: Mapping[str, str]) -> str:
    """Name what is protected."""
    return provenance.get("unit", str(mechanism.unit))


def coverage_in_words(mechanism: Any) -> str:
    """Say that the guarantee is for all readings together."""
    if mechanism.readings is None:
        readings = "however many there are and whenever"
    else:
        readings = f"at most {mechanism.readings:,}, whenever they are made"
    return (
        f"That holds for all readings together, {readings}: for the whole stream of up to "
        f"{how_many(mechanism.horizon, 'event')}."
    )


def neighbours_in_words(mechanism: Any) -> str:
    """State the neighbouring relation."""
    bound = mechanism.max_events_per_user
    if bound is None:
        replaced = "one event replaced by an event without labels"
    else:
        replaced = (
            "the events of one user replaced by events without labels; of each user, at most "
            f"{how_many(bound, 'event')} {'is' if bound == 1 else 'are'} counted"
        )
    return (
        f"D and D′ are neighbours if one of them is the other with {replaced}. How many events "
        "there are, and when, is public."
    )


def bounding_in_words(mechanism: Any) -> list[str]:
    """Say how events are bounded, of a stream that goes on or is only planned.

    Each sentence holds for any mechanism of the kind.
    """
    labels, bound = mechanism.max_labels, mechanism.max_events_per_user
    most = "one label is" if labels == 1 else f"{labels:,} labels are"
    lines = [f"Of an event, at most {most} counted, chosen at random where it has more."]
    if bound is not None:
        most = "one event is" if bound == 1 else f"{bound:,} events are"
        lines.append(
            f"Of a user, at most {most} counted over the whole stream; a further one is counted "
            "as an event without labels."
        )
    return lines


def method_in_words(mechanism: Any) -> str:
    """Name the method."""
    name: str = mechanism.method
    return f"{name}, {_METHODS[name]}" if name in _METHODS else name


def threshold_in_words(mechanism: Any) -> str:
    """Say where the threshold lies, and which counts are above it."""
    if mechanism.threshold is None:
        return "There is no threshold: all listed labels are in each reading."
    return (
        f"Threshold: {threshold_text(mechanism)}; labels whose noisy count is above "
        "it are in a reading. A label is in it with a chance of 95 % or more from a count of "
        f"{likely_count(mechanism):,} on."
    )


def threshold_text(mechanism: Any) -> str:
    """Write the threshold with one digit after the point, not below what it is."""
    return f"{math.ceil(mechanism.threshold * 10) / 10:,.1f}"


def likely_count(mechanism: Any) -> int:
    """Return the count from which on a label is released with 95 %, by the largest noise."""
    return math.ceil(float(mechanism.threshold) + _LIKELY * float(mechanism.standard_error))


def half_width(mechanism: Any) -> int:
    """Return the least q at which a count's noise, rounded, is within q with 95 % at any time."""
    return max(math.ceil(_WITHIN * float(mechanism.standard_error) - 0.5), 0)


def error_text(mechanism: Any) -> str:
    """Write the standard error in three digits, rounded up: it is stated as the most there is."""
    return plain(up(mechanism.standard_error, 3))


def intervals_in_words(mechanism: Any) -> str:
    """Say what the error bands mean."""
    start = (
        f"Bands and intervals reach {half_width(mechanism):,} to both sides of a released count: "
        f"1.96 standard errors, of {error_text(mechanism)} at most. The noise stays within that "
        "with a probability of 95 % or more, for each label and each time by itself. At times that "
        "are close together the noise is partly the same: a line that is too high now is likely "
        "to be so a little later."
    )
    if mechanism.threshold is None:
        return start
    return (
        f"{start} Near the threshold intervals miss more often: a label that has just been "
        "released is there because its noise was large."
    )


def limits_of(mechanism: Any, unit: str) -> list[tuple[str, str]]:
    """Say what the release does not tell and the guarantee does not cover."""
    limits = []
    if mechanism.threshold is not None:
        limits.append(
            (
                "Labels that are missing.",
                "A label that is not in a reading was below the threshold then, which is not zero: "
                "its count may be anything up to about the threshold, and noise may hide it longer "
                "or again.",
            )
        )
    limits.append(
        (
            "The number and times of events.",
            "They are public: how many events there were at each reading is exact.",
        )
    )
    if mechanism.max_events_per_user is not None:
        limits.append(
            (
                "What users had beyond the bound.",
                "It is in no count, so counts may be smaller than in the data, apart from noise.",
            )
        )
    if mechanism.labels is not None:
        limits.append(
            (
                "The listed labels.",
                "They were given as public knowledge; if they were taken from the data, the "
                "guarantee does not cover what they reveal.",
            )
        )
    told = {
        "Errors of the data.": "Bands and intervals describe the noise added here, not how the "
        "data were gathered, sampled or cleaned.",
        "Other releases.": "Further readings of this stream are covered. Each other release from "
        "the same data costs privacy again; the epsilons add up, and so do the deltas.",
    }
    return limits + [(about, told.get(about, how)) for about, how in limits_in_words(unit)]


def reached_in_words(release: Release) -> str:
    """Say how far the stream has come.

    The horizon is the last event the guarantee covers.
    """
    time, horizon = int(release.value.times[-1]), release.mechanism.horizon
    return f"{time:,} of at most {horizon:,} (the horizon)"
