"""How a release of `ThresholdHistogram` is made, in words."""

from fractions import Fraction
from typing import Any

from dphist.labels.threshold.correlation import CorrelatedNoise
from dphist.labels.threshold.sharing import shared_in_words
from dphist.parameters import decimal_text
from dphist.sentence import Sentence


def describe_threshold(mechanism: Any) -> Sentence:
    """Say how a `ThresholdHistogram` makes a release."""
    sampler = mechanism.noise_law()
    shared = f", {shared_in_words(sampler)}" if isinstance(sampler, CorrelatedNoise) else ""
    text = (
        "Each listed {label}'s count with {noise} noise{shared}, {labels} that do not occur "
        "included."
    )
    if mechanism.other:
        text += " So is the count of all {labels} that are not listed, as other."
    if mechanism.labels is None:
        text = (
            "Threshold (Rogers 2023, Algorithm 1). Each {label}'s count gets {noise} noise of "
            "its own; a {label} is released if the sum is above the threshold."
        )
    if mechanism.noise == "optimal":
        text += (
            " The noise is made of the steps of the optimal chance of releasing a {label} "
            "(Desfontaines et al. 2022)."
        )
    if mechanism.largest_error is not None:
        text += " The noise ends: it never changes a count by more than {largest:,} {records}."
    if mechanism.step is not None:
        text += " {Records} are weighted: counts and noise are whole multiples of {step}."
    if mechanism.users_by_labels is not None:
        text += " The numbers of {users} who have one {label}, two, and so on get noise too."
    if mechanism.sums is not None:
        text += " Each column's total of a {label} that is released gets noise of its own."
    if mechanism.users_by_totals:
        text += " So do the numbers of {users} by the farthest of their totals from the clamp."
    largest = mechanism.largest_error or 0
    given = {"noise": mechanism.law.distribution, "shared": shared, "largest": largest}
    return Sentence(text, **given, step=decimal_text(mechanism.step or Fraction(1)))
