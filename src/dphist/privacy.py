"""Guarantees as values: what a release costs, composed and converted exactly.

A guarantee is known before any data are read. Its numbers are Fractions; where a
conversion needs a logarithm, the result is rounded up, so that what is claimed is never
stronger than what holds. Formulas: Bun and Steinke 2016; Canonne, Kamath, Steinke 2020.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TypeAlias

from dphist.errors import ParameterError
from dphist.parameters import Exact, decimal_text, positive_number, probability


def _hold(guarantee: object, name: str, value: Fraction) -> None:
    object.__setattr__(guarantee, name, value)  # frozen, but not yet given out


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PureDP:
    """Pure epsilon-differential privacy.

    For neighbouring data D, D' and every set S of results,
    Pr[M(D) in S] <= exp(epsilon) Pr[M(D') in S].

    Parameters
    ----------
    epsilon : number above 0; a float means its shortest decimal. Held as a Fraction.
    """

    epsilon: Fraction

    def __init__(self, epsilon: Exact) -> None:
        _hold(self, "epsilon", positive_number(epsilon, "epsilon"))

    def __repr__(self) -> str:
        return f"PureDP(epsilon={_readable(self.epsilon)})"

    def __str__(self) -> str:
        return f"{_readable(self.epsilon)}-differential privacy (pure)"

    def to_zcdp(self) -> "ZCDP":
        """Return the zCDP this implies: rho = epsilon tanh(epsilon/2), or more by rounding.

        Randomised response is the worst case of a pure guarantee, and its Renyi
        divergences D_a / a rise to their limit epsilon tanh(epsilon/2) / 1 at a -> 1
        (`docs/proofs/accounting.md`). It is never above epsilon**2 / 2.
        """
        return ZCDP(_pure_to_rho(self.epsilon))

    def to_approx_dp(self, delta: Exact = 0) -> "ApproxDP":
        """Return (epsilon, delta)-DP; a pure guarantee holds with every delta."""
        return ApproxDP(self.epsilon, delta)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class ZCDP:
    """rho-zero-concentrated differential privacy.

    For neighbouring data and every a > 1 the Renyi divergence of order a of the two
    output laws is at most rho * a, both ways (Bun and Steinke 2016, Definition 1.1).

    Parameters
    ----------
    rho : number above 0. Held as a Fraction.
    """

    rho: Fraction

    def __init__(self, rho: Exact) -> None:
        _hold(self, "rho", positive_number(rho, "rho"))

    def __repr__(self) -> str:
        return f"ZCDP(rho={_readable(self.rho)})"

    def __str__(self) -> str:
        return f"{_readable(self.rho)}-zero-concentrated differential privacy"

    def to_approx_dp(self, delta: Exact) -> "ApproxDP":
        """Return an (epsilon, delta)-DP guarantee this implies, epsilon rounded up."""
        target = _delta_above(delta, Fraction(0))
        return ApproxDP(_rho_to_epsilon(self.rho, target), target)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class ApproxDP:
    """(epsilon, delta)-differential privacy.

    For neighbouring data D, D' and every set S of results,
    Pr[M(D) in S] <= exp(epsilon) Pr[M(D') in S] + delta.

    Parameters
    ----------
    epsilon : number above 0.
    delta : number at least 0 and below 1. Both are held as Fractions.
    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Exact, delta: Exact) -> None:
        _hold(self, "epsilon", positive_number(epsilon, "epsilon"))
        _hold(self, "delta", probability(delta, "delta"))

    def __repr__(self) -> str:
        return f"ApproxDP(epsilon={_readable(self.epsilon)}, delta={_readable(self.delta)})"

    def __str__(self) -> str:
        return f"({_readable(self.epsilon)}, {_readable(self.delta)})-differential privacy"

    def to_approx_zcdp(self) -> "ApproxZCDP":
        """Return the delta-approximate zCDP this implies, with rho as for a pure guarantee.

        By Kairouz, Oh and Viswanath 2015 an (epsilon, delta) pair is a post-processing of
        one that reveals all with probability delta and is pure epsilon otherwise.
        """
        return ApproxZCDP(_pure_to_rho(self.epsilon), self.delta)

    def to_approx_dp(self, delta: Exact) -> "ApproxDP":
        """Return the guarantee at a larger delta; a smaller one is refused."""
        target = probability(delta, "delta")
        if target < self.delta:
            raise ParameterError(
                f"delta must be at least this guarantee's own, {_readable(self.delta)}"
            )
        return ApproxDP(self.epsilon, target)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class ApproxZCDP:
    """delta-approximate rho-zero-concentrated differential privacy.

    For neighbouring data there are laws with Renyi divergences at most rho * a both ways,
    and an event on which they lie below the two output laws, of mass at least 1 - delta
    (`docs/proofs/accounting.md`; Bun and Steinke 2016, Definition 8.1, is a case of it).

    Parameters
    ----------
    rho : number above 0.
    delta : number at least 0 and below 1. Both are held as Fractions.
    """

    rho: Fraction
    delta: Fraction

    def __init__(self, rho: Exact, delta: Exact) -> None:
        _hold(self, "rho", positive_number(rho, "rho"))
        _hold(self, "delta", probability(delta, "delta"))

    def __repr__(self) -> str:
        return f"ApproxZCDP(rho={_readable(self.rho)}, delta={_readable(self.delta)})"

    def __str__(self) -> str:
        return (
            f"{_readable(self.delta)}-approximate {_readable(self.rho)}"
            "-zero-concentrated differential privacy"
        )

    def to_approx_dp(self, delta: Exact) -> "ApproxDP":
        """Return (epsilon, delta)-DP for a *total* delta above this guarantee's own."""
        target = _delta_above(delta, self.delta)
        return ApproxDP(_rho_to_epsilon(self.rho, target - self.delta), target)


Guarantee: TypeAlias = PureDP | ZCDP | ApproxDP | ApproxZCDP


def compose(*guarantees: Guarantee) -> Guarantee:
    """Return what several releases from the same data cost together.

    Epsilons of pure and (epsilon, delta) guarantees add; rhos add, a pure guarantee
    counting as its zCDP; deltas combine as 1 - (1 - delta1)(1 - delta2). Valid also when
    each mechanism is chosen after seeing earlier releases, if these guarantees were fixed
    beforehand.

    >>> compose(PureDP("1/2"), PureDP("1/3"))
    PureDP(epsilon=5/6)
    """
    if not guarantees:
        raise ParameterError("guarantees must name at least one guarantee")
    for guarantee in guarantees:
        if not isinstance(guarantee, PureDP | ZCDP | ApproxDP | ApproxZCDP):
            raise ParameterError("guarantees must be PureDP, ZCDP, ApproxDP or ApproxZCDP")
    kept = math.prod(1 - delta_of(guarantee) for guarantee in guarantees)
    delta = 1 - kept
    approximate = any(isinstance(g, ApproxDP | ApproxZCDP) for g in guarantees)
    if any(isinstance(g, ZCDP | ApproxZCDP) for g in guarantees):
        rho = sum((_rho(g) for g in guarantees), Fraction(0))
        return ApproxZCDP(rho, delta) if approximate else ZCDP(rho)
    epsilon = sum((g.epsilon for g in guarantees if isinstance(g, PureDP | ApproxDP)), Fraction(0))
    return ApproxDP(epsilon, delta) if approximate else PureDP(epsilon)


def least_epsilon(
    guarantees: Iterable[Guarantee], delta: Fraction, releases: int
) -> Fraction | None:
    """Return the least epsilon that one of these guarantees shows of so many releases, if any.

    Deltas are added up, which is a little more than `compose` makes of them.
    """
    claims = []
    for each in guarantees:
        left = delta - releases * delta_of(each)
        if isinstance(each, PureDP | ApproxDP) and left >= 0:
            claims.append(releases * each.epsilon)
        if left > 0:
            claims.append(ZCDP(releases * _rho(each)).to_approx_dp(left).epsilon)
    return min(claims, default=None)


def delta_of(guarantee: Guarantee) -> Fraction:
    """Return the delta of a guarantee, 0 where it has none."""
    return guarantee.delta if isinstance(guarantee, ApproxDP | ApproxZCDP) else Fraction(0)


def _rho(guarantee: Guarantee) -> Fraction:
    if isinstance(guarantee, ZCDP | ApproxZCDP):
        return guarantee.rho
    return _pure_to_rho(guarantee.epsilon)


def _delta_above(delta: Exact, own: Fraction) -> Fraction:
    target = probability(delta, "delta")
    if not target > own:
        raise ParameterError(f"delta must be greater than {_readable(own)}")
    return target


# Decimal arithmetic to 40 digits, each operation rounded to the side named. Its exp and ln
# are correctly rounded (to nearest), so they are moved one unit outwards.
_UP = Context(prec=40, rounding=ROUND_CEILING, Emax=10**9, Emin=-(10**9))
_DOWN = Context(prec=40, rounding=ROUND_FLOOR, Emax=10**9, Emin=-(10**9))
_SHORT = Context(prec=6, rounding=ROUND_CEILING, Emax=10**9, Emin=-(10**9))
_DIGITS = 12


def _decimal(number: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def _log_up(number: Fraction) -> Decimal:
    return _UP.next_plus(_UP.ln(_decimal(number, _UP)))


def _round_up(number: Decimal, digits: int = _DIGITS) -> Fraction:
    """Round up to `digits` significant digits."""
    return Fraction(Context(prec=digits, rounding=ROUND_CEILING).plus(number))


def _pure_to_rho(epsilon: Fraction) -> Fraction:
    """Round epsilon * tanh(epsilon/2) = epsilon (1 - e) / (1 + e) up, with e = exp(-epsilon)."""
    if epsilon > 1000:  # tanh is 1 to hundreds of digits
        return epsilon
    e_low = _DOWN.next_minus(_DOWN.exp(_DOWN.minus(_decimal(epsilon, _UP))))
    tanh = _UP.divide(_UP.subtract(Decimal(1), e_low), _DOWN.add(Decimal(1), e_low))
    rounded = _round_up(_UP.multiply(_decimal(epsilon, _UP), tanh))
    return min(rounded, epsilon * epsilon / 2)


def _rho_to_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon at which rho-zCDP gives (epsilon, delta)-DP, rounded up.

    For any a > 1: epsilon = a rho + (ln(1/delta) + (a-1) ln(1 - 1/a) - ln a) / (a-1)
    (Canonne, Kamath, Steinke 2020, Corollary 13). Every a gives a valid bound, so `a` may
    be sought in floating point; only the bound at the `a` found is rounded.
    """
    order = Fraction(_best_order(float(rho), delta)).limit_denominator(10**9)
    less = order - 1
    numerator = _UP.add(_log_up(1 / delta), _log_up(1 / order))
    term = _UP.add(
        _UP.divide(numerator, _decimal(less, _DOWN if numerator > 0 else _UP)),
        _log_up(1 - 1 / order),
    )
    tight = _UP.add(_UP.multiply(_decimal(order, _UP), _decimal(rho, _UP)), term)
    # An epsilon of 0 is no guarantee this library can state; a tiny one covers it.
    return max(_round_up(tight), Fraction(1, 10**_DIGITS))


def _best_order(rho: float, delta: Fraction) -> float:
    """Seek the order a that minimises the bound, in ln(a - 1)."""
    log_delta = math.log(delta.numerator) - math.log(delta.denominator)

    def bound(t: float) -> float:
        less = math.exp(t)
        order = 1 + less
        return order * rho + (-log_delta - math.log(order)) / less + t - math.log(order)

    return 1 + math.exp(_golden_minimum(bound, -18.0, 40.0))


def _golden_minimum(function: Callable[[float], float], low: float, high: float) -> float:
    """Golden-section search; any point it returns is valid, a better one is tighter."""
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(200):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if function(left) < function(right):
            high = right
        else:
            low = left
    return (low + high) / 2


def _readable(number: Fraction) -> str:
    """A short decimal or fraction where that is exact, six digits rounded up where it is not."""
    text = decimal_text(number, digits=18)
    if len(text) > 24:
        text = f"{_decimal(number, _SHORT)}"
    if "/" not in text and 0 < number < Fraction(1, 1000):
        text = f"{Decimal(text).normalize():e}"
    return text
