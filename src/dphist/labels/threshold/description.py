"""How counts of labels are released, in a sentence or two."""

from typing import Any

from dphist.labels.threshold.correlated_noise import CorrelatedNoise
from dphist.privacy.as_text import down, plain, up


def described(noise: Any, labels: tuple[Any, ...] | None, gaussian: bool, users: bool) -> str:
    """Return the description of a mechanism.

    Parameters
    ----------
    noise : its law.
    labels : those that are listed.
    gaussian : whether the noise is Gaussian.
    users : whether users who were cut are counted.
    """
    kind = "Gaussian" if gaussian else "two-sided geometric"
    also = (
        " The numbers of users within the bounds, and of those who had more, get noise too."
        if users
        else ""
    )
    if labels is None:
        return (
            f"Threshold (Rogers 2023, Algorithm 1). Each label's count gets {kind} noise of its "
            f"own; a label is released if the sum is above the threshold.{also}"
        )
    shared = f", {shared_in_words(noise)}" if isinstance(noise, CorrelatedNoise) else ""
    return (
        f"Each listed label's count with {kind} noise{shared}, labels that do not occur included."
        f"{also}"
    )


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
