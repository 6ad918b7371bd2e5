"""The decaying parts that form the noise of a running count, for a given horizon.

The best noise for running counts has a covariance that decreases with the logarithm of the distance
in time (Fichtenberger, Henzinger and Upadhyay 2023, from the square root of the counting matrix).
Parts with geometrically spaced decay times approximate this covariance: equal weights in the
middle, and a larger one at the slow end, for all slower parts. The constants result from a search
over horizons of 2**8 to 2**24 (`python -m benchmarks.streams.design`).
Saved streams with other constants cannot continue: their states are refused.
"""

import functools
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction

from dphist.streams.counters.spectrum import squared_sensitivity

_MOST_PARTS = 12
_SHORT = Context(prec=4)  # four digits of a decay time suffice


@dataclass(frozen=True, slots=True)
class Design:
    """Parts of the noise, and their cost.

    Attributes
    ----------
    decays : the theta_j, ascending: a part's correlation between successive events.
    weights : variances of the parts, to be scaled.
    squared_sensitivity : upper bound of the squared distance of neighbors, in 1 / weight.
    """

    decays: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]
    squared_sensitivity: Fraction

    @property
    def cost(self) -> Fraction:
        """Variance at a squared distance of 1, which a design minimizes."""
        return self.squared_sensitivity * sum(self.weights, Fraction(0))


@dataclass(frozen=True, slots=True)
class Shape:
    """The constants of a family of designs.

    Attributes
    ----------
    fastest : events until the fastest part has decayed to 1/e, about.
    slowest : the same of the slowest part, as a share of the horizon.
    last_ratio : of the slowest time to the next one.
    last_weight : of the slowest part; that of the others is 1.
    """

    fastest: Decimal
    slowest: Decimal
    last_ratio: Decimal
    last_weight: Fraction


STATIONARY = Shape(Decimal("0.86"), Decimal("0.535"), Decimal("20.5"), Fraction("1.73"))
WITHOUT_PAST = Shape(Decimal("1.07"), Decimal("0.85"), Decimal("20.1"), Fraction("1.657"))


@functools.lru_cache(maxsize=64)
def design(horizon: int) -> Design:
    """Return the best design of stationary parts, one to twelve of them, for a horizon."""
    least = _make_design(STATIONARY, 1, horizon)
    for parts in range(2, _MOST_PARTS + 1):
        following = _make_design(STATIONARY, parts, horizon)
        if following.cost < least.cost:
            least = following
        elif parts > 2:  # further parts only cost more
            break
    return least


@functools.lru_cache(maxsize=64)
def toeplitz_designs(horizon: int) -> tuple[Design, ...]:
    """Return designs for parts without a past, with as many parts as `design` has.

    The design of the stationary parts is one of them. Without a past it costs the same and has a
    smaller variance at every time, so the best of these is never worse.
    """
    stationary = design(horizon)
    return stationary, _make_design(WITHOUT_PAST, len(stationary.decays), horizon)


UNBOUNDED = 2**40
"""Number of events after which streams without a horizon end."""

# Decay times, in events, and weights, of parts for all horizons at once. Up to about a thousand
# events the weights are equal, from then on they grow as fast as the variance of the best noise for
# a horizon, so that its ratio to that stays about the same.
_UNBOUNDED = (
    *(("0.898", "1"), ("11.16", "1"), ("138.7", "1"), ("1725", "1.054"), ("21440", "1.842")),
    *(("266500", "2.664"), ("3.313e6", "3.522"), ("4.118e7", "4.415"), ("5.119e8", "5.344")),
    *(("6.363e9", "6.307"), ("7.909e10", "7.306"), ("9.832e11", "8.339")),
)


@functools.lru_cache(maxsize=1)
def unbounded_design() -> Design:
    """Return the design for parts without a past, where no horizon was chosen."""
    times = [Fraction(time) for time, _ in _UNBOUNDED]
    decays = tuple((2 * time - 1) / (2 * time + 1) for time in times)
    weights = tuple(Fraction(weight) for _, weight in _UNBOUNDED)
    return Design(decays, weights, squared_sensitivity(decays, weights, UNBOUNDED))


def _make_design(shape: Shape, parts: int, horizon: int) -> Design:
    times = _decay_times(shape, parts, horizon)
    # About exp(-1 / time), and a fraction.
    decays = tuple((2 * time - 1) / (2 * time + 1) for time in times)
    weights = (Fraction(1),) * (parts - 1) + (shape.last_weight,)
    return Design(decays, weights, squared_sensitivity(decays, weights, horizon))


def _decay_times(shape: Shape, parts: int, horizon: int) -> list[Fraction]:
    """Return the decay times, in events, ascending."""
    with localcontext(Context(prec=28)):
        slowest = max(shape.slowest * horizon, shape.fastest)
        if parts == 1:
            return [_round_short(slowest)]
        next_one = max(slowest / shape.last_ratio, shape.fastest)
        quick = [shape.fastest]
        if parts > 2:
            ratio = (max(next_one / shape.fastest, Decimal("1.5")).ln() / (parts - 2)).exp()
            quick = [shape.fastest * ratio**i for i in range(parts - 1)]
        return [_round_short(time) for time in (*quick, max(slowest, 2 * quick[-1]))]


def _round_short(time: Decimal) -> Fraction:
    return Fraction(_SHORT.plus(time))
