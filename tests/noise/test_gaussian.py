"""Exact rounded Gaussian noise: Lemma 5 of docs/proofs/noise.md."""

import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import norm

from dphist.errors import ParameterError
from dphist.noise import gaussian, rounded_gaussian
from tests.goodness import LEVEL, chi_square_p
from tests.noise.test_geometric import Script

SIGMAS = ["0.2", "1", "7/3", "40", "1000", "1000000", "1000000000"]


def gaussian_tail(sigma: float):
    return lambda z: norm.sf((np.asarray(z, float) - 0.5) / sigma)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_samples_fit_the_law(sigma: str) -> None:
    size = 2_000 if float(Fraction(sigma)) > 1e8 else 200_000
    samples = rounded_gaussian(sigma, size, random.Random(1).randbytes)
    assert chi_square_p(samples, gaussian_tail(float(Fraction(sigma)))) > LEVEL


@pytest.mark.parametrize("sigma", SIGMAS[1:-1])
@pytest.mark.parametrize("factor", ["0.7", "1.3"])
def test_wrong_scale_is_noticed(sigma: str, factor: str) -> None:
    wrong = Fraction(sigma) * Fraction(factor)
    samples = rounded_gaussian(wrong, 200_000, random.Random(2).randbytes)
    assert chi_square_p(samples, gaussian_tail(float(Fraction(sigma)))) < LEVEL


def test_rounding_down_is_noticed() -> None:
    samples = np.floor(np.random.default_rng(3).normal(0, 2, 200_000)).astype(np.int64)
    assert chi_square_p(samples, gaussian_tail(2.0)) < LEVEL


def test_margin_is_a_hundred_times_the_inverse_s_error() -> None:
    """The one thing trusted of floating point: SciPy's ndtri, against 50 digits."""
    rng = random.Random(4)
    upper = [rng.getrandbits(63) for _ in range(1500)]
    upper += [rng.getrandbits(bits) | 1 << (bits - 1) for bits in range(41, 64) for _ in range(10)]
    upper += [gaussian._FAR_TAIL, gaussian._FAR_TAIL + 1, (1 << 63) - 1, 1 << 62]
    with mpmath.workdps(50):
        for word in upper:
            p = (mpmath.mpf(word) + mpmath.mpf("0.5")) / mpmath.mpf(2) ** 64
            x = -mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)
            found = -ndtri(min((word + 0.5) * 2.0**-64, 0.5))
            assert abs(found - x) <= gaussian._MARGIN / 100 * (1 + x)


def test_margin_covers_the_interval_of_u() -> None:
    """From either end of U's interval the value differs by less than a tenth of the margin."""
    with mpmath.workdps(50):
        for word in [gaussian._FAR_TAIL, 1 << 45, 1 << 55, 1 << 62, (1 << 63) - 1]:
            ends = [
                -mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(w) / mpmath.mpf(2) ** 64 - 1)
                for w in (word, word + 1)
            ]
            assert abs(ends[0] - ends[1]) <= gaussian._MARGIN / 10 * (1 + ends[0])


@pytest.mark.parametrize("sigma", ["0.3", "1", "40", "1000", "1000000"])
def test_words_near_a_threshold_are_never_taken_for_sure(sigma: str) -> None:
    """Within a quarter of the margin of a half-integer, on either side, U must be refined."""
    s = Fraction(sigma)
    for k in sorted({1, 2, int(s) + 1, int(2.5 * s) + 1}):
        word = gaussian._tail(s, k - 1, 63)[0]
        x = (k - 0.5) / float(s)
        if word < 4 * gaussian._FAR_TAIL:
            continue
        # x moves by dU / (2 phi(x)) when U moves by dU.
        away = int(gaussian._MARGIN / 4 * (1 + x) * 2 * norm.pdf(x) * 2**63)
        near = np.array([max(word + d, 0) for d in (-away, -1, 0, 1, away)], np.uint64)
        near = np.minimum(near, np.uint64(2**63 - 1))
        assert not gaussian._propose(float(s), near)[1].any()


def exact_magnitude(sigma: Fraction, u: Fraction) -> int:
    """|round(X)| for Pr[|N(0,1)| > |X| / sigma] = u, to 80 digits."""
    with mpmath.workdps(80):
        tail = mpmath.mpf(u.numerator) / u.denominator
        x = mpmath.sqrt(2) * mpmath.erfinv(1 - tail) * sigma.numerator / sigma.denominator
        return int(mpmath.floor(x + mpmath.mpf("0.5")))


@pytest.mark.parametrize("sigma", ["1", "7/3", "40", "1000"])
def test_refinement_decides_as_exact_arithmetic(sigma: str) -> None:
    """Words whose interval holds a rounding threshold, with further bits on either side."""
    s = Fraction(sigma)
    for k in sorted({1, 2, 3, int(s) + 1, int(3 * s) + 1, int(6 * s) + 1}):
        low, high = gaussian._tail(s, k - 1, 127)
        if low >> 64 < gaussian._FAR_TAIL:
            continue
        assert high - low <= 3
        first, later = low >> 64, low & (1 << 64) - 1
        word = (first << 1).to_bytes(8, "little")
        for step, expected in [(-4, k), (4, k - 1)]:
            script = Script(word, (later + step).to_bytes(8, "big"))
            assert rounded_gaussian(s, 1, script)[0] == expected
            assert script.parts == []


@pytest.mark.parametrize("sigma", ["0.01", "1", "40", "1000000"])
@pytest.mark.parametrize("word", [0, 1, 77, (1 << 40) - 1])
def test_far_tail_is_refined_exactly(sigma: str, word: int) -> None:
    later = [3, 5, 7]  # as many as it takes; U is known to all 255 bits
    parts = [part.to_bytes(8, "big") for part in later]
    sampled = rounded_gaussian(sigma, 1, Script((word << 1 | 1).to_bytes(8, "little"), *parts))[0]
    u = Fraction(int.from_bytes(word.to_bytes(8, "big") + b"".join(parts), "big"), 1 << 255)
    assert -sampled == exact_magnitude(Fraction(sigma), u)


def test_sure_proposals_agree_with_exact_arithmetic(seeded) -> None:
    for sigma in ("1", "40", "1000"):
        words = np.frombuffer(seeded(8)(8 * 300), "<u8") >> np.uint64(1)
        magnitude, sure = gaussian._propose(float(Fraction(sigma)), words)
        assert sure.mean() > 0.99
        for word, found in zip(words[sure].tolist(), magnitude[sure].tolist(), strict=True):
            u = Fraction(2 * word + 1, 1 << 64)
            assert found == exact_magnitude(Fraction(sigma), u)


def test_shape_and_type() -> None:
    samples = rounded_gaussian(2.5, (2, 3))
    assert samples.shape == (2, 3)
    assert samples.dtype == np.int64


@pytest.mark.parametrize("sigma", [0, -1, float("nan"), float("inf"), "abc", None, 2**41])
def test_bad_sigma_is_refused(sigma: object) -> None:
    with pytest.raises(ParameterError, match="sigma"):
        rounded_gaussian(sigma, 1)  # type: ignore[arg-type]
