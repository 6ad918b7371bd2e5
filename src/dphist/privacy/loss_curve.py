"""The epsilon of Gaussian and geometric noise together: floats propose, integers decide.

Geometric noise of rate r on a number that moves by t has the losses r (t - 2x), x = 0..t. The law
of a sum of such losses is held as integers, each at least 2**bits times the probability. Beside it
all Gaussian noise is one Gaussian loss, whose exact curve is known:

    delta(E) = sum over losses x of Pr[x] d(E - x)

Every step is rounded up, so the epsilon is an upper bound: `docs/understand/proofs/fixed_plans.md`,
Lemmas 3 and 4.
"""

import functools
import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

import numpy as np
from scipy.special import log_ndtr, ndtr

from dphist.arrays import FloatArray
from dphist.noise.enclosures import ceil_shift, exp_negative
from dphist.noise.gaussian_epsilon import LEAST_EPSILON, gaussian_delta_above
from dphist.privacy.losses import GeometricLoss

MOST_ATOMS = 1 << 11
_MOST_MOVES = 1 << 12  # of all noise of one rate
_MOST_RATES = 1 << 7  # the losses of each are rounded up, which adds up
_MOST_BITS = 1 << 10
_STEPS = 60  # of the search in floating point, which halves each time
_FIRST_MARGIN, _MOST_MARGIN = Fraction(1, 10**10), Fraction(1, 10**2)
_UP = Context(prec=12, rounding=ROUND_CEILING, Emax=10**9, Emin=-(10**9))

Atoms = list[tuple[Fraction, int]]
"""Losses, and 2**bits times the probability of each, rounded up."""


@functools.lru_cache(maxsize=1024)
def find_mixed_epsilon(
    squared: Fraction, noises: tuple[GeometricLoss, ...], delta: Fraction
) -> Fraction | None:
    """Return an epsilon, of 12 digits, at which all this noise together has at most this delta.

    It is the smallest up to rounding of losses, where there are many. None if that is beyond what
    is computed here: the noise has thousands of losses or hundreds of rates, or the delta is below
    about 1e-280.

    Parameters
    ----------
    squared : squared distance of all Gaussian noise together, in variances; 0 for none.
    noises : all geometric noise, at least one.
    """
    if not delta > 0:
        return None
    bits = 96 + math.ceil(1 / delta).bit_length()
    if bits > _MOST_BITS or (squared and not Fraction(1, 10**30) < squared < 10**30):
        return None
    moves: dict[Fraction, int] = {}
    for noise in noises:
        moves[noise.rate] = moves.get(noise.rate, 0) + noise.moved * noise.times
    if len(moves) > _MOST_RATES:
        return None
    if max(moves.values()) > _MOST_MOVES or max(r * n for r, n in moves.items()) > 10**3:
        return None
    atoms = compute_atoms(noises, bits)
    if delta_above(Fraction(0), squared, atoms, bits) <= delta * (1 << bits):
        return Fraction(0)
    proposal, margin = _propose(squared, atoms, bits, float(delta)), Fraction(0)
    while margin <= _MOST_MARGIN:
        candidate = max(_round_up(proposal * (1 + margin)), LEAST_EPSILON)
        if delta_above(candidate, squared, atoms, bits) <= delta * (1 << bits):
            return candidate
        margin = margin * 8 or _FIRST_MARGIN
    return None


def delta_above(epsilon: Fraction, squared: Fraction, atoms: Atoms, bits: int) -> int:
    """Bound 2**bits delta(epsilon) from above."""
    return ceil_shift(
        sum(mass * _chance(epsilon - loss, squared, bits) for loss, mass in atoms), bits
    )


def compute_atoms(noises: Sequence[GeometricLoss], bits: int) -> Atoms:
    """Return the losses of all noise together, none of them too small, and their probabilities."""
    by_rate: dict[Fraction, list[GeometricLoss]] = {}
    for noise in noises:
        by_rate.setdefault(noise.rate, []).append(noise)
    laws = []
    for rate, equal in by_rate.items():
        law = [1 << bits]
        for noise in equal:
            law = _multiply(law, _power(_law(rate, noise.moved, bits), noise.times, bits), bits)
        laws.append((rate, law))
    if math.prod(len(law) for _, law in laws) <= MOST_ATOMS:
        return _list_all(laws, bits)
    return _round_losses(laws, bits)


