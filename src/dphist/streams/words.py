"""What is said of running counts, in sentences with slots for the owner's words.

Functions of parameters, of what was stated before data were seen, and of released values.
"""

from fractions import Fraction
from typing import cast

from dphist.document.guarantee_words import LEVEL
from dphist.document.kind import DataFacts
from dphist.document.unit_words import (
    Counted,
    describe_counted_after_cut,
    nouns_of_unit,
    threshold_text,
    unit_in_words,
)
from dphist.privacy import PrivacyUnit
from dphist.privacy.as_text import plain, up
from dphist.release.release import Release
from dphist.sentence import EVENTS, Quoted, Sentence, join_sentences, many, many_events
from dphist.streams.mechanism import ContinualMechanism
from dphist.streams.methods import COMPOSITION
from dphist.visible import harmless

TITLE = Sentence("Running counts of {labels}")
_LONGEST = 60  # letters of a label in a sentence


def find_mechanism(release: Release) -> ContinualMechanism:
    """Return the mechanism of a release, whose kind is of these alone."""
    return cast(ContinualMechanism, release.mechanism)


def find_unit(mechanism: ContinualMechanism, data: DataFacts) -> PrivacyUnit:
    """Return what is protected."""
    return data.unit or mechanism.unit


def until(release: Release) -> int | None:
    """Return the time up to which errors are stated; None if they are for all times."""
    return find_mechanism(release).find_stated_until(int(release.value.times[-1]))


def coverage_in_words(mechanism: ContinualMechanism) -> Sentence:
    """Say that the guarantee is for all readings together."""
    readings, events = "however many there are", "the whole stream of up to {held}"
    if mechanism.readings is not None:
        readings = "at most {readings:,}"
    if mechanism.method == "unbounded":
        events = "the whole stream, however long (it ends after {held})"
    return Sentence(
        f"The guarantee is for all readings together, {readings}, over {events}.",
        readings=mechanism.readings,
        held=many_events(mechanism.horizon),
    )


def describe_neighbors(mechanism: ContinualMechanism, unit: PrivacyUnit) -> Sentence:
    """State which data are neighbors."""
    bound = mechanism.max_events_per_user
    replaced, kept, held = "one {event} by {an_event} without {labels}", "", Sentence("")
    if bound is not None:
        replaced = "the {events} of {user} by {events} without {labels}"
        kept = f" At most {{held}} of each {{who}} count{'s'[: bound == 1]}."
        held = many_events(bound)
    return Sentence(
        f"D and D′ are neighbors if replacing {replaced} turns one into the other.{kept} The "
        "number and the times of {events} are public.",
        **{**EVENTS, "user": unit_in_words(unit.single), "who": nouns_of_unit(unit)[0]},
        held=held,
    )


def bounding_in_words(mechanism: ContinualMechanism, unit: PrivacyUnit) -> Sentence:
    """Say how events are bounded, for a stream that goes on or is only planned."""
    labels, bound = mechanism.max_labels, mechanism.max_events_per_user
    line = "At most 1 {label} of {an_event} counts, chosen at random."
    if labels > 1:
        line = "At most {most:,} {labels} of {an_event} count, chosen at random if it has more."
    lines = [Sentence(line, most=labels, **EVENTS)]
    if bound is not None:
        lines.append(
            Sentence(
                f"At most {{held}} of {{a_user}} count{'s'[: bound == 1]} over the whole stream; a "
                "further one counts as {an_event} without {labels}.",
                **{**EVENTS, "a_user": nouns_of_unit(unit)[2]},
                held=many_events(bound),
            )
        )
    return join_sentences(lines)


def describe_counted(mechanism: ContinualMechanism, unit: PrivacyUnit) -> Counted:
    """Return what a mechanism counts."""
    most, labels = mechanism.max_events_per_user, many(mechanism.max_labels, "label")
    if most is None:
        said = "{events}, each counted for at most {held}"
        return Counted(Sentence(said, held=labels, **EVENTS))
    held = many_events(most)
    long = Sentence("at most {held} with {labels} each", **{"held": held, "labels": labels})
    return describe_counted_after_cut(unit, long, held, "{events}")


def method_in_words(mechanism: ContinualMechanism) -> Sentence:
    """Name the method, and say what its noise is made of.

    >>> method_in_words(ContinualMechanism(epsilon=1, delta="1e-6", horizon=9, method="binary"))
    'binary: Gaussian noise, drawn for each sum over a dyadic block of events'
    """
    return Sentence(
        "{method}: {law} noise, {composition}",
        method=mechanism.method,
        law=mechanism.law.distribution,
        composition=COMPOSITION[mechanism.method],
    )


def find_threshold(mechanism: ContinualMechanism, last: int | None) -> Fraction | None:
    """Return the threshold; `last` is the time that it is stated for, if it grows."""
    return mechanism.threshold if last is None else mechanism.threshold_at(last)


