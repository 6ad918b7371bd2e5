"""The noise of a threshold histogram, chosen by its parameters alone."""

from typing import Any, Literal, TypeAlias

from dphist.errors import ParameterError
from dphist.labels.threshold.mechanism import ThresholdHistogram
from dphist.parameters import Exact, positive_number
from dphist.privacy.calibration import calibrate

NoiseChoice: TypeAlias = Literal["laplace", "gaussian", "auto"]


def threshold_histogram(
    *, epsilon: Exact, delta: Exact, noise: NoiseChoice = "auto", **parameters: Any
) -> ThresholdHistogram:
    """Return the threshold histogram of a total cost; the choice of noise never looks at data.

    Parameters
    ----------
    epsilon, delta : total of one release; a delta of 0 for listed labels with Laplace noise.
    noise : "auto" takes the noise with the lower threshold, or of listed labels the one that
        varies less.
    **parameters : passed to `ThresholdHistogram`.
    """
    total: dict[str, Any] = {"epsilon": epsilon, "delta": delta, **parameters}
    if parameters.get("correlated") is True:
        noise = "gaussian"  # the only noise that can be shared
    if noise != "auto":
        made: ThresholdHistogram = calibrate(ThresholdHistogram, noise=noise, **total)
        return made
    gaussian = _gaussian_if_possible(total)
    if gaussian is not None and _too_high(total, gaussian):
        return gaussian
    laplace: ThresholdHistogram = calibrate(ThresholdHistogram, noise="laplace", **total)
    return laplace if gaussian is None or _reach(laplace) <= _reach(gaussian) else gaussian


def _too_high(total: dict[str, Any], gaussian: ThresholdHistogram) -> bool:
    """Whether the threshold of Laplace noise, whose epsilons add up, is above the Gaussian one.

    Its other claim, from zCDP, has the rho of Gaussian noise of the same scale and a higher
    threshold for it.
    """
    if gaussian.threshold is None:
        return False
    parameters = {**total, "epsilon": 1, "noise": "laplace"}
    changed = ThresholdHistogram(**parameters).epsilon_guarantee
    assert changed is not None  # noqa: S101 - Laplace noise has one
    each = positive_number(total["epsilon"], "epsilon") / changed.epsilon
    laplace = ThresholdHistogram(**{**parameters, "epsilon": each})
    return _reach(laplace) > _reach(gaussian)


def _gaussian_if_possible(total: dict[str, Any]) -> ThresholdHistogram | None:
    """Return the mechanism with Gaussian noise; a pure guarantee has none."""
    if total["delta"] in (0, "0"):
        return None
    try:
        found: ThresholdHistogram = calibrate(ThresholdHistogram, noise="gaussian", **total)
    except ParameterError:
        return None
    return found


def _reach(mechanism: ThresholdHistogram) -> float:
    """Return the threshold, or the standard deviation of the noise where there is none."""
    if mechanism.threshold is not None:
        return float(mechanism.threshold)
    return mechanism.spread