def _law(rate: Fraction, moved: int, bits: int) -> list[int]:
    """Return the probabilities of the losses rate (moved - 2x), x = 0..moved, rounded up."""
    low, high = exp_negative(rate, bits)  # of a = e**-rate
    one = 1 << bits
    power, powers = one, []
    for _ in range(moved + 1):
        powers.append(power)
        power = ceil_shift(power * high, bits)
    inner = [-(-power * (one - low) // (one + low)) for power in powers]
    ends = [-(-(power << bits) // (one + low)) for power in (powers[0], powers[-1])]
    return [ends[0], *inner[1:-1], ends[1]]


def _power(law: list[int], times: int, bits: int) -> list[int]:
    """Return the law of a sum of `times` independent losses, by repeated squaring."""
    found = [1 << bits]
    while times:
        if times & 1:
            found = _multiply(found, law, bits)
        times >>= 1
        if times:
            law = _multiply(law, law, bits)
    return found


def _multiply(first: list[int], second: list[int], bits: int) -> list[int]:
    """Return the law of the sum of two losses, rounded up: a product of polynomials.

    Each law is packed into one integer, with room for every coefficient of the product.
    """
    width = (max(first).bit_length() + max(second).bit_length() + len(first).bit_length() + 7) // 8
    packed = [
        int.from_bytes(b"".join(mass.to_bytes(width, "little") for mass in law), "little")
        for law in (first, second)
    ]
    size = len(first) + len(second) - 1
    product = (packed[0] * packed[1]).to_bytes(width * size, "little")
    places = range(0, width * size, width)
    return [ceil_shift(int.from_bytes(product[at : at + width], "little"), bits) for at in places]


def _list_all(laws: Sequence[tuple[Fraction, list[int]]], bits: int) -> Atoms:
    """Return every sum of losses, one of each law."""
    atoms: dict[Fraction, int] = {Fraction(0): 1 << bits}
    for rate, law in laws:
        longer: dict[Fraction, int] = {}
        for loss, mass in atoms.items():
            for x, chance in enumerate(law):
                total = loss + rate * (len(law) - 1 - 2 * x)
                longer[total] = longer.get(total, 0) + ceil_shift(mass * chance, bits)
        atoms = longer
    return [*atoms.items()]


def _round_losses(laws: Sequence[tuple[Fraction, list[int]]], bits: int) -> Atoms:
    """Return sums of losses, those of each law rounded up to a multiple of one step."""
    reach = sum((rate * (len(law) - 1) for rate, law in laws), Fraction(0))
    step = 2 * reach / (MOST_ATOMS - 2 * len(laws))
    found, lowest = [1 << bits], 0
    for rate, law in laws:
        places = [math.ceil(rate * (len(law) - 1 - 2 * x) / step) for x in range(len(law))]
        held = [0] * (places[0] - places[-1] + 1)
        for place, mass in zip(places, law, strict=True):
            held[place - places[-1]] += mass
        found, lowest = _multiply(found, held, bits), lowest + places[-1]
    return [((lowest + place) * step, mass) for place, mass in enumerate(found) if mass]


def _chance(epsilon: Fraction, squared: Fraction, bits: int) -> int:
    """Bound 2**bits d(epsilon) of the Gaussian noise from above; without any, (1 - e**epsilon)+."""
    if squared:
        return gaussian_delta_above(epsilon, squared, bits)
    return 0 if epsilon >= 0 else (1 << bits) - exp_negative(-epsilon, bits)[0]


def _propose(squared: Fraction, atoms: Atoms, bits: int, delta: float) -> Fraction:
    """Return about the smallest epsilon, in floating point."""
    losses = np.array([float(loss) for loss, _ in atoms])
    masses = np.array([mass / (1 << bits) for _, mass in atoms])
    mu = math.sqrt(squared)
    low, high = 0.0, max(float(losses.max()), 0.0) + float(squared) / 2 + 40 * mu + 1e-12
    for _ in range(_STEPS):
        middle = (low + high) / 2
        fits = float(masses @ _chances(middle - losses, mu)) <= delta
        low, high = (low, middle) if fits else (middle, high)
    return Fraction(high)


def _chances(epsilon: FloatArray, mu: float) -> FloatArray:
    if not mu:
        return -np.expm1(np.minimum(epsilon, 0))
    first = ndtr(mu / 2 - epsilon / mu)
    second = np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))
    chances: FloatArray = np.maximum(first - second, 0)
    return chances


def _round_up(number: Fraction) -> Fraction:
    """Round up to 12 significant digits."""
    return Fraction(_UP.divide(Decimal(number.numerator), Decimal(number.denominator)))
