"""Whether listed labels share noise, and how that is said."""

from fractions import Fraction
from typing import Literal, TypeAlias

from dphist.errors import Argument, ParameterError
from dphist.labels.threshold.correlation import (
    CorrelatedNoise,
    best_correlation,
    worthwhile_correlation,
)
from dphist.noise.gaussian import LARGEST_SIGMA
from dphist.privacy.as_text import down, plain, up

Correlated: TypeAlias = bool | Literal["auto"]


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


def is_correlated(
    asked: Correlated, noise: str, labels: int | None, most: int, sums_of: int, scale: Fraction
) -> bool:
    """Return whether noise is shared.

    Parameters
    ----------
    asked : True or False, or "auto": where it notably lowers the variance of a count, or of a sum
        of `sums_of` counts, at the same cost.
    noise : its name; only Gaussian noise is shared.
    labels : number of listed labels; None if labels come from the data.
    most : labels that one user changes at most.
    sums_of : labels in the sums that are to have a small error.
    scale : standard deviation of the noise of a count, records.

    Raises
    ------
    ParameterError
        If True was asked for and there are no listed labels, noise is not Gaussian, or the grid is
        too fine to be sampled.
    """
    if not isinstance(asked, bool) and asked != "auto":
        raise ParameterError("correlated", "must be True, False or 'auto'")
    if asked is True and labels is None:
        raise ParameterError(
            "correlated", "needs " + Argument("labels") + ": only known labels can share noise"
        )
    if asked is True and noise != "gaussian":
        raise ParameterError(
            "correlated",
            "needs " + Argument("noise", "gaussian") + ": no other noise can be shared",
        )
    if asked is False or labels is None or noise != "gaussian":
        return False
    if asked == "auto":
        worthwhile = worthwhile_correlation(labels, most, sums_of)
        return worthwhile is not None and _is_sampled(CorrelatedNoise(scale, worthwhile))
    if not _is_sampled(
        CorrelatedNoise(scale, best_correlation(labels, most, sums_of, shared=True))
    ):
        raise ParameterError(
            "correlated",
            "must be False for this number of labels at this epsilon: the noise would be beyond "
            "what is sampled exactly",
        )
    return True


def _is_sampled(noise: CorrelatedNoise) -> bool:
    return max(noise.own, noise.shared) <= LARGEST_SIGMA
