"""The threshold that keeps labels of a single user unreleased at all times."""

import math
from fractions import Fraction

from dphist.noise.quantiles import normal_quantile_above
from dphist.streams.counters.counter import Counter

_ROOT_BITS = 64


def threshold_units(
    counter: Counter, chance: Fraction, events: int, time: int | None = None
) -> int:
    """Return the smallest threshold proved to keep the probability, in the counter's units.

    One user has at most `events` events. Labels of this user only have counts j from 1 to
    `events`, which add up to at most `events` times max_labels. With c = `chance` (delta /
    (max_labels readings)), a threshold T is valid if Pr[j + N > T] <= c j / events for every j:
    then the probability that any such label is released is at most max_labels c at one time, and
    at most delta over all readings. The T required by j is convex in j, so the first and the last
    j decide (`docs/understand/proofs/streams.md`, Lemma 7).

    At one `time`, its variance decides; else the largest of all times.

    For one event it is 1 + sigma sqrt(ceil(log2(L + 1)) + 1) Phi^-1(1 - delta / (Delta_0 L))
    with the binary counter and L readings (Rogers 2023, sec. 4.3), plus rounding.
    """
    deviation = _root_above(counter.variance if time is None else counter.variance_at(time))
    needed = (
        count + deviation * normal_quantile_above(chance * count / events) for count in (1, events)
    )
    return math.ceil((max(needed) + counter.rounding) * (1 << counter.unit_bits))


def _root_above(square: Fraction) -> Fraction:
    scaled = -(-(square.numerator << 2 * _ROOT_BITS) // square.denominator)
    return Fraction(math.isqrt(scaled) + 1, 1 << _ROOT_BITS)
