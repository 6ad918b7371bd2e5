"""What is said of released labels, in sentences with slots for the owner's words.

Functions of a mechanism's parameters, of what was stated before data were seen, and of released
values. How sure the order of two labels is follows from the law of the noise alone.
"""

import math
from fractions import Fraction
from typing import Any

from dphist.data.weight import to_records
from dphist.document.kind import DataFacts
from dphist.document.small_counts import is_below
from dphist.document.unit_words import nouns_of_unit, threshold_text
from dphist.labels import AutoThreshold, DiscoverLabels, ThresholdHistogram, TopLabels, TopThreshold
from dphist.labels.bounding import (
    bounds_in_words,
    counts_users,
    find_counted,
    find_mechanism,
    find_unit,
)
from dphist.labels.mechanism import LEVEL, LabelsMechanism, least_shown
from dphist.labels.threshold.bounded_noise import OptimalNoise
from dphist.labels.threshold.correlation import CorrelatedNoise
from dphist.noise.search import first_true
from dphist.parameters import decimal_text
from dphist.privacy import PrivacyUnit
from dphist.privacy.as_text import plain, up
from dphist.privacy.unit import ONE_ROW
from dphist.release.release import Release
from dphist.sentence import Quoted, Sentence, join_sentences, many
from dphist.visible import harmless

TITLE = Sentence("Common {labels} and their counts")
IN_ORDER = Sentence(
    "{Labels} come in their own order, by letters or by size, which says nothing about how common "
    "they are."
)
_LONGEST = 60  # letters of a label in a sentence
_CHANCES = (0.5, LEVEL)


def has_counts(mechanism: LabelsMechanism) -> bool:
    """Whether counts are released: not those of a ranking, nor of discovered labels."""
    return not isinstance(mechanism, TopLabels | DiscoverLabels)


def make_title(mechanism: LabelsMechanism) -> Sentence:
    """Return the heading of a release."""
    if isinstance(mechanism, DiscoverLabels):
        return Sentence("{Labels} that many have")
    if mechanism.step is not None:
        return Sentence("Common {labels} and their weighted counts")
    return TITLE if has_counts(mechanism) else Sentence("The most common {labels}")


def threshold_base(mechanism: LabelsMechanism) -> str | None:
    """Name what a threshold is measured from; None if there is no threshold."""
    if isinstance(mechanism, TopLabels):
        return f"count number {mechanism.candidates + 1:,}"
    if isinstance(mechanism, TopThreshold):
        return f"count number {mechanism.k + 1:,}"
    return None if mechanism.threshold is None else "zero"


def threshold_in_words(mechanism: LabelsMechanism) -> Sentence:
    """Say which labels are released: what is compared with what."""
    base = threshold_base(mechanism)
    if isinstance(mechanism, AutoThreshold):
        return Sentence(
            "{A_label} is released if its count, with noise, is above a threshold that follows "
            "from the number of {labels} that is found; at most {threshold} {records}.",
            threshold=threshold_text(mechanism.threshold),
        )
    if base is None:
        text = "There is no threshold: all listed {labels} are released."
        if mechanism.other_than is not None:
            text += " {Labels} that are not listed are counted together, as other."
        return Sentence(text)
    given: dict[str, Any] = {
        "threshold": threshold_text(mechanism.threshold),
        "base": base,
    }
    if isinstance(mechanism, DiscoverLabels):
        return Sentence(
            "{A_label} is released if its total weight, with noise, is above that of {threshold} "
            "{users} who have one {label} each. {A_user} with t {labels} weighs about 1/√t on "
            "each.",
            **given,
        )
    if base != "zero":
        return Sentence(
            "{A_label} is released if its count, with noise, is more than {threshold} {records} "
            "above {base} from the largest, which has noise too{also}.",
            also=", and fewer than k come before it" if isinstance(mechanism, TopLabels) else "",
            **given,
        )
    rounded = " and before it is rounded" if mechanism.noise == "gaussian" else ""
    return Sentence(
        f"{{A_label}} is released if its count, with noise{rounded}, is above {{threshold}} "
        "{records}; so the smallest count shown is {least:,}.",
        least=least_shown(mechanism),
        **given,
    )


def describe_cap_choice(mechanism: AutoThreshold) -> Sentence:
    """Say how the number of labels of a user that count is found.

    >>> describe_cap_choice(AutoThreshold(epsilon=1, delta="1e-6", max_labels=1000))
    ... # doctest: +NORMALIZE_WHITESPACE
    'How many labels of each user count is found by a look at noisy numbers, which costs 1/32 of the
    budget: of 28 numbers from 1 to 1,000, the one with the smallest expected error.'
    """
    return Sentence(
        "How many {labels} of each {user} count is found by a look at noisy numbers, which costs "
        "{look} of the budget: of {number} numbers from 1 to {most:,}, the one with the smallest "
        "expected error.",
        look=mechanism.look,
        number=len(mechanism.caps),
        most=mechanism.max_labels,
    )


