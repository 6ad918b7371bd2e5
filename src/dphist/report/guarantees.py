"""Guarantees as they are stated: of a labelled release in all, and as JSON."""

from fractions import Fraction
from typing import Any

from dphist.parameters import decimal_text
from dphist.privacy import ZCDP, ApproxDP, PureDP

USUAL_DELTA = Fraction(1, 10**6)


def total_guarantee(mechanism: Any, budget: PureDP | ApproxDP | None = None) -> PureDP | ApproxDP:
    """Return the guarantee in epsilon that is stated first.

    That is the budget the mechanism was calibrated to, if there was one. Else it is what the
    mechanism promises directly; else the least epsilon known at twice its own delta, or at 1e-6
    if it has none.

    >>> from dphist.unknown import TopLabels
    >>> total_guarantee(TopLabels(k=10, epsilon="0.1", delta="5e-7"))
    ApproxDP(epsilon=0.723843869833, delta=1e-6)
    """
    direct: PureDP | ApproxDP | None = mechanism.direct_guarantee
    if isinstance(direct, PureDP) and (budget is None or direct.epsilon <= budget.epsilon):
        return direct
    if budget is not None:
        return budget
    if direct is not None:
        return direct
    own: Fraction = mechanism.delta or Fraction(0)
    least: ApproxDP = mechanism.to_approx_dp(min(2 * own, (1 + own) / 2) if own else USUAL_DELTA)
    return least


def guarantee_json(mechanism: Any) -> dict[str, str | int]:
    """Return the guarantee of a mechanism that protects `sensitivity` records, exactly."""
    guarantee = mechanism.guarantee
    found: dict[str, str | int] = {"name": type(guarantee).__name__}
    if isinstance(guarantee, ZCDP):
        found["rho"] = decimal_text(guarantee.rho)
    else:
        found["epsilon"] = decimal_text(guarantee.epsilon)
    return {**found, "sensitivity": mechanism.sensitivity}


def total_json(guarantee: PureDP | ApproxDP) -> dict[str, str]:
    """Return a guarantee in epsilon, exactly."""
    found = {"name": type(guarantee).__name__, "epsilon": decimal_text(guarantee.epsilon)}
    if isinstance(guarantee, ApproxDP):
        found["delta"] = decimal_text(guarantee.delta, digits=150)
    return found
