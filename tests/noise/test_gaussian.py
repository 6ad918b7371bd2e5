"""Exact rounded Gaussian noise: Lemma 5 of docs/proofs/noise.md."""

import functools
import random
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import norm

from dphist.errors import ParameterError
from dphist.noise import gaussian, rounded_gaussian
from dphist.noise.inversion import count_thresholds_above
from tests.noise.test_geometric import Script
from tests.support.goodness import LEVEL, chi_square_p

SIGMAS = ["0.2", "1", "7/3", "40", "1000", "1000000", "1000000000", str(2**36)]
FACTOR = 50  # the least that the margin must be, over each of the errors it covers


def gaussian_tail(sigma: float):
    return lambda z: norm.sf((np.asarray(z, float) - 0.5) / sigma)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_samples_fit_the_law(sigma: str) -> None:
    samples = rounded_gaussian(sigma, 200_000, random.Random(1).randbytes)
    assert chi_square_p(samples, gaussian_tail(float(Fraction(sigma)))) > LEVEL


@pytest.mark.parametrize("sigma", SIGMAS[1:])
@pytest.mark.parametrize("factor", ["0.7", "1.3"])
def test_wrong_scale_is_noticed(sigma: str, factor: str) -> None:
    wrong = Fraction(sigma) * Fraction(factor)
    samples = rounded_gaussian(wrong, 200_000, random.Random(2).randbytes)
    assert chi_square_p(samples, gaussian_tail(float(Fraction(sigma)))) < LEVEL


def test_rounding_down_is_noticed() -> None:
    samples = np.floor(np.random.default_rng(3).normal(0, 2, 200_000)).astype(np.int64)
    assert chi_square_p(samples, gaussian_tail(2.0)) < LEVEL


def upper_tail_point(p: mpmath.mpf) -> mpmath.mpf:
    """The x with Pr[N(0, 1) > x] = p."""
    return -mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)


def words_in_use() -> list[int]:
    """Words all over the range, at its ends, and where Cephes' ndtri changes its formula."""
    rng = random.Random(4)
    words = [rng.getrandbits(63) for _ in range(1500)]
    words += [rng.getrandbits(bits) | 1 << (bits - 1) for bits in range(46, 64) for _ in range(50)]
    words += [gaussian._FAR_TAIL + d for d in range(3)]
    words += [(1 << 63) - (1 << d) - e for d in range(63) for e in (0, 1)]  # p near 1/2: x near 0
    border = int(np.exp(-2) * 2**64)  # p = exp(-2); the other one, x = 8, is out of range
    words += [border + d * 2**11 + e for d in range(-50, 51) for e in (-1, 0)]
    return [word for word in words if word >= gaussian._FAR_TAIL]


@functools.cache  # it takes most of the time of four tests
def exact_points() -> tuple[np.ndarray, list[mpmath.mpf]]:
    """Words in use, and for each the x that is sought, in 50 digits."""
    words = words_in_use()
    with mpmath.workdps(50):
        half, whole = mpmath.mpf("0.5"), mpmath.mpf(2) ** 64
        points = [upper_tail_point((mpmath.mpf(word) + half) / whole) for word in words]
    return np.array(words, np.uint64), points


def largest_error(inverse: Callable[[np.ndarray], np.ndarray]) -> float:
    """Of what `_propose` takes for x, relative to 1 + x, against 50 digits."""
    words, points = exact_points()
    found = -inverse(np.minimum((words + 0.5) * 2.0**-64, 0.5))
    with mpmath.workdps(50):
        errors = [abs(value - x) / (1 + x) for value, x in zip(found.tolist(), points, strict=True)]
    return float(max(errors))


def test_margin_is_fifty_times_the_inverse_s_error() -> None:
    """The one thing trusted of floating point: SciPy's ndtri."""
    assert largest_error(ndtri) <= gaussian._MARGIN / FACTOR


@pytest.mark.parametrize("border", [0.2, 1.2, 4.0])
def test_a_worse_inverse_is_noticed(border: float) -> None:
    """Planted: from some x on it errs by 1/25 of the margin, which would still be safe."""
    error = gaussian._MARGIN / 25

    def worse(p: np.ndarray) -> np.ndarray:
        x = ndtri(p)
        return np.where(-x > border, x + error * (1 - x), x)

    assert largest_error(worse) > gaussian._MARGIN / FACTOR