def cap_in_words(cap: int, made: ThresholdHistogram) -> Sentence:
    """Say what counts are worth if a number of labels is found."""
    return Sentence(
        "If it is {cap:,}, counts are within ± {width:,} of what the cut leaves, and released from "
        "{count:,} on.",
        cap=cap,
        width=made.half_width(),
        count=made.likely_count(LEVEL),
    )


def choice_in_words(mechanism: AutoThreshold, release: Release, unit: PrivacyUnit) -> Sentence:
    """Say which number of labels was found, and what was expected of it and of others."""
    tried, cap = mechanism.tried(release), mechanism.chosen(release).max_labels
    some = [each for each in tried if each.max_labels in (1, 3, 10, 30, 100, 300, cap)]
    listed = "; ".join(f"{each.max_labels:,}: {each.error:,.0f}" for each in some)
    return Sentence(
        "Each {who} counts for at most {held}, which a look at noisy numbers found, for {look} of "
        "the budget. Expected errors of the most common {labels}, from bias and noise, in "
        "{records}: {listed}.",
        who=nouns_of_unit(unit)[0],
        held=many(cap, "label"),
        look=mechanism.look,
        listed=listed,
    )


def appearances(mechanism: LabelsMechanism) -> dict[float, float]:
    """Return the counts released with a chance of 50 % and of 95 %; none if all labels are.

    Of mechanisms that look at the largest counts only, that many above the next count; of
    discovered labels, numbers of users.
    """
    if mechanism.threshold is None:
        return {}
    return {chance: mechanism.likely_count(chance) for chance in _CHANCES}


def appearance_in_words(mechanism: LabelsMechanism, chance: float, count: float) -> Sentence:
    """Say what count a label needs to be released with some chance."""
    given = {"chance": f"{100 * chance:g} %", "count": count, "base": threshold_base(mechanism)}
    if isinstance(mechanism, DiscoverLabels):
        return Sentence(
            "With {count:,} {users} who have {held} each, {a_label} is released with a chance of "
            "{chance} if no weight is moved; usually fewer are enough.",
            held=many(mechanism.max_labels, "label"),
            **given,
        )
    if given["base"] == "zero":
        on = "From a count of {count:,} on, {a_label} is released with a chance of {chance}."
        return Sentence(on, **given)
    also = " and fewer than k {labels} come before it" if isinstance(mechanism, TopLabels) else ""
    return Sentence(
        "{A_label} is released with a chance of {chance} if its count is {count:,} above {base}"
        f"{also}.",
        **given,
    )


def intervals_in_words(mechanism: LabelsMechanism) -> Sentence:
    """Say what the intervals of counts mean."""
    start = Sentence(
        "Each interval reaches {width:,} to both sides of the released count. The noise stays "
        "within that with a probability of {level} or more, for each {label} by itself.",
        width=mechanism.half_width(),
        level=f"{100 * LEVEL:g} %",
    )
    if mechanism.largest_error is not None:
        ends = Sentence(
            "The noise never changes a count by more than {largest:,}.",
            largest=mechanism.largest_error,
        )
        start = join_sentences((start, ends))
    if mechanism.threshold is None:
        return start
    near = Sentence(
        "No interval goes below {least}. So no {label} has a chance above {missed} of being "
        "released with an interval that misses its count. Among the released {labels} near the "
        "threshold, however, intervals miss more often: such a {label} is there because its noise "
        "was large.",
        missed=f"{100 - 100 * LEVEL:g} %",
        least=decimal_text(mechanism.step or Fraction(1)),
    )
    return join_sentences((start, near))


def order_in_words(mechanism: LabelsMechanism) -> Sentence:
    """Say how sure the order of labels is."""
    if isinstance(mechanism, DiscoverLabels):
        return IN_ORDER
    return Sentence(
        "Two {labels} whose counts differ by {sure:,} {records} or more are in the right order "
        "with a probability of 95 % or more, and with one of 75 % from {few:,} on, for each pair "
        "by itself. The order of {labels} with closer counts may be chance.",
        sure=sure_difference(mechanism),
        few=sure_difference(mechanism, 0.75),
    )


