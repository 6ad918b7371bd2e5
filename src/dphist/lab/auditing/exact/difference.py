"""Two laws: delta at an epsilon, from both sides, and epsilon at a delta."""

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction

from dphist.lab.auditing.exact.draws import BITS, ONE
from dphist.lab.auditing.exact.tree import Law
from dphist.noise.enclosures import exp_negative

_LARGEST_EPSILON = Fraction(100)


@dataclass(frozen=True)
class DeltaBounds:
    """Delta at an epsilon, in one direction.

    Attributes
    ----------
    low, high : bounds; `high - low` is what was not reached, and rounding.
    event : what is likelier by more than exp(epsilon), with certainty.
    """

    low: Fraction
    high: Fraction
    event: frozenset[Hashable]


def delta_between(one: Law, other: Law, epsilon: Fraction) -> DeltaBounds:
    """Bound max over events E of Pr[one in E] - exp(epsilon) Pr[other in E].

    Probability that was not reached may lie anywhere: below, all that was not reached of the
    other law is taken for part of the event, above, all that was not reached of the one.
    """
    low_power, high_power = exp_negative(epsilon, BITS)
    least, most = Fraction(ONE, high_power), Fraction(ONE, max(low_power, 1))
    low = high = Fraction(0)
    event = []
    for shown in one.chances:
        here, there = one.probability(shown), other.probability(shown)
        high += max(here[1] - least * there[0], Fraction(0))
        certain = here[0] - most * there[1]
        if certain > 0:
            low += certain
            event.append(shown)
    return DeltaBounds(
        max(low - most * other.unreached, Fraction(0)),
        min(high + one.unreached, Fraction(1)),
        frozenset(event),
    )


def epsilon_of(one: Law, other: Law, delta: Fraction) -> Fraction:
    """Return an epsilon that the pair exceeds at `delta`, in this direction, or 0; 100 at most.

    It is the largest one, to a millionth.
    """
    low, high = Fraction(0), Fraction(1)
    while high < _LARGEST_EPSILON and delta_between(one, other, high).low > delta:
        low, high = high, min(2 * high, _LARGEST_EPSILON)
    if high >= _LARGEST_EPSILON and delta_between(one, other, high).low > delta:
        return _LARGEST_EPSILON
    while high - low > Fraction(1, 2**20):
        middle = (low + high) / 2
        if delta_between(one, other, middle).low > delta:
            low = middle
        else:
            high = middle
    return low
