"""Which noises serve for public parameters, for `dphist.calibrate` to choose from."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from dphist.errors import ParameterError
from dphist.privacy import find_delta
from dphist.privacy.calibration import calibrate

H = TypeVar("H")

BEST = "best"


def list_noises(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the noises that may be the best one with these parameters.

    For labels that come from the data, geometric noise never is: at the same cost truncated noise
    releases labels from the same count on or from a lower one
    (`docs/understand/proofs/bounded_noise.md`, Lemma 8). For listed labels, noise that ends has a
    delta for that alone, so it is taken by name only.
    """
    if parameters.get("labels") is not None:
        return ("gaussian",) if parameters.get("correlated") is True else ("laplace", "gaussian")
    if parameters.get("max_count", 1) == 1 and parameters.get("step") is None:
        return "optimal", "truncated", "gaussian"
    return "truncated", "gaussian"


def list_forms(delta: object, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parameters to choose from: one of them, unless noise is to be chosen."""
    asked, listed = parameters.get("correlated", False), parameters.get("labels") is not None
    by_default = asked is not False and listed and "noise" not in parameters
    if parameters.get("noise") != BEST and not by_default:
        return [dict(parameters)]
    noises = list_noises(parameters)
    if delta in (0, "0"):  # only listed labels with geometric noise need none
        noises = ("laplace",) if asked is not True else noises
    return [{**parameters, "noise": noise} for noise in noises]


def compare_noises(mechanism: H, noises: Sequence[str]) -> dict[str, H]:
    """Return what each noise gives at the target of a threshold histogram, the best first."""
    held: Any = mechanism
    if held.target is None:
        raise ParameterError(
            "mechanism", "must be calibrated for noises to be compared", "use dphist.calibrate"
        )
    total = held.target.guarantee
    names = (
        "max_labels",
        "max_count",
        "labels",
        "users_by_labels",
        "sums_of",
        "sums",
        "sums_share",
        "users_by_totals",
        "step",
    )
    asked: dict[str, Any] = {name: getattr(held, name) for name in names}
    asked |= {"epsilon": total.epsilon, "delta": find_delta(total)}
    asked["releases"] = held.target.releases
    if held.correlated:
        asked["correlated"] = "auto"
    return calibrate_each(type(held), noises, asked)


def calibrate_each(made: Any, noises: Sequence[str], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what each noise gives at a total that suffices for it, the best first."""
    found = {}
    for noise in noises:
        with contextlib.suppress(ParameterError):
            found[noise] = calibrate(made, **{**asked, "noise": noise})
    return dict(sorted(found.items(), key=lambda each: each[1].calibration_order))
