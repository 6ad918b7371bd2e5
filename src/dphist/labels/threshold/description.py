"""How counts of labels are released, in a sentence or two."""

from typing import Any

from dphist.labels.threshold.correlated_noise import CorrelatedNoise
from dphist.noise.law import NoiseLaw
from dphist.privacy.as_text import down, plain, up
from dphist.sentence import Sentence


def described(law: NoiseLaw, sampler: Any, labels: tuple[Any, ...] | None, users: bool) -> str:
    """Return the description of a mechanism.

    Parameters
    ----------
    law : of its noise.
    sampler : what draws the noise.
    labels : those that are listed.
    users : whether users who were cut are counted.
    """
    shared = f", {shared_in_words(sampler)}" if isinstance(sampler, CorrelatedNoise) else ""
    if labels is None:
        each = (
            "Threshold (Rogers 2023, Algorithm 1). Each {label}'s count gets {noise} noise of its "
            "own; a {label} is released if the sum is above the threshold."
        )
    else:
        each = (
            "Each listed {label}'s count with {noise} noise{shared}, {labels} that do not occur "
            "included."
        )
    also = (
        " The numbers of {users} within the bounds, and of those who had more, get noise too."
        if users
        else ""
    )
    return Sentence(each + also, noise=law.distribution, shared=shared)


def shared_in_words(noise: CorrelatedNoise) -> str:
    """State the covariance of correlated noise.

    >>> from fractions import Fraction
    >>> from dphist.labels.threshold.correlation import best_correlation
    >>> shared_in_words(CorrelatedNoise(Fraction(4), best_correlation(4, 4)))
    'a part of which all share (Lebeda 2024; variance 16, covariance of two counts 5.34375)'
    """
    variance = plain(down(noise.scale**2))
    covariance = plain(up(noise.scale**2 * noise.correlation.ratio / (1 + noise.correlation.ratio)))
    return (
        f"a part of which all share (Lebeda 2024; variance {variance}, covariance of two counts "
        f"{covariance})"
    )
