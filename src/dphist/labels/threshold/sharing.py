"""Whether listed labels share noise: decided by public parameters alone."""

from fractions import Fraction
from typing import Any, Literal, TypeAlias

from dphist.errors import Argument, ParameterError
from dphist.labels.threshold.correlated_noise import CorrelatedNoise
from dphist.labels.threshold.correlation import best_correlation, worthwhile_correlation
from dphist.noise.gaussian import LARGEST_SIGMA

Correlated: TypeAlias = bool | Literal["auto"]


def is_correlated(
    asked: Correlated, noise: str, labels: int | None, most: int, sums_of: int, scale: Fraction
) -> bool:
    """Return whether noise is shared.

    Parameters
    ----------
    asked : True or False, or "auto": where it notably lowers the variance of a count, or of a sum
        of `sums_of` counts, at the same cost.
    noise : "laplace" or "gaussian"; only Gaussian noise is shared.
    labels : number of listed labels; None where labels come from the data.
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
            "must be False for so many labels at so small an epsilon: the noise would be beyond "
            "what is sampled exactly",
        )
    return True


def forms(delta: Any, **parameters: Any) -> list[dict[str, Any]]:
    """Return the parameters among which calibration takes those with the smallest noise.

    Which noise is the smaller one depends on the total, so a mechanism made by hand cannot decide
    it. Gaussian noise needs a delta.
    """
    asked = parameters.get("correlated", False)
    if asked is False or "noise" in parameters or parameters.get("labels") is None:
        return [parameters]
    both = [{**parameters, "noise": noise} for noise in ("laplace", "gaussian")]
    if asked is True:
        return both[1:]
    return both[:1] if delta in (0, "0") else both


def _is_sampled(noise: CorrelatedNoise) -> bool:
    return max(noise.own, noise.shared) <= LARGEST_SIGMA
