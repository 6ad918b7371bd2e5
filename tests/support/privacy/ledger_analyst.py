"""An analyst who chooses the next mechanism, its cost included, after seeing all earlier results.

Mechanisms here are pairs of laws on a few results, for one data set and its neighbor. The best
strategy is found by dynamic programming, on fractions: whoever sees results with probabilities p
and q may stop, and then gains max(p - K q, 0), or run any mechanism that the rule admits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import mpmath

from dphist.ledger.amounts import Cost, Totals
from dphist.ledger.budget import Budget
from dphist.privacy import ZCDP, ApproxDP, Guarantee, PureDP

_PLACES = 10**12
ONE = Fraction(1)


@dataclass(frozen=True, order=True)
class Play:
    """A mechanism: what it costs, and its law for the data and for their neighbor."""

    name: str
    cost: Cost
    law: tuple[tuple[Fraction, Fraction], ...]


Rule = Callable[[tuple[Play, ...], Play], bool]
"""Whether a mechanism may run after those that ran."""


def logarithm_above(number: Fraction) -> Fraction:
    """Return a short number at least ln(number), and very little above."""
    with mpmath.workdps(40):
        exact = mpmath.log(mpmath.mpf(number.numerator) / number.denominator)
        return Fraction(int(mpmath.ceil(exact * _PLACES)) + 1, _PLACES)


def power_of_e(exponent: Fraction, *, up: bool) -> Fraction:
    """Return a fraction below, or above, e**exponent by at most a part in 10**30."""
    with mpmath.workdps(60):
        scaled = mpmath.exp(mpmath.mpf(exponent.numerator) / exponent.denominator) * 10**40
        return Fraction(int(scaled) + (1 if up else -1), 10**40)


def response(odds: Fraction | str | int, stated: type[PureDP] | type[ZCDP] = PureDP) -> Play:
    """Return randomized response: a bit that is kept with these odds."""
    odds = Fraction(odds)
    epsilon = logarithm_above(odds)
    guarantee: Guarantee = PureDP(epsilon)
    if stated is ZCDP:
        guarantee = PureDP(epsilon).to_zcdp()
    kept, flipped = odds / (1 + odds), 1 / (1 + odds)
    return Play(f"{stated.__name__} {odds}", Cost.of(guarantee), ((kept, flipped), (flipped, kept)))


def revealing(odds: Fraction | str, delta: Fraction | str) -> Play:
    """Return what reveals the data with probability delta, and is randomized response otherwise.

    Every (epsilon, delta) mechanism is a function of it (Kairouz, Oh and Viswanath 2015).
    """
    plain, odds, delta = response(odds), Fraction(odds), Fraction(delta)
    law = tuple(((1 - delta) * p, (1 - delta) * q) for p, q in plain.law)
    guarantee = ApproxDP(logarithm_above(odds), delta)
    law += ((delta, Fraction(0)), (Fraction(0), delta))
    return Play(f"reveals {odds} {delta}", Cost.of(guarantee), law)


def discrete_gaussian(
    ratio: Fraction | str, reach: int, *, apart: int = 1, cost: Cost | None = None
) -> Play:
    """Return the law of x and of x + `apart`, Pr[x] proportional to ratio**(x**2), clamped.

    For x + 1 its rho is exactly ln(1 / ratio) (Canonne, Kamath and Steinke 2020, Proposition 5).
    Far tails, of less than 10**-38, are left out.
    """
    ratio = Fraction(ratio)
    far = 60
    weights = {x: ratio ** (x * x) for x in range(-far, far + 1)}
    total = sum(weights.values())

    def clamped(shift: int) -> list[Fraction]:
        found = [Fraction(0)] * (2 * reach)
        for x, weight in weights.items():
            place = min(max(x + shift, 1 - reach), reach)
            found[place + reach - 1] += weight / total
        return found

    paid = cost or Cost.of(ZCDP(logarithm_above(1 / ratio)))
    return Play(f"gaussian {ratio}", paid, tuple(zip(clamped(0), clamped(apart), strict=True)))


def several(play: Play, times: int, cost: Cost) -> Play:
    """Return a mechanism run independently on that many records of one user, at this cost."""
    law = [(ONE, ONE)]
    for _ in range(times):
        law = [(p * a, q * b) for p, q in law for a, b in play.law]
    return Play(f"{times} times {play.name}", cost, tuple(law))


def totals_of(history: tuple[Play, ...]) -> Totals:
    """Return the sums of what ran."""
    totals = Totals()
    for play in history:
        totals = totals.plus(play.cost)
    return totals


def filter_of(budget: Budget) -> Rule:
    """Return the rule of the ledger."""
    return lambda history, play: budget.admits(totals_of(history), play.cost)


def gain(plays: list[Play], admits: Rule, factor: Fraction, entries: int) -> Fraction:
    """Return the largest P(R) - factor Q(R) of any strategy of at most `entries` mechanisms."""

    @cache
    def allowed(history: tuple[Play, ...]) -> tuple[Play, ...]:
        if len(history) == entries:
            return ()
        return tuple(play for play in plays if admits(history, play))

    @cache
    def value(ratio: Fraction, history: tuple[Play, ...]) -> Fraction:
        """What is gained from here, for probability 1 of the data and `ratio` of the neighbor."""
        if not ratio:
            return ONE
        best = max(1 - factor * ratio, Fraction(0))
        for play in allowed(history):
            after = tuple(sorted((*history, play)))
            found = sum(
                (p * value(ratio * q / p, after) for p, q in play.law if p), start=Fraction(0)
            )
            best = max(best, found)
        return best

    return value(ONE, ())


def composed(history: tuple[Play, ...], factor: Fraction) -> Fraction:
    """Return the exact delta of these mechanisms, fixed beforehand, at e**epsilon = factor."""
    laws = {ONE: ONE}  # by ratio: the probability for the data
    revealed = Fraction(0)
    for play in history:
        found: dict[Fraction, Fraction] = {}
        for ratio, weight in laws.items():
            for p, q in play.law:
                if p and q:
                    found[ratio * q / p] = found.get(ratio * q / p, Fraction(0)) + weight * p
                elif p:
                    revealed += weight * p
        laws = found
    return revealed + sum(
        (max(weight * (1 - factor * ratio), Fraction(0)) for ratio, weight in laws.items()),
        start=Fraction(0),
    )
