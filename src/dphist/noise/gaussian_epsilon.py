"""The smallest epsilon of Gaussian noise at a delta: floating point proposes, integers decide.

If the exact counts of neighbors are mu standard deviations apart, Gaussian noise is
(E, delta)-DP for E >= 0 iff delta is at least

    d(E) = Q(a) - e**E Q(b),    a = E/mu - mu/2,    b = E/mu + mu/2,

where Q(x) = Pr[N(0, 1) > x] (Balle and Wang 2018, Theorem 8). The computed epsilon is an upper
bound: `docs/understand/proofs/accounting.md`, Lemmas 7 and 8.
"""

import functools
import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from scipy.special import erfcx, log_ndtr

from dphist.errors import ParameterError
from dphist.noise.enclosures import Enclosure, ceil_shift, exp_negative, normal_two_sided_tail

LEAST_EPSILON = Fraction(1, 10**12)
"""Returned in place of any smaller epsilon."""

_MOST_BITS = 1 << 12
_MOST_STEPS = 200
_NEAR = 4  # for larger x the continued fraction needs fewer terms than the series
_RATIO_BITS = 160
_UP = Context(prec=12, rounding=ROUND_CEILING, Emax=10**9, Emin=-(10**9))
# 1 / sqrt(2 pi) is between this and this plus one unit.
_DENSITY, _DENSITY_UNIT = 398942280401432677939946059934381868475858631164934657665925, 10**60


@functools.lru_cache(maxsize=1024)
def gaussian_epsilon(mu_squared: Fraction, delta: Fraction) -> Fraction:
    """Return the smallest E with d(E) <= delta, rounded up to 12 digits; 0 if d(0) <= delta.

    Parameters
    ----------
    mu_squared : above 0. Sum of the squared changes of the counts divided by the variance of the
        noise; for several releases, the sum over releases.
    delta : above 0.

    Raises
    ------
    ParameterError
        If no epsilon can be proved: delta is below about 1e-1200, or mu_squared is out of the
        range of floating point.
    """
    if not mu_squared > 0 or not delta > 0:
        raise ParameterError("delta", "must be greater than 0 for Gaussian noise")
    if delta >= 1:
        return Fraction(0)
    problem = ParameterError("delta", "is too small to state an epsilon of Gaussian noise")
    bits = 64 + math.ceil(1 / min(delta, 1 - delta)).bit_length()
    if bits > _MOST_BITS or not Fraction(1, 10**300) < mu_squared < 10**300:
        raise problem
    mu = math.sqrt(mu_squared)
    near = math.erf(mu / 8**0.5) < 2 * float(delta)  # d(0) = 1 - 2 Q(mu/2), to be decided exactly
    if near and _chance_and_slope(Fraction(0), mu_squared, bits)[0] <= delta * (1 << bits):
        return Fraction(0)
    found = _least(mu_squared, delta, Fraction(_proposal(mu, _log(delta))), bits)
    if found is None:
        raise problem
    return found


def gaussian_delta_above(epsilon: Fraction, mu_squared: Fraction, bits: int) -> int:
    """Bound 2**bits d(epsilon) from above, for any epsilon, also below 0.

    d(-E) = 1 - e**-E (1 - d(E)), as the two laws are each other's mirror image.
    """
    above = min(max(_chance_and_slope(abs(epsilon), mu_squared, bits)[0], 0), 1 << bits)
    if epsilon >= 0:
        return above
    least, _ = exp_negative(-epsilon, bits)
    return (1 << bits) - (least * ((1 << bits) - above) >> bits)


def _least(mu_squared: Fraction, delta: Fraction, proposal: Fraction, bits: int) -> Fraction | None:
    """Return the smallest epsilon of 12 digits that is proved to be enough; None if none is found.

    Newton's method usually confirms the proposal; bisection replaces it where it diverges.
    """
    candidate, low = max(_round_up(proposal), LEAST_EPSILON), Fraction(0)
    best: Fraction | None = None
    for step in range(_MOST_STEPS):
        chance, slope = _chance_and_slope(candidate, mu_squared, bits)
        excess = chance - delta * (1 << bits)
        # With these bits the 17th digit of the candidate still changes d. That is enough to
        # distinguish neighboring numbers of 12 digits in all but one of 100,000 cases.
        wanted = bits + 60 - math.floor(candidate * slope).bit_length() if slope > 0 else bits
        decided = min(wanted, _MOST_BITS) <= bits
        if excess <= 0:
            best = candidate if best is None else min(candidate, best)
        elif decided:
            low = max(candidate, low)
        if slope > 0:
            aim = candidate + excess / slope
        else:
            aim = candidate * (1 + Fraction(1 << step, 10**11)) if excess > 0 else low
        if best is not None and not low < aim < best:
            aim = (low + best) / 2
        candidate = max(_round_up(aim), LEAST_EPSILON)
        if decided and best is not None and candidate >= best:
            break
        bits = max(bits, min(wanted, _MOST_BITS))
    return best