def sums_in_words(mechanism: LabelsMechanism) -> str:
    """State the errors of sums of counts; empty where noise is independent.

    >>> mechanism = ThresholdHistogram(
    ...     epsilon="0.1", max_labels=9, labels=list(range(9)), noise="gaussian", correlated=True
    ... )
    >>> sums_in_words(mechanism)  # doctest: +NORMALIZE_WHITESPACE
    'A part of the noise is the same for all labels, so it adds up in sums. Standard errors in
    records, and those of independent noise with the same guarantee: a count 10 (15); the difference
    of two counts 12.3 (21.3); the sum of all 9 counts 52 (45).'
    """
    noise = noise_in_common(mechanism)
    if noise is None or not isinstance(mechanism, ThresholdHistogram):
        return ""
    labels = mechanism.number_listed or 0
    # The standard deviation of independent noise with the same guarantee, which also pays for the
    # numbers of users and the sums of values, if there are any.
    paid = 2 * mechanism.guarantee.rho / mechanism.epsilon**2
    independent = paid - mechanism.weight + mechanism.changed_labels
    alone = float(noise.scale) * math.sqrt(independent / paid)
    errors = [
        ("a count", float(noise.scale), alone),
        ("the difference of two counts", deviation_of_difference(mechanism), 2**0.5 * alone),
        (f"the sum of all {labels:,} counts", noise.rms_of_sum(labels), labels**0.5 * alone),
    ]
    said = "; ".join(
        f"{what} {plain(up(error, 3))} ({plain(up(other, 3))})" for what, error, other in errors
    )
    return Sentence(
        "A part of the noise is the same for all {labels}, so it adds up in sums. Standard errors "
        "in {records}, and those of independent noise with the same guarantee: {said}.",
        said=said,
    )


def describe_limits(mechanism: LabelsMechanism, data: DataFacts) -> list[tuple[str, str]]:
    """Say what a release leaves out and the guarantee does not cover: about what, and how."""
    unit, limits = find_unit(data), list[tuple[str, str]]()
    who, several, a_user = nouns_of_unit(unit)
    if threshold_base(mechanism) is not None:
        missing = Sentence(
            "A missing {label} need not be rare: noise may have hidden it. {Labels} below the "
            "threshold are missing, however many there are."
        )
        limits.append((Sentence("{Labels} that are missing."), missing))
        if has_counts(mechanism):
            near = Sentence(
                "A {label} near the threshold is released only if its noise was large, so its "
                "released count is too large on average."
            )
            limits.append(("Counts near the threshold.", near))
    if isinstance(mechanism, TopLabels):
        ranks = "{Labels} are ranked by noisy counts; two with close counts may swap places."
        limits.append(("Ranks.", Sentence(ranks)))
    if mechanism.other_than is not None:
        together = Sentence(
            "Other holds all {labels} that are not listed, as one {label}: {one} adds at most "
            "{most:,} to it, with however many of these {labels}.",
            one=a_user,
            most=mechanism.max_count,
        )
        limits.append((Sentence("{Labels} that are not listed."), together))
    adds = Sentence("{one} adds {bounds}", one=a_user, bounds=bounds_in_words(mechanism))
    if unit.asserted:
        asserted = Sentence(
            "Whoever counted the {labels} asserts that {adds}. One who adds more is protected "
            "less.",
            adds=adds,
        )
        limits.append(("The bounds.", asserted))
    elif unit != ONE_ROW:
        beyond = Sentence(
            "At most that much of each {who} is counted: {adds}. No count contains what {several} "
            "had beyond that, so counts may be too small even without noise.",
            who=who,
            adds=adds,
            several=several,
        )
        limits.append((Sentence("What {several} had beyond the bounds.", several=several), beyond))
    if data.bounds.get("null_users") == "separate":
        separate = Sentence(
            "Each counts as a separate {who}: a person with several such rows is protected for one "
            "of them only.",
            who=who,
        )
        limits.append((Sentence("Rows without {one}.", one=a_user), separate))
    sums = sums_in_words(mechanism)
    if sums:
        limits.append(("Sums of counts.", sums))
    return limits


