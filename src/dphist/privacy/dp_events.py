"""Mechanisms as events of Google's `dp_accounting`, which accounts for many releases together.

An event states noise, as floats. Each number is rounded to the side on which the event costs more,
so that no accountant can claim more privacy than there is. Needs the package: ``pip install
'dphist[accounting]'``.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dphist.errors import DphistError, ParameterError
from dphist.privacy.as_text import float_up
from dphist.privacy.losses import ConcentratedLoss, GaussianLoss, Loss, Losses
from dphist.privacy.rounding import readable

_STEPS = 2**80


def geometric(rate: Fraction, sensitivity: int = 1, times: int = 1) -> Any:
    """Return the event of two-sided geometric noise on numbers that a unit changes.

    Parameters
    ----------
    rate : Pr[Z = z] is proportional to exp(-rate abs(z)).
    sensitivity : by how much one unit changes all numbers together, at most.
    times : how many such groups of numbers there are.
    """
    event = _events().DiscreteLaplaceDpEvent(float_up(rate), sensitivity)
    return event if times == 1 else _events().SelfComposedDpEvent(event, times)


def gaussian(squared: Fraction) -> Any:
    """Return the event of Gaussian noise, rounded or not.

    Parameters
    ----------
    squared : the squared L2 sensitivity of one unit, in standard deviations: mu**2.
    """
    whole = math.isqrt(_STEPS**2 * squared.denominator // squared.numerator)
    return _events().GaussianDpEvent(_float_down(Fraction(whole, _STEPS)))


def together(events: Sequence[Any]) -> Any:
    """Return the event of several events."""
    return _events().ComposedDpEvent(list(events))


def failing(delta: Fraction) -> Any:
    """Return the event of a mechanism that reveals everything with this probability: (0, delta)-DP.

    `dphist.lab.bridges.dp_accounting.PLDAccountant` takes it; accountants that do not know it
    refuse it.
    """
    events = _events()
    return events.PoissonSampledDpEvent(float_up(delta), events.NonPrivateDpEvent())


def compose(noise: Any, delta: Fraction) -> Any:
    """Return the event of noise, together with a failure if there is a delta."""
    return noise if delta == 0 else together([noise, failing(delta)])


def make_event(losses: Losses) -> Any:
    """Return the event of a release with these losses.

    Raises
    ------
    ParameterError
        If they are known in approximate zCDP alone, for which there is no event.
    """
    parts = losses.parts
    if losses.delta and any(isinstance(part, ConcentratedLoss) for part in parts):
        raise ParameterError(
            "delta",
            f"must be given, above {readable(losses.delta)}: this mechanism has approximate zCDP, "
            "for which dp_accounting has no event; at a delta it has (epsilon, delta)-DP",
        )
    events = [_make_event(part) for part in parts]
    return compose(events[0] if len(events) == 1 else together(events), losses.delta)


def _make_event(part: Loss) -> Any:
    if isinstance(part, GaussianLoss):
        return gaussian(part.squared)
    if isinstance(part, ConcentratedLoss):
        return _events().ZCDpEvent(float_up(part.rho))
    return geometric(part.rate, part.moved, part.times)


def _float_down(number: Fraction) -> float:
    near = float(number)
    return near if Fraction(near) <= number else math.nextafter(near, 0)


def _events() -> Any:
    """Return the module of events."""
    try:
        from dp_accounting import dp_event
    except ImportError:
        dp_event = None
    if dp_event is None:
        raise DphistError("events need dp_accounting: pip install 'dphist[accounting]'")
    return dp_event
