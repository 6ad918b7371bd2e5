"""Normal quantiles are certain, and tight."""

import random
from fractions import Fraction

import mpmath
import pytest

from dphist.errors import ParameterError
from dphist.noise import quantiles
from dphist.noise.quantiles import normal_quantile_above

STEP = Fraction(1, 1 << 32)


def tail_is_at_most(z: Fraction, p: Fraction) -> bool:
    """Whether Pr[N(0, 1) > z] <= p, to more digits than tell them apart."""
    with mpmath.workdps(400):
        x = mpmath.mpf(z.numerator) / z.denominator
        return bool(mpmath.erfc(x / mpmath.sqrt(2)) / 2 * p.denominator <= p.numerator)


def chances() -> list[Fraction]:
    rng = random.Random(1)
    found = [Fraction(rng.random()).limit_denominator(10**9) / 2 for _ in range(100)]
    found += [Fraction(rng.randrange(1, 10**6), 10 ** rng.randrange(7, 100)) for _ in range(50)]
    found += [Fraction(1, 10**digits) for digits in (1, 6, 20, 60, 300)]
    return found + [Fraction(1, 2) - Fraction(1, 10**digits) for digits in (3, 9, 10, 11, 30)]


@pytest.mark.parametrize("p", chances(), ids=lambda p: f"{float(p):.6g}")
@pytest.mark.quick(every=5)
def test_quantiles_are_rounded_up(p: Fraction) -> None:
    z = normal_quantile_above(p)
    assert z >= 0
    assert tail_is_at_most(z, p)
    assert not tail_is_at_most(z - 2 * STEP, p)


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1, 10**6), Fraction(1, 10**60)])
def test_a_proposal_too_low_is_put_right(monkeypatch: pytest.MonkeyPatch, p: Fraction) -> None:
    """Integers decide: floating point that errs by a thousand steps costs time alone."""
    right, inverse = normal_quantile_above(p), quantiles.ndtri_exp
    monkeypatch.setattr(quantiles, "ndtri_exp", lambda x: inverse(x) + 1000 * float(STEP))
    assert 0 <= right - normal_quantile_above(p) <= STEP


@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(3, 4), 1 - Fraction(1, 10**60)])
def test_from_a_half_on_the_quantile_is_zero(p: Fraction) -> None:
    assert normal_quantile_above(p) == 0


@pytest.mark.parametrize("p", [Fraction(0), Fraction(1), Fraction(-1, 2), Fraction(3, 2)])
def test_what_is_no_probability_is_refused(p: Fraction) -> None:
    with pytest.raises(ParameterError, match="probability"):
        normal_quantile_above(p)
