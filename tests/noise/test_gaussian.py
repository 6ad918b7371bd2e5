"""Exact rounded Gaussian noise: Lemmas 1 to 5 of docs/understand/proofs/noise.md."""

import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.stats import norm

from dphist.errors import ParameterError
from dphist.noise import gaussian, rounded_gaussian
from dphist.noise.gaussian import GaussianLaw
from dphist.noise.inversion import count_thresholds_above
from dphist.noise.strips import WORDS
from tests.support.goodness import LEVEL, chi_square_p
from tests.support.noise.scripts import Script, rectangles

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


def law_of(sigma: str | int) -> GaussianLaw:
    return gaussian._law(Fraction(sigma))


def curve(x: mpmath.mpf) -> mpmath.mpf:
    return law_of(1).scale * mpmath.exp(-x * x / 2)


def tail_area(x: mpmath.mpf) -> mpmath.mpf:
    """The curve's area beyond x, in rectangles 1/64 wide."""
    return law_of(1).scale * mpmath.sqrt(mpmath.pi / 2) * mpmath.erfc(x / mpmath.sqrt(2)) * 64


def test_rectangles_are_those_of_the_proof() -> None:
    """Lemma 1: each cell's words are stacked and cover the curve; sure ones lie below it."""
    stacks = rectangles(law_of(1).strips)
    with mpmath.workdps(50):
        for cell in range(-320, 320):
            side = cell if cell >= 0 else -1 - cell
            words, sure = stacks[cell]
            assert 0 <= words - curve(mpmath.mpf(side) / 64) < 1
            assert 0 <= curve(mpmath.mpf(side + 1) / 64) - sure < 1
        assert stacks[320] == stacks[-321] == (1, 0)
        assert tail_area(mpmath.mpf(5)) < 1
    assert len(stacks) == 642
    assert sum(words for words, _ in stacks.values()) > 0.98 * WORDS


def random_numbers(law: GaussianLaw, size: int, rng: random.Random) -> np.ndarray:
    """Numbers of the accepted kind: x spread like the normal law, from -5 to 5."""
    unit = 1 << (6 + law.place_bits)
    numbers = [int(rng.gauss(0, 1) * unit) for _ in range(size)]
    return np.array([n for n in numbers if abs(n) < 5 * unit - 1], np.int64)


def exactly_rounded(law: GaussianLaw, number: int) -> set[int]:
    """What the ends of a number's interval round to, in fractions."""
    unit = Fraction(1, 1 << (6 + law.place_bits))
    return {
        math.floor(law.sigma * number * unit + Fraction(1, 2)),
        math.ceil(law.sigma * (number + 1) * unit - Fraction(1, 2)),
    }


ALL_SIGMAS = ["1e-9", "0.2", "1", "7/3", "1000", "65536", "65537", "12345678901.25", str(2**40)]


@pytest.mark.parametrize("sigma", ALL_SIGMAS)
def test_sure_roundings_agree_with_exact_arithmetic(sigma: str) -> None:
    """Lemma 5: where the first bits are said to be enough, both ends round to the same integer."""
    law = law_of(sigma)
    numbers = random_numbers(law, 3000, random.Random(8))
    ends = [0, -1, 1, 5 * 2 ** (6 + law.place_bits) - 1, -5 * 2 ** (6 + law.place_bits)]
    for some in (numbers, np.array(ends, np.int64)):
        block = np.empty(len(some), np.int64)
        kind = "<i4" if law.place_bits == 16 else "<i8"
        unsure = law._round(some.astype(kind), block)
        for number, value, open_ in zip(
            some.tolist(), block.tolist(), unsure.tolist(), strict=True
        ):
            assert open_ or exactly_rounded(law, number) == {value}


@pytest.mark.parametrize("sigma", ["0.3", "1", "40", "1000", "65536", "65537", str(2**36)])
def test_numbers_near_a_half_are_never_taken_for_sure(sigma: str) -> None:
    """A number whose interval has a half-integer is open, and so are those beside it, nearly."""
    law = law_of(sigma)
    unit = 1 << (6 + law.place_bits)
    for k in sorted({1, 2, int(law.sigma) + 1, int(2.5 * law.sigma) + 1}):
        number = math.floor((k - Fraction(1, 2)) / law.sigma * unit)
        if number >= 5 * unit:
            continue
        kind = "<i4" if law.place_bits == 16 else "<i8"
        near = np.array([number, -number - 1], kind)
        assert law._round(near, np.empty(2, np.int64)).all()