def describe_result(release: Release, below: int | None = None) -> Sentence:
    """Return the result in one sentence for a manager.

    Parameters
    ----------
    below : a smaller count is not shown.
    """
    mechanism, value = find_mechanism(release), release.value
    labels = [label for label in value.texts if label is not None]
    if not labels:
        return Sentence("No {label} is common enough to be named.")
    unit = release.guarantee.unit
    given: dict[str, Any] = {
        "number": many(len(labels), "label"),
        "first": Quoted(harmless(labels[0], _LONGEST)),
        "several": nouns_of_unit(unit)[1],
        "have": "has" if len(labels) == 1 else "have",
        "are": "is" if len(labels) == 1 else "are",
    }
    if isinstance(mechanism, DiscoverLabels):
        said = "{number} {have} enough {several} to be named; {first} is one of them."
        return Sentence(said, **given)
    if value.counts is None:
        if len(labels) == 1:
            return Sentence("The most common {label} is {first}.", **given)
        many_labels = "The {held:,} most common {labels}, in order: {first} first."
        return Sentence(many_labels, held=len(labels), **given)
    given |= {"count": value.counts[0].item(), "error": mechanism.half_width()}
    if is_below(given["count"], below):
        said = "There are counts of {number}; that of {first} is the largest, and below {below:,}."
        return Sentence(said, below=below, **given)
    about = "{count:,} ± {error:,}"
    if mechanism.threshold is None:
        said = f"Counts of {{number}}; the largest is that of {{first}}, {about}"
    elif counts_users(release):
        said = f"{{number}} {{have}} enough {{several}} to be named; {{first}} has {about}"
    else:
        weighted = "" if mechanism.step is None else "weighted "
        said = f"{{number}} {{are}} common enough to be named; {{first}} has {about} {weighted}"
        said += "{records}"
    bounded = " of the bounded count" if find_counted(release).cut else ""
    return Sentence(f"{said}. ± stands for half of a 95 % interval{bounded}.", **given)


def noise_in_common(mechanism: LabelsMechanism) -> CorrelatedNoise | None:
    """Return the law of noise that labels share in part; None if it is independent."""
    if not isinstance(mechanism, ThresholdHistogram) or not mechanism.correlated:
        return None
    noise = mechanism.noise_law()
    return noise if isinstance(noise, CorrelatedNoise) else None


def deviation_of_difference(mechanism: LabelsMechanism) -> float:
    """Return the standard deviation, in records, of the noise of the difference of two counts.

    Of Gaussian noise. A part that both have in common is not in the difference.
    """
    noise = noise_in_common(mechanism)
    own = float(mechanism.noise_scale) ** 2 - (noise.covariance if noise else 0)
    return math.sqrt(2 * own)


def chance_in_order(mechanism: LabelsMechanism, difference: float | Fraction) -> float:
    """Return the least probability that the larger of two counts also has the larger noisy count.

    Parameters
    ----------
    difference : of the two counts, after bounding, in records; at least 0. Equal noisy counts
        count as a wrong order.

    Notes
    -----
    The difference of two Gumbel variables is logistic, and that of two Gaussian ones is Gaussian.
    For two-sided geometric noise, with a = exp(-rate), the difference of two draws is k with
    probability c**2 a**|k| (|k| + (1 + a**2) / (1 - a**2)), c = (1 - a) / (1 + a). Truncated noise
    has smaller differences, with a higher probability.

    >>> from dphist.labels import TopLabels
    >>> chance_in_order(TopLabels(k=10, epsilon="0.2", delta="1e-6"), 0)
    0.5
    """
    unit = mechanism.step or 1
    scale, steps = float(mechanism.noise_scale / unit), math.floor(Fraction(difference) / unit)
    if mechanism.law.distribution == "Gumbel":
        return 1 / (1 + math.exp(-min(difference / scale, 700)))
    if mechanism.law.distribution == "Gaussian":
        # Noisy counts are rounded: differences below 1, or a step, may vanish.
        apart = max(difference - float(unit), 0) / deviation_of_difference(mechanism)
        return 1 - 0.5 * math.erfc(apart / 2**0.5)
    rate = 1 / scale
    own = mechanism.noise_law() if isinstance(mechanism, ThresholdHistogram) else None
    if isinstance(own, OptimalNoise):
        return 1 - own.chance_of_difference(steps)
    a, gap = math.exp(-rate), -math.expm1(-rate)
    weight = (gap / (1 + a)) ** 2
    mean = (1 + a * a) / -math.expm1(-2 * rate)
    tail = weight * (math.exp(-rate * steps) * ((steps + mean) / gap + a / gap**2))
    return 1 - min(tail, 1.0)


def sure_difference(mechanism: LabelsMechanism, level: float = LEVEL) -> float:
    """Return the smallest difference of two counts, in records, that has this chance of order.

    >>> from dphist.labels import TopLabels
    >>> sure_difference(TopLabels(k=10, epsilon="0.2", delta="1e-6"))
    15
    """
    unit = mechanism.step or Fraction(1)
    found = first_true(lambda steps: chance_in_order(mechanism, steps * unit) >= level)
    return to_records(max(found, 1), mechanism.step)