def _log(delta: Fraction) -> float:
    if delta > Fraction(1, 2):
        return math.log1p(-float(1 - delta))
    return math.log(delta.numerator) - math.log(delta.denominator)  # integers may exceed floats


def _proposal(mu: float, log_delta: float) -> float:
    """Return the E = mu (a + mu/2) with d(E) = delta, in floating point.

    Newton's method on log d, which is concave, from the right of the root: it cannot overshoot.
    """
    low, a = max(-mu / 2, -40.0), math.sqrt(-2 * log_delta) + 1
    if _log_chance_and_slope(low, mu)[0] <= log_delta:
        return mu * (low + mu / 2)
    for _ in range(_MOST_STEPS):
        log_chance, slope = _log_chance_and_slope(a, mu)
        step = (log_chance - log_delta) / slope if slope else 0.0
        a = max(a - step, low)
        if abs(step) <= 1e-15 * max(1.0, abs(a)):
            break
    return mu * (a + mu / 2)


def _log_chance_and_slope(a: float, mu: float) -> tuple[float, float]:
    """Return log d at E = mu (a + mu/2), and its derivative by a."""
    share = _ratio(a + mu) / _ratio(a)  # of Q(a) that e**E Q(b) takes
    if mu < 1e-5:  # replace the difference of two values of Mills' ratio by the derivative
        middle = a + mu / 2
        left = mu * (1 / _ratio(middle) - middle)
    else:
        left = 1 - share
    left = max(left, 1e-300)
    return float(log_ndtr(-a)) + math.log(left), -mu * share / left


def _ratio(x: float) -> float:
    """Mills' ratio Q(x) / phi(x)."""
    return math.sqrt(math.pi / 2) * float(erfcx(x / math.sqrt(2)))


def _chance_and_slope(epsilon: Fraction, mu_squared: Fraction, bits: int) -> tuple[int, int]:
    """Bound 2**bits d(epsilon) from above and 2**bits e**epsilon Q(b), its slope, from below."""
    # Rounding mu moves a by at most (E/mu**2 + 1/2) units, and b likewise.
    numerator, denominator = mu_squared.numerator, mu_squared.denominator
    scale = bits + 32 + 2 * abs(numerator.bit_length() - denominator.bit_length())
    scale += math.ceil(epsilon).bit_length()
    root = math.isqrt((numerator << 2 * scale) // denominator)  # root <= 2**scale mu < root + 1
    wide = epsilon.numerator << 2 * scale
    a_low = wide // (epsilon.denominator * (root + 1)) - ceil_shift(root + 1, 1)
    b_high = -(-wide // (epsilon.denominator * root)) + ceil_shift(root + 1, 1)
    a, b = Fraction(a_low, 1 << scale), Fraction(b_high, 1 << scale)
    # Q decreases, so rounding a down and b up enlarges the difference.
    low, high = _tail(abs(a), Fraction(0), bits)
    above = high if a >= 0 else (1 << bits) - low
    slope = _tail(b, epsilon, bits)[0]
    return above - slope, slope


def _tail(x: Fraction, shift: Fraction, bits: int) -> Enclosure:
    """Enclose 2**bits e**shift Q(x) for x >= 0 and 0 <= shift <= x**2 / 2."""
    if x >= _NEAR:
        exp_low, exp_high = exp_negative(x * x / 2 - shift, bits)
        places = _RATIO_BITS + 2 * math.ceil(x).bit_length()
        ratio_low, ratio_high = _mills_ratio(x, places)
        low, high = exp_low * ratio_low * _DENSITY, exp_high * ratio_high * (_DENSITY + 1)
        return low // _DENSITY_UNIT >> places, ceil_shift(-(-high // _DENSITY_UNIT), places)
    work = bits + 16  # e**shift <= e**8 < 2**12
    low, high = normal_two_sided_tail(x, work)
    exp_low, exp_high = exp_negative(shift, work)
    return (low << bits) // exp_high >> 1, ceil_shift(-(-(high << bits) // exp_low), 1)


def _mills_ratio(x: Fraction, bits: int) -> Enclosure:
    """Enclose 2**bits Q(x) / phi(x) for x >= 4 by Laplace's continued fraction."""
    unit = 1 << 2 * bits
    x_low = (x.numerator << bits) // x.denominator
    levels = 24 + 1024 // math.floor(x) ** 2
    low, high = 0, unit // x_low + 1
    for level in range(levels, 0, -1):
        low, high = unit // (x_low + 1 + level * high), unit // (x_low + level * low) + 1
    return low, high


def _round_up(number: Fraction) -> Fraction:
    """Round up to 12 significant digits."""
    return Fraction(_UP.divide(Decimal(number.numerator), Decimal(number.denominator)))