def test_an_interval_that_ends_at_a_half_by_rounding_is_open() -> None:
    """2**22 sigma is nearly 1 above its floor, which moves the ends by eight intervals at x = 2."""
    sigma = (2**20 + Fraction(999, 1000)) / 2**22
    law = gaussian._law(sigma)
    assert law.step == 2**20
    number = math.floor(Fraction(1, 2) / sigma * 2**22)
    assert abs(number * law.step - (1 << 43)) > 7 * law.step
    near = np.array([number, -number - 1], "<i4")
    assert law._round(near, np.empty(2, np.int64)).all()


@pytest.mark.parametrize(
    ("sigma", "most"), [(1, 5e-5), (100, 1e-4), (10**4, 0.004), (2**16, 0.04), (2**40, 0.05)]
)
@pytest.mark.quick(every=3)
def test_few_roundings_need_more_bits(sigma: int, most: float) -> None:
    """Exact arithmetic takes a thousand times as long as the table."""
    law = law_of(sigma)
    numbers = random_numbers(law, 100_000, random.Random(9))
    kind = "<i4" if law.place_bits == 16 else "<i8"
    assert law._round(numbers.astype(kind), np.empty(len(numbers), np.int64)).mean() <= most


def test_the_curve_errs_by_less_than_a_fiftieth_of_its_margin() -> None:
    """Lemma 5: the polynomial, at both ends of each cell and within."""
    law = law_of(1)
    rng = random.Random(5)
    for side in range(320):
        places = [0, (1 << 16) - 1, *(rng.randrange(1 << 16) for _ in range(3))]
        x = np.array([(side << 16) + place for place in places], float)
        for sign in (1, -1):
            found = law._curve_at(np.full(len(x), side), sign * x)
            with mpmath.workdps(40):
                for value, number in zip(found.tolist(), x.tolist(), strict=True):
                    error = abs(value - curve(mpmath.mpf(number) / 2**22))
                    assert error < gaussian._CURVE_ERROR / FACTOR


def test_the_margin_covers_the_bits_that_are_not_drawn() -> None:
    """The curve moves by less than scale * exp(-1/2) times the step of x, a height by 2**-32."""
    steps = law_of(1).scale * math.exp(-0.5) * 2.0**-55 + 2.0**-32
    assert steps < gaussian._CURVE_ERROR / FACTOR


def test_few_words_need_a_height() -> None:
    """As stated in the proof."""
    assert 100 * (1 - law_of(1).strips.sure / WORDS) == pytest.approx(2.4, rel=0.05)


def word_of(law: GaussianLaw, cell: int, height: int) -> int:
    strips = law.strips
    (word,) = np.flatnonzero((strips.cells == cell) & (strips.heights == height))
    return int(word)


