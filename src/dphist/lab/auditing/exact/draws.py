"""Laws of single draws, the likeliest value first, as enclosures in units of 2**-BITS."""

import functools
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction

from dphist.noise.enclosures import Enclosure, ceil_shift, exp_negative, normal_two_sided_tail

BITS = 160
ONE = 1 << BITS


@dataclass(frozen=True)
class Uniform:
    """Each of 0, ..., size - 1 is as likely."""

    size: int

    @property
    def outcomes(self) -> int | None:
        """How many values there are; None for infinitely many."""
        return self.size

    def at(self, rank: int) -> tuple[int, Enclosure]:
        """Return the value of a rank, and bounds on its probability."""
        return rank, (ONE // self.size, -(-ONE // self.size))


@dataclass(frozen=True)
class Geometric:
    """Two-sided geometric noise: 0, 1, -1, 2, -2, ..."""

    epsilon: Fraction

    @property
    def outcomes(self) -> int | None:
        """Infinitely many."""
        return None

    def at(self, rank: int) -> tuple[int, Enclosure]:
        """Return the value of a rank, and bounds on its probability."""
        value = _alternating(rank)
        return value, _geometric(self.epsilon, abs(value))


@dataclass(frozen=True)
class RoundedGaussian:
    """Normal noise rounded to whole numbers: 0, 1, -1, 2, -2, ..."""

    sigma: Fraction

    @property
    def outcomes(self) -> int | None:
        """Infinitely many."""
        return None

    def at(self, rank: int) -> tuple[int, Enclosure]:
        """Return the value of a rank, and bounds on its probability."""
        value = _alternating(rank)
        return value, _gaussian(self.sigma, abs(value))


Draw = Uniform | Geometric | RoundedGaussian
Value = Hashable


def _alternating(rank: int) -> int:
    return (rank + 1) // 2 if rank % 2 else -(rank // 2)


@functools.lru_cache(4096)
def _geometric(epsilon: Fraction, size: int) -> Enclosure:
    """Enclose (1 - a) / (1 + a) * a**size, a = exp(-epsilon)."""
    (low, high), (power_low, power_high) = (exp_negative(epsilon * k, BITS) for k in (1, size))
    first_low = ((ONE - high) << BITS) // (ONE + high)
    first_high = -(-((ONE - low) << BITS) // (ONE + low))
    return first_low * power_low >> BITS, ceil_shift(first_high * power_high, BITS)


@functools.lru_cache(4096)
def _gaussian(sigma: Fraction, size: int) -> Enclosure:
    """Enclose Pr[size - 1/2 < N <= size + 1/2], N normal."""
    outer = normal_two_sided_tail((size + Fraction(1, 2)) / sigma, BITS)
    if size == 0:
        return max(0, ONE - outer[1]), ONE - outer[0]
    inner = normal_two_sided_tail((size - Fraction(1, 2)) / sigma, BITS)
    return max(0, (inner[0] - outer[1]) // 2), -(-(inner[1] - outer[0]) // 2)