def test_margin_covers_the_interval_of_u() -> None:
    """The ends of U's interval are fifty times nearer to its middle than the margin."""
    with mpmath.workdps(50):
        for word in [gaussian._FAR_TAIL, 1 << 48, 1 << 55, 1 << 62, (1 << 63) - 1]:
            below, middle, above = (
                upper_tail_point((word + mpmath.mpf(d) / 2) / mpmath.mpf(2) ** 64) for d in range(3)
            )
            assert below - middle <= gaussian._MARGIN / FACTOR * (1 + middle)
            assert middle - above <= gaussian._MARGIN / FACTOR * (1 + middle)


@pytest.mark.parametrize("sigma", ["0.3", "1", "40", "1000", "1000000", str(2**32), str(2**36)])
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


@pytest.mark.parametrize("sigma", ["1", "7/3", "40", "1000", str(2**36)])
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


@pytest.mark.parametrize("sigma", ["0.01", "1", "40", "1000000", str(2**36)])
@pytest.mark.parametrize("word", [0, 1, 77, (1 << 40) - 1, (1 << 45) - 1])
def test_far_tail_is_refined_exactly(sigma: str, word: int) -> None:
    later = [3, 5, 7]  # as many as it takes; U is known to all 255 bits
    parts = [part.to_bytes(8, "big") for part in later]
    sampled = rounded_gaussian(sigma, 1, Script((word << 1 | 1).to_bytes(8, "little"), *parts))[0]
    u = Fraction(int.from_bytes(word.to_bytes(8, "big") + b"".join(parts), "big"), 1 << 255)
    assert -sampled == exact_magnitude(Fraction(sigma), u)


@pytest.mark.parametrize("guess", [0, 1, 2, 5, 6, 7, 8, 63, 64, 1000])
def test_a_guess_of_the_magnitude_changes_nothing(guess: int) -> None:
    """Thresholds 2**-1, 2**-2, ...: the count is that of leading zeros, from any guess."""
    asked: list[int] = []

    def tail(index: int, bits: int) -> tuple[int, int]:
        asked.append(index)
        return (1 << bits) >> (index + 1), -(-(1 << bits) >> (index + 1))

    for zeros in [0, 1, 2, 6, 7, 40, 63, 64, 100]:
        u = (1 << (191 - zeros)) + 1  # 192 bits, of which 63, 127 and 191 are seen
        parts = [(u >> 65 & (1 << 64) - 1), u >> 1 & (1 << 64) - 1]
        script = Script(*(part.to_bytes(8, "big") for part in parts))
        asked.clear()
        assert count_thresholds_above(tail, u >> 129, 63, script, guess) == zeros
        if guess == zeros:
            assert len(asked) <= 2


def test_sure_proposals_agree_with_exact_arithmetic(seeded) -> None:
    for sigma in ("1", "40", "1000", "12345678901.2345678901", str(2**36)):
        words = np.frombuffer(seeded(8)(8 * 300), "<u8") >> np.uint64(1)
        magnitude, sure = gaussian._propose(float(Fraction(sigma)), words)
        assert sure.mean() > 0.95
        for word, found in zip(words[sure].tolist(), magnitude[sure].tolist(), strict=True):
            u = Fraction(2 * word + 1, 1 << 64)
            assert found == exact_magnitude(Fraction(sigma), u)


@pytest.mark.parametrize(("sigma", "most"), [(1, 0.0002), (2**32, 0.003), (2**35, 0.015)])
def test_few_samples_are_refined(sigma: int, most: float, seeded) -> None:
    """Refining takes a thousand times as long as proposing."""
    words = np.frombuffer(seeded(9)(8 * 100_000), "<u8") >> np.uint64(1)
    assert 1 - gaussian._propose(float(sigma), words)[1].mean() < most


def test_shape_and_type() -> None:
    samples = rounded_gaussian(2.5, (2, 3))
    assert samples.shape == (2, 3)
    assert samples.dtype == np.int64


@pytest.mark.parametrize("sigma", [0, -1, float("nan"), float("inf"), "abc", None, 2**41])
def test_bad_sigma_is_refused(sigma: object) -> None:
    with pytest.raises(ParameterError, match="sigma"):
        rounded_gaussian(sigma, 1)  # type: ignore[arg-type]