def first_bits(law: GaussianLaw, word: int, place: int) -> bytes:
    """A number as the sampler reads it: its place in the cell, then its word."""
    return (word << law.place_bits | place).to_bytes(2 + law.place_bits // 8, "little")


def more_bits(place: int, height: int) -> bytes:
    return (place << 32 | height).to_bytes(8, "little")


def accepted_at_zero(law: GaussianLaw) -> bytes:
    return first_bits(law, word_of(law, 0, 0), 1)


@pytest.mark.parametrize("sigma", ["1", "7/3", "1000", "1000000", str(2**36)])
def test_heights_decide_as_exact_arithmetic(sigma: str) -> None:
    """Lemmas 2 and 5: heights next to the curve are decided by further bits of height and place."""
    law = law_of(sigma)
    rng = random.Random(6)
    decided = 0
    for cell in [*rng.sample(range(-250, 250), 40), 0, -1]:
        place = rng.getrandbits(law.place_bits + 160)
        number = (cell << law.place_bits + 160) + place
        with mpmath.workdps(100):
            x = (mpmath.mpf(number) + mpmath.mpf("0.5")) / mpmath.mpf(2) ** (
                6 + law.place_bits + 160
            )
            height = int(mpmath.floor(curve(x)))
            rest = int(mpmath.floor((curve(x) - height) * mpmath.mpf(2) ** 160))
            value = int(mpmath.floor(abs(x) * law.sigma.numerator / law.sigma.denominator + 0.5))
        word = word_of(law, cell, height)
        if word < law.strips.sure:
            continue
        decided += 1
        # x is known to 2**-160 of its first step, so the curve is known to a few units of 2**-160.
        for step, kept in [(-(2**12), True), (2**12, False)]:
            exact = rest + step
            places = [place >> 128 & 2**32 - 1, place >> 64 & 2**64 - 1, place & 2**64 - 1]
            heights = [exact >> 128, exact >> 64 & 2**64 - 1, exact & 2**64 - 1]
            script = Script(first_bits(law, word, place >> 160), more_bits(places[0], heights[0]))
            for more, further in zip(places[1:], heights[1:], strict=True):
                script.parts += [more.to_bytes(8, "big"), further.to_bytes(8, "big")]
            if not kept:
                script.parts.append(accepted_at_zero(law))
            found = rounded_gaussian(sigma, 1, script)[0]
            assert abs(found) == (value if kept else 0)
            assert not kept or found == 0 or (found < 0) == (cell < 0)
            assert script.parts == []
    assert decided >= 5


@pytest.mark.parametrize("sigma", ["1", "7/3", "1000", "1000000", str(2**36)])
@pytest.mark.parametrize("sign", [0, 1])
def test_roundings_are_decided_as_exact_arithmetic(sigma: str, sign: int) -> None:
    """Lemma 5: places next to a half-integer are decided by further bits of the same place."""
    law = law_of(sigma)
    for k in sorted({1, 2, 3, int(law.sigma) + 1, int(3 * law.sigma) + 1}):
        # |x| = (k - 1/2) / sigma, as a number with 32 and 64 further bits.
        bits = law.place_bits + 96
        point = (k - Fraction(1, 2)) / law.sigma * (1 << 6 + bits)
        for step, expected in [(-3, k - 1), (3, k)]:
            number = math.floor(point) + step
            side, place = divmod(number, 1 << bits)
            if side >= 320:
                continue
            if sign:
                place = (1 << bits) - 1 - place
            word = word_of(law, ~side if sign else side, 0)
            script = Script(
                first_bits(law, word, place >> 96),
                more_bits(place >> 64 & 2**32 - 1, 0),
                (place & 2**64 - 1).to_bytes(8, "big"),
                bytes(8),
            )
            assert rounded_gaussian(sigma, 1, script)[0] == (-expected if sign else expected)
            # A half-integer that fewer bits can state is decided by fewer bits.
            assert script.parts == [] or point.denominator == 1


@pytest.mark.parametrize("sigma", ["0.01", "1", "40", "1000000", str(2**36)])
@pytest.mark.parametrize("rest", [2**64, 2**100, 2**119 + 12345, 2**122])
@pytest.mark.parametrize("sign", [0, 1])
def test_far_tail_is_exact(sigma: str, rest: int, sign: int) -> None:
    """Lemma 5: in the tail, the height is the area beyond the sample."""
    law = law_of(sigma)
    script = Script(
        first_bits(law, word_of(law, -321 if sign else 320, 0), 0),
        more_bits(0, rest >> 96),
        (rest >> 32 & 2**64 - 1).to_bytes(8, "big"),
        (rest << 32 & 2**64 - 1).to_bytes(8, "big"),
    )
    found = rounded_gaussian(sigma, 1, lambda size: script(size) if script.parts else bytes(size))
    with mpmath.workdps(80):

        def beyond(u: mpmath.mpf) -> int:
            p = u / (law.scale * mpmath.sqrt(mpmath.pi / 2) * 64)
            x = mpmath.sqrt(2) * mpmath.erfinv(1 - p)
            assert x > 5
            return int(mpmath.floor(x * law.sigma.numerator / law.sigma.denominator + 0.5))

        expected = beyond(mpmath.mpf(rest) / mpmath.mpf(2) ** 128)
    assert found[0] == (-expected if sign else expected)


@pytest.mark.parametrize("sign", [0, 1])
def test_the_tail_is_as_likely_as_its_area(sign: int) -> None:
    """Lemma 5: a height next to the area beyond 5 standard deviations."""
    law = law_of(1)
    with mpmath.workdps(80):
        area = int(mpmath.floor(tail_area(mpmath.mpf(5)) * mpmath.mpf(2) ** 96))
    for step, kept in [(-(2**12), True), (2**12, False)]:
        rest = area + step
        script = Script(
            first_bits(law, word_of(law, -321 if sign else 320, 0), 0),
            more_bits(0, rest >> 64),
            (rest & 2**64 - 1).to_bytes(8, "big"),
        )
        if not kept:
            script.parts.append(accepted_at_zero(law))
        assert rounded_gaussian(1, 1, script)[0] == (0 if not kept else -5 if sign else 5)
        assert script.parts == []


def test_heights_at_a_tail_beyond_its_area_are_rejected_without_more_bits() -> None:
    law = law_of(1000)
    script = Script(
        first_bits(law, word_of(law, 320, 0), 0), more_bits(0, 2**31), accepted_at_zero(law)
    )
    assert rounded_gaussian(1000, 1, script)[0] == 0
    assert script.parts == []


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


def test_shape_and_type() -> None:
    samples = rounded_gaussian(2.5, (2, 3))
    assert samples.shape == (2, 3)
    assert samples.dtype == np.int64


@pytest.mark.parametrize("sigma", [0, -1, float("nan"), float("inf"), "abc", None, 2**41])
def test_bad_sigma_is_refused(sigma: object) -> None:
    with pytest.raises(ParameterError, match="sigma"):
        rounded_gaussian(sigma, 1)  # type: ignore[arg-type]
