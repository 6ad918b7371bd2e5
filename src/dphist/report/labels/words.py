"""What a release of label counts promises, in sentences.

As in `words`: functions of a mechanism's parameters, of what was stated before data were seen,
and of released values.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, cast

from dphist.document.guarantee_words import LEVEL, limits_in_words, plural_of
from dphist.labels import DiscoverLabels, ThresholdHistogram, TopLabels, TopThreshold
from dphist.labels.mechanism import LabelsMechanism
from dphist.privacy import PrivacyUnit
from dphist.privacy.as_text import down, plain, short_exact, up, with_article
from dphist.privacy.unit import ASSERTED_USER, ONE_ROW
from dphist.release.release import Release
from dphist.report.labels.appearance import Appearance, half_width
from dphist.report.labels.discovered import (
    LEAST_SHOWN_NOTE,
    threshold_of_weights,
    users_that_are_enough,
)
from dphist.report.labels.sums import sums_in_words

_CHOICES = {
    "refuse": "are refused",
    "drop": "are dropped",
    "separate": "each count as a separate {one}",
}


def mechanism_of(release: Release) -> LabelsMechanism:
    """Return the mechanism of a release, whose kind serves these alone."""
    return cast(LabelsMechanism, release.mechanism)


def unit_of(provenance: Mapping[str, Any]) -> PrivacyUnit:
    """Return whom the data protect; users of whom the caller asserts the bounds by default.

    >>> print(unit_of({}))
    one user, as promised by the caller
    """
    unit: PrivacyUnit = provenance.get("unit", ASSERTED_USER)
    return unit


def bounds_in_words(mechanism: LabelsMechanism) -> str:
    """Say how much one user may add.

    >>> bounds_in_words(ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=10))
    'at most 1 to each of at most 10 labels'
    """
    labels = mechanism.max_labels
    how_many = "any number of labels" if labels is None else f"at most {labels:,} labels"
    if labels == 1:
        return f"at most {mechanism.max_count:,} to at most one label"
    return f"at most {mechanism.max_count:,} to each of {how_many}"


def bounding_in_words(mechanism: LabelsMechanism, provenance: Mapping[str, Any]) -> list[str]:
    """Say how contributions are bounded, and what becomes of rows without a user or label."""
    unit = unit_of(provenance)
    who = with_article(unit.who)
    lines = [f"One {unit.name} adds {bounds_in_words(mechanism)}."]
    if unit.asserted:
        lines.append(
            f"Whoever counted the labels asserts that no {unit.who} adds more"
            f"{' or makes any count smaller' if _only_adds(mechanism) else ''}; dphist cannot "
            "check it."
        )
    elif unit == ONE_ROW:
        lines.append("Each row counts as a separate user: someone with m rows is protected less.")
    else:
        chosen = "" if mechanism.max_labels is None else "; the labels are chosen at random"
        lines.append(f"If {who} has more, only that much is counted{chosen}.")
    for name, missing in (("null_users", who), ("null_labels", "a label")):
        if name in provenance:
            becomes = _CHOICES.get(provenance[name], provenance[name]).format(one=unit.who)
            lines.append(f"Rows without {missing} {becomes}.")
    return lines


def _only_adds(mechanism: LabelsMechanism) -> bool:
    """Whether the guarantee needs that a user only adds to counts."""
    return isinstance(mechanism, ThresholdHistogram) and mechanism.correlated


def neighbors_of(mechanism: LabelsMechanism, provenance: Mapping[str, Any]) -> str:
    """State which data are neighbors."""
    unit = unit_of(provenance)
    return (
        f"D and D′ are neighbors if adding or removing {unit.single} turns one into the other. "
        f"One {unit.name} adds {bounds_in_words(mechanism)}."
    )


def per_label(mechanism: LabelsMechanism) -> str:
    """Give the parameters of a single label.

    >>> per_label(ThresholdHistogram(epsilon="0.1", delta="1e-6", max_labels=10))
    'epsilon 0.1, two-sided geometric (integer Laplace) noise of scale 10'
    """
    measure = "standard deviation" if mechanism.law.distribution == "Gaussian" else "scale"
    noise = f"{mechanism.law.name} noise of {measure} {plain(down(mechanism.noise_scale))}"
    return f"epsilon {short_exact(mechanism.epsilon)}, {noise}"


def threshold_base(mechanism: LabelsMechanism) -> str | None:
    """Name what a threshold is measured from; None if there is no threshold."""
    if isinstance(mechanism, TopLabels):
        return f"count number {mechanism.candidates + 1:,}"
    if isinstance(mechanism, TopThreshold):
        return f"count number {mechanism.k + 1:,}"
    return None if mechanism.threshold is None else "zero"


def number(value: int | Fraction | float) -> str:
    """Write a threshold as a whole number if it is one, or rounded up to a tenth.

    >>> number(155), number(Fraction(796549, 10000)), number(Fraction(12345671, 10))
    ('155', '79.7', '1,234,567.1')
    """
    whole = int(value)
    return f"{whole:,}" if value == whole else f"{math.ceil(10 * value) / 10:,.1f}"


def least_shown(mechanism: LabelsMechanism) -> str:
    """Write the smallest noisy count that is released, or how far above another one it is.

    >>> least_shown(ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1, noise="gaussian"))
    '6'
    """
    threshold = mechanism.threshold
    if threshold is None:
        return "none"
    if threshold_base(mechanism) != "zero":
        return f"{math.ceil(threshold):,}"
    if isinstance(mechanism, DiscoverLabels):
        return number(threshold)
    if mechanism.law.distribution == "Gaussian":  # compared before it is rounded
        return f"{math.floor(threshold + Fraction(1, 2)):,}"
    return f"{math.floor(threshold) + 1:,}"


def least_shown_note(mechanism: LabelsMechanism) -> str:
    """Say what `least_shown` is, as a note below it."""
    if isinstance(mechanism, DiscoverLabels):
        return LEAST_SHOWN_NOTE
    base = threshold_base(mechanism)
    if base == "zero":
        return "records, with noise; labels below it are missing"
    return f"records above {base}"


def threshold_in_words(mechanism: LabelsMechanism) -> str:
    """Say where the threshold lies."""
    base, threshold = threshold_base(mechanism), mechanism.threshold
    if threshold is None:
        return "There is no threshold: all listed labels are released."
    if isinstance(mechanism, DiscoverLabels):
        return threshold_of_weights(mechanism)
    if base == "zero":
        return (
            f"Threshold: {number(threshold)} records; labels with a noisy count above it are "
            "released."
        )
    return (
        f"Threshold: {number(threshold)} records above {base} (counting from the largest; it "
        "has noise too); labels with a noisy count above it are released."
    )


def appearance_in_words(mechanism: LabelsMechanism, appearance: Appearance) -> str:
    """Say what count a label needs to be released with some chance."""
    if isinstance(mechanism, DiscoverLabels):
        return users_that_are_enough(mechanism, appearance)
    percent, count = f"{100 * appearance.chance:g} %", appearance.count
    base = threshold_base(mechanism)
    if base == "zero":
        return f"From a count of {count:,} on, a label is released with a chance of {percent}."
    also = " and fewer than k labels come before it" if isinstance(mechanism, TopLabels) else ""
    return (
        f"A label is released with a chance of {percent} if its count is {count:,} above "
        f"{base}{also}."
    )


def share_of_users(appearance: Appearance, users: int, noun: str = "users") -> str:
    """Say what share of a guessed number of users such a count is.

    >>> share_of_users(Appearance(80, 0.5), 10_000)
    '  80 of 10,000 users are 0.8 % of them, if each adds 1.'
    """
    count = appearance.count
    if count > users:
        return f"  {users:,} {noun} are too few for that, if each adds 1."
    share = f"{plain(up(Fraction(100 * count, users), 2))} %"
    return f"  {count:,} of {users:,} {noun} are {share} of them, if each adds 1."


def intervals_in_words(mechanism: LabelsMechanism) -> str:
    """Say what the error bars mean."""
    width, percent = half_width(mechanism), f"{100 * LEVEL:g} %"
    start = (
        f"Each interval reaches {width:,} to both sides of the released count. The noise stays "
        f"within that with a probability of {percent} or more, for each label by itself."
    )
    if isinstance(mechanism, ThresholdHistogram) and mechanism.threshold is None:
        return start
    return (
        f"{start} No interval goes below 1. So no label has a chance above "
        f"{100 - 100 * LEVEL:g} % of being released with an interval that misses its count. Among "
        "the released labels near the threshold, however, intervals miss more often: such a label "
        "is there because its noise was large."
    )


def limits_of(mechanism: LabelsMechanism, provenance: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Say what the release leaves out and the guarantee does not cover."""
    limits = []
    unit = unit_of(provenance)
    who = with_article(unit.who)
    if threshold_base(mechanism) is not None:
        limits.append(
            (
                "Labels that are missing.",
                "A missing label need not be rare: noise may have hidden it. Labels below the "
                "threshold are missing, however many there are.",
            )
        )
    without_counts = isinstance(mechanism, TopLabels | DiscoverLabels)
    if threshold_base(mechanism) is not None and not without_counts:
        limits.append(
            (
                "Counts near the threshold.",
                "A label near the threshold is released only if its noise was large, so its "
                "released count is too large on average.",
            )
        )
    if isinstance(mechanism, TopLabels):
        limits.append(
            (
                "Ranks.",
                "Labels are ranked by noisy counts; two labels with close counts may swap places.",
            )
        )
    if unit.asserted:
        limits.append(
            (
                "The bounds.",
                f"Whoever counted the labels asserts that {who} adds "
                f"{bounds_in_words(mechanism)}. One who adds more is protected less.",
            )
        )
    elif unit != ONE_ROW:
        many = plural_of(PrivacyUnit(unit.who))
        limits.append(
            (
                f"What {many} had beyond the bounds.",
                f"{who[0].upper()}{who[1:]} adds {bounds_in_words(mechanism)}. No count contains "
                f"what {many} had beyond that, so counts may be too small even without noise.",
            )
        )
    if provenance.get("null_users") == "separate":
        limits.append(
            (
                f"Rows without {who}.",
                f"Each counts as a separate {unit.who}: a person with several such rows is "
                "protected for one of them only.",
            )
        )
    if isinstance(mechanism, ThresholdHistogram) and mechanism.labels is not None:
        limits.append(
            (
                "The listed labels.",
                "They were given as public knowledge. If they were taken from the data, the "
                "guarantee does not cover what they reveal.",
            )
        )
    sums = sums_in_words(mechanism)
    if sums:
        limits.append(("Sums of counts.", sums))
    told = {
        "Errors of the data.": "Intervals describe the noise added here, not how the data were "
        "gathered, sampled or cleaned."
    }
    general = limits_in_words(unit.single)
    return limits + [(about, told.get(about, how)) for about, how in general]
