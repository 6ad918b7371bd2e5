"""What a release of label counts promises, in sentences.

As in `words`: functions of a mechanism's parameters, of what was stated before data were seen,
and of released values.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dphist.labels import ThresholdHistogram, TopLabels, TopThreshold
from dphist.privacy.as_text import down, plain, short_exact, up
from dphist.report.labels.appearance import Appearance, half_width
from dphist.report.words import LEVEL, limits_in_words

_PROMISED = "one user, as promised by the caller"
_CHOICES = {
    "refuse": "none were accepted",
    "drop": "dropped, if there were any",
    "separate": "each kept as a user of its own, if there were any",
}


def protected_unit(provenance: Mapping[str, str]) -> str:
    """Name who is protected.

    >>> protected_unit({"unit": "one row"}), protected_unit({})
    ('one row', 'one user')
    """
    unit = provenance.get("unit", _PROMISED)
    return "one user" if unit == _PROMISED else unit


def is_promised(provenance: Mapping[str, str]) -> bool:
    """Whether the bounds are a promise of whoever counted, as for a bare table of counts."""
    return provenance.get("unit", _PROMISED) == _PROMISED


def bounds_in_words(mechanism: Any) -> str:
    """Say what one user may change.

    >>> bounds_in_words(ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=10))
    'at most 1 to each of at most 10 labels'
    """
    labels = mechanism.max_labels
    how_many = "any number of labels" if labels is None else f"at most {labels:,} labels"
    if labels == 1:
        return f"at most {mechanism.max_count:,} to at most one label"
    return f"at most {mechanism.max_count:,} to each of {how_many}"


def bounding_in_words(mechanism: Any, provenance: Mapping[str, str]) -> list[str]:
    """Say how contributions were bounded, and what became of missing users and labels."""
    unit = protected_unit(provenance)
    who = unit[0].upper() + unit[1:]
    lines = [f"{who} adds {bounds_in_words(mechanism)}."]
    if is_promised(provenance):
        lines.append(
            "That no user adds more is a promise of whoever counted the labels; nothing could "
            "check it."
        )
    elif unit == "one row":
        lines.append("Each row was taken for a user of its own: who has m rows is protected less.")
    else:
        chosen = "" if mechanism.max_labels is None else ", its labels chosen evenly at random"
        lines.append(f"Of a user with more, that much was counted{chosen}.")
    for name, column in (("null_users", "user"), ("null_labels", "label")):
        if name in provenance:
            chosen = _CHOICES.get(provenance[name], provenance[name])
            lines.append(f"Rows without a {column}: {chosen}.")
    return lines


def neighbours_of(mechanism: Any, provenance: Mapping[str, str]) -> str:
    """State the neighbouring relation."""
    unit = protected_unit(provenance)
    return (
        f"D and D′ are neighbours if one of them is the other with {unit} added or removed, adding "
        f"{bounds_in_words(mechanism)}."
    )


def noise_name(mechanism: Any) -> str:
    """Name the noise."""
    if isinstance(mechanism, TopLabels):
        return "gumbel"
    return "gaussian" if isinstance(mechanism, TopThreshold) else str(mechanism.noise)


def per_label(mechanism: Any) -> str:
    """Give the parameters of a single label.

    >>> per_label(ThresholdHistogram(epsilon="0.1", delta="1e-6", max_labels=10))
    'epsilon 0.1, two-sided geometric (integer Laplace) noise of scale 10'
    """
    kinds = {
        "laplace": "two-sided geometric (integer Laplace) noise of scale",
        "gaussian": "Gaussian noise of standard deviation",
        "gumbel": "Gumbel noise of scale",
    }
    scale = mechanism.max_count / mechanism.epsilon
    kind = kinds[noise_name(mechanism)]
    return f"epsilon {short_exact(mechanism.epsilon)}, {kind} {plain(down(scale))}"


def threshold_base(mechanism: Any) -> str | None:
    """Name what a threshold is measured from, or None where there is no threshold."""
    if isinstance(mechanism, TopLabels):
        return f"count number {mechanism.candidates + 1:,}"
    if isinstance(mechanism, TopThreshold):
        return f"count number {mechanism.k + 1:,}"
    return None if mechanism.threshold is None else "zero"


def number(value: int | Fraction | float) -> str:
    """Write a threshold in up to six digits, rounded up: so that what is above it is released.

    >>> number(155), number(Fraction(796549, 10000)), number(1234567), number(Fraction(2, 3))
    ('155', '79.6549', '1,234,567', '0.666667')
    """
    return f"{int(value):,}" if value == int(value) else plain(up(value))


def threshold_in_words(mechanism: Any) -> str:
    """Say where the threshold lies."""
    base, threshold = threshold_base(mechanism), mechanism.threshold
    if base is None:
        return "There is no threshold: all listed labels are released."
    if base == "zero":
        return (
            f"Threshold: {number(threshold)} records; labels whose noisy count is above it are "
            "released."
        )
    return (
        f"Threshold: {number(threshold)} records above {base}, the largest first, with noise of "
        "its own; labels whose noisy count is above it are released."
    )


def appearance_in_words(mechanism: Any, appearance: Appearance) -> str:
    """Say what count a label needs to be released with some chance."""
    percent, count = f"{100 * appearance.chance:g} %", appearance.count
    base = threshold_base(mechanism)
    if base == "zero":
        return f"A label is released with a chance of {percent} from a count of {count:,} on."
    also = ", if no k labels come before it" if isinstance(mechanism, TopLabels) else ""
    return (
        f"A label is released with a chance of {percent} if its count is {count:,} above "
        f"{base}{also}."
    )


def share_of_users(appearance: Appearance, users: int) -> str:
    """Say what share of a guessed number of users such a count is.

    >>> share_of_users(Appearance(80, 0.5), 10_000)
    '  80 of 10,000 users are 0.8 % of them, if each adds 1.'
    """
    count = appearance.count
    if count > users:
        return f"  {users:,} users are too few for that, if each adds 1."
    share = f"{plain(up(Fraction(100 * count, users), 2))} %"
    return f"  {count:,} of {users:,} users are {share} of them, if each adds 1."


def intervals_in_words(mechanism: Any) -> str:
    """Say what the error bars mean."""
    width, percent = half_width(mechanism), f"{100 * LEVEL:g} %"
    start = (
        f"Each interval reaches {width:,} to both sides of the released count, from the law of the "
        f"noise, which stays within it with a probability of {percent} or more"
    )
    if isinstance(mechanism, ThresholdHistogram) and mechanism.threshold is None:
        return f"{start}, for each label by itself."
    return (
        f"{start}, for each label by itself, and does not go below 1. So no label has a chance "
        f"above {100 - 100 * LEVEL:g} % to be released with an interval that misses its count. "
        "Among the released labels near the threshold, though, intervals miss more often: such a "
        "label is there because its noise was large."
    )


def limits_of(mechanism: Any, provenance: Mapping[str, str]) -> list[tuple[str, str]]:
    """Say what the release does not tell and the guarantee does not cover."""
    limits = []
    if threshold_base(mechanism) is not None:
        limits.append(
            (
                "Labels that are missing.",
                "A label that is not here need not be rare: whether it is released depends on the "
                "noise too, and labels below the threshold are missing however many there are.",
            )
        )
    if threshold_base(mechanism) is not None and not isinstance(mechanism, TopLabels):
        limits.append(
            (
                "Counts near the threshold.",
                "A label near the threshold is released only if its noise was large, so its "
                "released count is too large on average.",
            )
        )
    if isinstance(mechanism, TopLabels):
        limits.append(
            ("Ranks.", "Labels are ranked by noisy counts; two close ones may have changed places.")
        )
    if is_promised(provenance):
        limits.append(
            (
                "The bounds.",
                f"That a user adds {bounds_in_words(mechanism)} is a promise of whoever counted "
                "the labels; someone who adds more is protected less.",
            )
        )
    elif protected_unit(provenance) != "one row":
        limits.append(
            (
                "What users had beyond the bounds.",
                f"A user added {bounds_in_words(mechanism)}; what users had beyond that is in no "
                "count, so counts may be smaller than in the data, apart from noise.",
            )
        )
    if provenance.get("null_users") == "separate":
        limits.append(
            (
                "Rows without a user.",
                "Each was taken for a user of its own: a person behind several is protected for "
                "one of them.",
            )
        )
    if getattr(mechanism, "labels", None) is not None:
        limits.append(
            (
                "The listed labels.",
                "They were given as public knowledge; if they were taken from the data, the "
                "guarantee does not cover what they reveal.",
            )
        )
    return limits + _general(provenance)


def _general(provenance: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return what holds for every kind of release."""
    told = {
        "Errors of the data.": "Intervals describe the noise added here, not how the data were "
        "gathered, sampled or cleaned."
    }
    return [
        (about, told.get(about, how)) for about, how in limits_in_words(protected_unit(provenance))
    ]
