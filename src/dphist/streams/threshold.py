"""The threshold below which a label that only one user brought stays, at all times."""

import math
from fractions import Fraction

from dphist.noise.quantiles import normal_quantile_above
from dphist.streams.counters.counter import Counter

_ROOT_BITS = 64


def threshold_units(counter: Counter, chance: Fraction, events: int) -> int:
    """Return the threshold in the counter's units: the least one known to keep the chance.

    One user has at most `events` events. Labels that nobody else brings have counts j, 1 to
    `events`, and the j add up to `events` times max_labels at most. With c = `chance` (delta /
    (max_labels readings)), a threshold T serves if Pr[j + N > T] <= c j / events for every j: then
    at one time any such label is released with probability at most max_labels c, and at any of
    the readings with at most delta. The T that a single j needs is convex in j, so that the
    first and the last decide (`docs/proofs/streams.md`, Lemma 7).

    For one event it is 1 + sigma sqrt(ceil(log2(L + 1)) + 1) Phi^-1(1 - delta / (Delta_0 L))
    with the binary counter and L readings (Rogers 2023, sec. 4.3), and what rounding adds.
    """
    deviation = _root_above(counter.variance)
    needed = (
        count + deviation * normal_quantile_above(chance * count / events) for count in (1, events)
    )
    return math.ceil((max(needed) + counter.rounding) * (1 << counter.unit_bits))


def _root_above(square: Fraction) -> Fraction:
    scaled = -(-(square.numerator << 2 * _ROOT_BITS) // square.denominator)
    return Fraction(math.isqrt(scaled) + 1, 1 << _ROOT_BITS)
