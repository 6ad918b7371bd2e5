"""Noise that is added to noise: `docs/understand/proofs/added_noise.md`."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.stats import chisquare

from dphist.errors import ParameterError
from dphist.noise import two_sided_geometric
from dphist.noise.added import chance_of_noise, draw_added_geometric

RATES = [
    ("2", "0.5"),
    ("1", "0.999999"),
    ("50", "1e-9"),
    ("1e-8", "1e-9"),
    ("700", "699"),
    ("1/3", "1/7"),
]


def law(a: Fraction, z: int) -> Fraction:
    """Return Pr[Z = z] of two-sided geometric noise with this parameter."""
    return (1 - a) / (1 + a) * a ** abs(z)


@pytest.mark.parametrize(
    ("a", "b"), [("1/9", "1/2"), ("1/2", "2/3"), ("1/100", "99/100"), ("3/7", "4/7")]
)
def test_the_sum_has_the_smaller_rate(a: str, b: str) -> None:
    """Sums over all values of both, by geometric series: in fractions."""
    first, second = Fraction(a), Fraction(b)
    q = first / second * ((1 - second) / (1 - first)) ** 2
    assert 0 < q < 1
    both = first * second
    for z in range(8):
        # Sum over w of a^|z - w| b^|w|: w below 0, from 0 to z, and above z.
        below = first**z * both / (1 - both)
        between = sum(first ** (z - w) * second**w for w in range(z + 1))
        above = second**z * both / (1 - both)
        scale = (1 - first) / (1 + first) * (1 - second) / (1 + second)
        summed = scale * (below + between + above)
        assert q * law(first, z) + (1 - q) * summed == law(second, z)


@pytest.mark.parametrize(("before", "after"), RATES)
def test_chances_are_enclosed(before: str, after: str) -> None:
    r, s = Fraction(before), Fraction(after)
    with mpmath.workdps(80):
        a, b = (mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator) for x in (r, s))
        chance = 1 - a / b * ((1 - b) / (1 - a)) ** 2
        for bits in (62, 126, 190):
            low, high = chance_of_noise(r, s, bits)
            assert low <= chance * mpmath.mpf(2) ** bits <= high
            assert high - low <= 2


@pytest.mark.parametrize("bits", [62, 126])
@pytest.mark.parametrize("above", [False, True])
def test_bits_decide_at_the_threshold(bits: int, above: bool) -> None:
    """A uniform number just below 1 - q keeps the noise, one just above does not."""
    low, high = chance_of_noise(Fraction(2), Fraction(1, 2), bits)
    place = high if above else low - 1
    asked: list[bytes] = []

    def source(size: int) -> bytes:
        if not asked:
            asked.append(b"")
            return b"\xff" * size  # a draw of noise that is not 0, or near it
        if len(asked) == 1:
            asked.append(b"")
            return (place >> bits - 62 << 2).to_bytes(8, "little")
        return (place & (1 << 64) - 1).to_bytes(8, "big")

    kept = _kept(Fraction(2), Fraction(1, 2), source)
    assert kept is not above


def _kept(before: Fraction, after: Fraction, source) -> bool:
    from dphist.noise.added import _choose

    source(0)
    return bool(_choose(before, after, 1, source)[0])


def test_samples_fit_the_smaller_rate() -> None:
    draws = 200_000
    together = two_sided_geometric(2, draws) + draw_added_geometric(2, "0.5", draws)
    a = np.exp(-0.5)
    values = np.arange(-9, 10)
    seen = np.array([(together == z).sum() for z in values])
    expected = draws * (1 - a) / (1 + a) * a ** np.abs(values)
    seen, expected = (
        np.append(seen, draws - seen.sum()),
        np.append(expected, draws - expected.sum()),
    )
    assert chisquare(seen, expected).pvalue > 1e-9


@pytest.mark.parametrize(("before", "after"), [(1, 1), (1, 2), (0, 1), (1, 0), (1, "1e-10")])
def test_noise_is_never_taken_away(before: object, after: object) -> None:
    with pytest.raises(ParameterError):
        draw_added_geometric(before, after, 3)  # type: ignore[arg-type]
