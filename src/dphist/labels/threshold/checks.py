"""What the parameters of a `ThresholdHistogram` must be, before any data are read."""

from fractions import Fraction
from typing import Any, Literal, TypeAlias, get_args

from dphist.data.weight import MOST_STEPS, check_steps, read_step
from dphist.errors import Argument, ParameterError
from dphist.labels.mechanism import check_bound, check_delta
from dphist.labels.threshold.bounded_noise import OptimalNoise
from dphist.labels.threshold.measuring import BOUNDED, ThresholdMeasuring
from dphist.labels.threshold.sums import Sums
from dphist.noise.gaussian import LARGEST_SIGMA
from dphist.noise.geometric import SMALLEST_EPSILON
from dphist.noise.optimal import check_number_of_values
from dphist.parameters import Exact, positive_delta

Noise: TypeAlias = Literal["laplace", "truncated", "optimal", "gaussian"]


def check_noise(noise: str, max_count: Any, delta: Exact | None, *, listed: bool) -> None:
    """Refuse a noise that is not known, or not for these bounds."""
    if noise not in get_args(Noise):
        names = ", ".join(f"'{name}'" for name in get_args(Noise)[:-1])
        choosing = "'best' is for dphist.calibrate, which knows a total"
        raise ParameterError("noise", f"must be {names} or 'gaussian'", choosing)
    if noise == "optimal" and check_bound(max_count, "max_count") > 1:
        raise ParameterError(
            "noise",
            "'optimal' is for " + Argument("max_count", 1) + " alone",
            "take 'truncated', whose counts end as well",
        )
    if listed and noise not in BOUNDED and delta not in (None, 0):
        raise ParameterError("delta", "must be left out where labels are listed: there is none")


def read_weight_step(step: Exact, max_count: int, noise: str, **beside: object) -> Fraction:
    """Return the unit of weighted counts; refuse what weights do not go with."""
    if noise == "optimal":
        raise ParameterError("noise", "must be another one of weights", "take 'truncated'")
    found = read_step(step, **beside)
    check_steps(check_bound(max_count, "max_count"), found, "max_count", MOST_STEPS)
    return found


def check_strength(mechanism: ThresholdMeasuring) -> None:
    """Refuse what cannot be sampled, or of which no guarantee can be stated."""
    each = mechanism.epsilon / mechanism.most_steps
    if not each >= SMALLEST_EPSILON or 1 / each > LARGEST_SIGMA:
        raise ParameterError(
            "epsilon", "divided by " + Argument("max_count") + " is too small to sample"
        )
    check_sampled(mechanism._sums)
    if mechanism.noise == "optimal":
        noise = mechanism.noise_law()
        assert isinstance(noise, OptimalNoise)  # noqa: S101
        check_number_of_values(noise.rate, noise.delta)
    try:
        provable = mechanism.guarantee, mechanism.epsilon_guarantee
    except ParameterError:
        provable = None
    if provable is None:
        raise ParameterError(
            ("epsilon", "max_labels", *(["sums_share"] if mechanism.sums else [])),
            "are too large for a guarantee to be stated",
        )


def read_delta(delta: Exact | None, noise: str, *, listed: bool) -> Fraction | None:
    """Return the delta of the mechanism; None if it has none."""
    if not listed:
        return check_delta(delta)
    return positive_delta(delta, "the noise ends") if noise in BOUNDED else None


def counts_totals(asked: object, sums: object) -> bool:
    """Return whether users are counted by their totals, checked."""
    if not isinstance(asked, bool):
        raise ParameterError("users_by_totals", "must be True or False")
    if asked and not sums:
        raise ParameterError(
            "users_by_totals",
            "needs " + Argument("sums"),
            "leave it out: without sums no total is clamped",
        )
    return asked


def check_sampled(summed: Sums | None) -> None:
    """Refuse sums whose noise cannot be sampled."""
    if summed is not None and not (summed.ratio and all(x.is_sampled for x in summed.noises)):
        raise ParameterError(
            ("epsilon", "sums_share"),
            "are too small: sums of that many steps cannot be sampled",
            "take larger steps, narrower bounds or fewer sums",
        )