def threshold_in_words(mechanism: ContinualMechanism, last: int | None = None) -> Sentence:
    """Say what is compared with the threshold, and which counts are likely to be above it.

    Parameters
    ----------
    last : the last time, if the threshold grows with time: see `find_stated_until`.
    """
    threshold = find_threshold(mechanism, last)
    if threshold is None:
        return Sentence("There is no threshold: all listed {labels} are in each reading.")
    after = "" if last is None else " (after {events}; less before)"
    likely = mechanism.likely_count(LEVEL, last)
    return Sentence(
        "{A_label} is in a reading if its count, with noise and before it is rounded, is above "
        f"{{threshold}}{after}; so the smallest count shown is {{least:,}}. From a count of "
        "{likely:,} on, {a_label} is in it with a chance of 95 % or more.",
        threshold=threshold_text(threshold),
        events=many_events(last or 0),
        least=mechanism.least_shown(last),
        likely=likely,
    )


def error_text(mechanism: ContinualMechanism, last: int | None = None) -> str:
    """Write the largest standard error in three digits, rounded up."""
    return plain(up(standard_error(mechanism, last), 3))


def standard_error(mechanism: ContinualMechanism, last: int | None) -> float:
    """Return the largest standard error of a count, up to a time if errors grow, in records."""
    return mechanism.standard_error if last is None else mechanism.standard_error_at(last)


def intervals_in_words(mechanism: ContinualMechanism, last: int | None = None) -> Sentence:
    """Say what the error bands mean."""
    multiple = "A" if mechanism.method == "laplace" else "That is 1.96 standard errors, and a"
    start = Sentence(
        "Bands and intervals reach {width:,} to both sides of a released count. {multiple} "
        "standard error is at most {error}. The noise stays within that with a probability of 95 % "
        "or more, for each {label} and each time by itself. At times that are close together the "
        "noise is partly the same: a line that is too high now is likely too high a little later.",
        width=mechanism.half_width(LEVEL, last),
        multiple=multiple,
        error=error_text(mechanism, last),
    )
    if mechanism.threshold is None:
        return start
    near = Sentence(
        "No interval goes below 1. Near the threshold intervals miss more often: a {label} that "
        "has just been released is there because its noise was large."
    )
    return join_sentences((start, near))


def describe_limits(mechanism: ContinualMechanism, unit: PrivacyUnit) -> list[tuple[str, str]]:
    """Say what a release leaves out and the guarantee does not cover: about what, and how."""
    limits: list[tuple[str, str]] = []
    if mechanism.threshold is not None:
        missing = Sentence(
            "A {label} that is not in a reading was below the threshold. Its count may have been "
            "above zero. Noise may hide a {label} longer, or hide it again."
        )
        limits.append((Sentence("{Labels} that are missing."), missing))
    public = Sentence(
        "They are public: the release holds the exact number of {events} at each reading.", **EVENTS
    )
    limits.append((Sentence("The number and times of {events}.", **EVENTS), public))
    if mechanism.max_events_per_user is not None:
        beyond = "No count contains it, so counts may be too small even without noise."
        several = nouns_of_unit(unit)[1]
        about = Sentence("What {several} had beyond the bound.", several=several)
        limits.append((about, beyond))
    return [
        *limits,
        (
            "Other releases.",
            "Further readings of this stream are covered. Each other release from the same data "
            "costs privacy again; the epsilons add up, and so do the deltas.",
        ),
    ]


def describe_reach(mechanism: ContinualMechanism) -> Sentence:
    """Say how far the guarantee reaches: the horizon is the last event that it covers."""
    if mechanism.method == "unbounded":
        return Sentence("no horizon was chosen")
    return Sentence("the guarantee covers up to {held}", held=many_events(mechanism.horizon))


def describe_result(release: Release) -> Sentence:
    """Return the result in one sentence for a manager."""
    value, mechanism = release.value, find_mechanism(release)
    latest, events = value.latest, many_events(int(value.times[-1]))
    if not len(latest):
        return Sentence("After {events}, no {label} is common enough to be named.", events=events)
    one = len(latest) == 1
    said = "{named} common enough to be named; {first} has occurred {times}"
    if mechanism.threshold is None:
        said = "{named} counted; {first} {times}"
    named = f"{{number:,}} {'{label} is' if one else '{labels} are'}"
    return Sentence(
        f"After {{events}}, {said}. ± stands for half of a 95 % interval.",
        events=events,
        named=Sentence(named, number=len(latest)),
        first=Quoted(harmless(latest.texts[0] or "", _LONGEST)),
        times=Sentence(
            "{count:,} ± {error:,} times",
            count=int(latest.counts[0]),
            error=mechanism.half_width(LEVEL, until(release)),
        ),
    )
