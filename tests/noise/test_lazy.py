"""Lazily refined real noise: Lemmas 1 and 2 of docs/understand/proofs/top_labels.md."""

import math
import os
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.stats import gumbel_r, norm

from dphist.noise import lazy
from dphist.noise.lazy import GAUSSIAN, GUMBEL, ContinuousLaw, LazyNoise
from tests.support.goodness import LEVEL, chi_square_p
from tests.support.noise.scripts import Script

LAWS = {"gaussian": GAUSSIAN, "gumbel": GUMBEL}
FLOAT_TAILS = {"gaussian": norm.sf, "gumbel": gumbel_r.sf}
ONE = Fraction(1)


@pytest.fixture(params=LAWS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def exact_tail(name: str, x: Fraction) -> mpmath.mpf:
    """Pr[X > x] to the working precision, by formulas unlike the code's."""
    real = mpmath.mpf(x.numerator) / x.denominator
    if name == "gaussian":
        return mpmath.erfc(real / mpmath.sqrt(2)) / 2
    return -mpmath.expm1(-mpmath.exp(-real))


def exact_value(name: str, u: Fraction) -> mpmath.mpf:
    """The x with Pr[X > x] = u, to the working precision."""
    real = mpmath.mpf(u.numerator) / u.denominator
    if name == "gumbel":
        return -mpmath.log(-mpmath.log1p(-real))
    return mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * real)


def middle(noise: LazyNoise, i: int) -> Fraction:
    """The middle of the interval of U, from all bits drawn."""
    word, bits = noise._drawn[i]
    return Fraction(2 * word + 1, 1 << bits + 1)


def words(*values: int) -> bytes:
    return b"".join(value.to_bytes(8, "little") for value in values)


@pytest.mark.parametrize("bits", [64, 128, 250])
def test_tails_are_enclosed(name: str, bits: int) -> None:
    rng = random.Random(1)
    points = [Fraction(rng.randrange(-(2**70), 2**70), 2**66) for _ in range(60)]
    points += [Fraction(p) for p in (0, 1, -1, 5, -4, 20, -20, 60, -7, -8, -9, bits, -bits)]
    with mpmath.workdps(250):
        for x in points:
            low, high = LAWS[name].tail(x, bits)
            true = exact_tail(name, x) * mpmath.mpf(2) ** bits
            assert low <= true <= high
            assert high - low <= 3


@pytest.mark.parametrize("bits", [16, 64, 128])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.66, 0.8, 0.95, 0.999])
def test_gumbel_tails_next_to_whole_numbers_are_enclosed(bits: int, share: float) -> None:
    """Where guard bits hide no rounding to the wrong side."""
    whole = round(share * 2**16) << bits - 16
    with mpmath.workprec(900):
        x = -mpmath.log(-mpmath.log1p(-mpmath.mpf(whole) / 2**bits))
        place = int(mpmath.floor(x * 2**500))
        for number in (place, place + 1):  # just above the whole number, and just below
            low, high = GUMBEL.tail(Fraction(number, 2**500), bits)
            assert low <= whole - (number > place)
            assert high >= whole + (number == place)
            assert high - low <= 3


@pytest.mark.quick("[gumbel]")
def test_margin_is_a_hundred_times_the_inverses_error(name: str) -> None:
    """What is trusted of floating point, against 50 digits."""
    rng = random.Random(2)
    small = [rng.getrandbits(63) for _ in range(1000)]
    small += [rng.getrandbits(b) | 1 << (b - 1) for b in range(41, 64) for _ in range(10)]
    small += [1 << 40, (1 << 63) - 1, 1 << 62]
    p = (np.array(small, np.uint64) + 0.5) * 2.0**-64
    for upper in (True, False):
        found = LAWS[name].inverse(p, np.full(len(p), upper))  # type: ignore[arg-type]
        with mpmath.workdps(50):
            for word, x in zip(small, found, strict=True):
                u = Fraction(2 * word + 1, 1 << 65)
                true = exact_value(name, u if upper else 1 - u)
                assert abs(x - true) <= lazy._MARGIN / 100 * (1 + abs(true))


def test_margin_covers_the_interval_of_u(name: str) -> None:
    """From either end of U's interval the value differs by less than a tenth of the margin."""
    with mpmath.workdps(50):
        for word in [1 << 40, 1 << 45, 1 << 62, 1 << 63, (1 << 64) - (1 << 40) - 2]:
            ends = [exact_value(name, Fraction(w, 1 << 64)) for w in (word, word + 1)]
            assert abs(ends[0] - ends[1]) <= lazy._MARGIN / 10 * (1 + abs(ends[0]))


@pytest.mark.parametrize("scale", ["0.4", "3", "1000"])
@pytest.mark.quick(every=6)
def test_rounded_values_fit_the_law(name: str, scale: str) -> None:
    samples = draw(LAWS[name], Fraction(scale))
    assert chi_square_p(samples, rounded_tail(name, scale)) > LEVEL


@pytest.mark.parametrize("factor", ["0.7", "1.3"])
@pytest.mark.parametrize("scale", ["3", "1000"])
@pytest.mark.quick(every=8)
def test_wrong_scale_is_noticed(name: str, scale: str, factor: str) -> None:
    samples = draw(LAWS[name], Fraction(scale) * Fraction(factor))
    assert chi_square_p(samples, rounded_tail(name, scale)) < LEVEL


def test_gumbel_noise_upside_down_is_noticed() -> None:
    """The smallest of exponentials, where the largest is wanted: another law for top labels."""
    assert chi_square_p(-draw(GUMBEL, Fraction(3)), rounded_tail("gumbel", "3")) < LEVEL


def draw(law: ContinuousLaw, scale: Fraction) -> np.ndarray:
    noise = LazyNoise(law, scale, [0] * 20_000, random.Random(3).randbytes)
    return np.array([noise.rounded(i) for i in range(20_000)])


def rounded_tail(name: str, scale: str):
    return lambda z: FLOAT_TAILS[name]((np.asarray(z, float) - 0.5) / float(Fraction(scale)))


@pytest.mark.long(every=2)
@pytest.mark.quick("-0]", "-1]", "-2]", every=6)
@pytest.mark.parametrize("trial", range(12))
def test_order_and_rounding_are_those_of_exact_values(name: str, trial: int) -> None:
    """Random words, equal words, words of the far tails; 60 digits decide what is true."""
    rng = random.Random(f"words {trial}")
    chosen = [rng.getrandbits(64) for _ in range(12)]
    chosen += [
        chosen[0],
        chosen[0],
        chosen[1],
        chosen[2] ^ 1,
        0,
        1,
        2**64 - 1,
        rng.getrandbits(30),
    ]
    centers = [rng.choice([0, 0, 1, Fraction(1, 3)]) for _ in chosen]
    more = random.Random(trial)
    parts = iter([words(*chosen)])
    noise = LazyNoise(
        LAWS[name],
        Fraction(2, 3),
        centers,  # type: ignore[arg-type]
        lambda n: next(parts, b"") or more.randbytes(n),
    )
    rounded = [noise.rounded(i) for i in range(len(chosen))]
    order = noise.descending_above(5, len(chosen))
    with mpmath.workdps(60):
        values = [
            mpmath.mpf(c.numerator) / c.denominator + exact_value(name, middle(noise, i)) * 2 / 3
            for i, c in enumerate(map(Fraction, centers))  # type: ignore[arg-type]
        ]
        expected = [i for i in range(len(chosen)) if values[i] > values[5]]
        assert order == sorted(expected, key=lambda i: -values[i])
        assert rounded == [int(mpmath.floor(v + mpmath.mpf("0.5"))) for v in values]


@pytest.mark.long(every=2)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.quick(every=12)
def test_what_has_the_first_bits_of_the_threshold_is_decided_by_more(name: str, seed: int) -> None:
    """All have equal words, so that further bits decide: larger U is smaller X."""
    more = random.Random(seed)
    parts = iter([words(*[3 << 60] * 6)])
    noise = LazyNoise(LAWS[name], ONE, [0] * 6, lambda n: next(parts, b"") or more.randbytes(n))
    order = noise.descending_above(2, 6)
    places = [middle(noise, i) for i in range(6)]
    assert order == sorted((i for i in range(6) if places[i] < places[2]), key=places.__getitem__)


@pytest.mark.parametrize("agreeing", [0, 1, 2])
@pytest.mark.quick(every=3)
def test_equal_bits_are_drawn_on_until_they_differ(name: str, agreeing: int) -> None:
    """Bits as equal as 64, 128, 192; the first to differ decides, and larger U is smaller X."""
    same = [bytes(8 * [77])] * (2 * agreeing)
    for first, second, above in [(5, 900, True), (900, 5, False)]:
        # Each number draws its own eight bytes in turn.
        last = [first.to_bytes(8, "big"), second.to_bytes(8, "big")]
        script = Script(words(3 << 60, 3 << 60), *same, *last)
        assert LazyNoise(LAWS[name], ONE, [0, 0], script).is_above(0, 1) is above
        assert script.parts == []


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("bits", [64, 100, 160])
@pytest.mark.quick(every=3)
def test_values_made_to_be_close_are_told_apart(name: str, bits: int, side: int) -> None:
    """V_1 lies 2**-bits (or a few) above or below V_0, which has another U and another center."""
    gap = Fraction(5, 3)
    known = [3 << 60, 12345, 678, 9, 10, 11]  # U_0, in words of 64 bits
    u = sum(Fraction(word, 1 << 64 * (i + 1)) for i, word in enumerate(known))
    with mpmath.workdps(150):
        x = exact_value(name, u) - mpmath.mpf(5) / 3 + side * mpmath.mpf(2) ** -bits  # type: ignore[arg-type]
        tail = (
            mpmath.erfc(x / mpmath.sqrt(2)) / 2
            if name == "gaussian"
            else -mpmath.expm1(-mpmath.exp(-x))
        )
        other = int(mpmath.floor(tail * mpmath.mpf(2) ** 384))
    digits = [other >> 64 * i & (1 << 64) - 1 for i in reversed(range(6))]
    parts = [words(known[0], digits[0])]
    for a, b in zip(known[1:], digits[1:], strict=True):
        parts += [a.to_bytes(8, "big"), b.to_bytes(8, "big")]
    script = Script(*parts)
    noise = LazyNoise(LAWS[name], ONE, [0, gap], script)
    assert noise.is_above(0, 1) is (side < 0)
    assert noise.is_above(1, 0) is (side > 0)
    drawn = noise._drawn[0][1]
    assert bits < drawn <= bits + 128  # as many as needed, not many more


def test_values_near_a_half_are_refined(name: str) -> None:
    with mpmath.workdps(120):
        true = exact_tail(name, Fraction(3, 2)) * mpmath.mpf(2) ** 192
        word = int(mpmath.floor(true))
    for step, expected in [(-(1 << 20), 2), (1 << 20, 1)]:
        near = word + step  # larger U, smaller value
        digits = [near >> 64 * i & (1 << 64) - 1 for i in reversed(range(3))]
        script = Script(words(digits[0]), *(d.to_bytes(8, "big") for d in digits[1:]))
        noise = LazyNoise(LAWS[name], ONE, [0], script)
        assert noise.rounded(0) == expected
        assert script.parts == []


@pytest.mark.long(every=2)
@pytest.mark.quick("-0]", "-largest]", "-another]", every=6)
@pytest.mark.parametrize(
    "word",
    [0, 1, 3 << 60, 1 << 63, 12345 << 44, 2**64 - 1],
    ids=["0", "1", "upper", "middle", "another", "largest"],
)
def test_refining_narrows_and_never_moves_away(name: str, word: int) -> None:
    source = Script(words(word), *[bytes(8 * [200])] * 4)
    noise = LazyNoise(LAWS[name], Fraction(7, 2), [Fraction(10)], source)
    while source.parts:
        low, high = noise._bounds(0)
        noise._refine(0)
        narrow_low, narrow_high = noise._bounds(0)
        assert low <= narrow_low < narrow_high <= high
    assert narrow_high - narrow_low < 2.0**-100


@pytest.mark.quick("[gumbel]")
def test_intervals_hold_the_exact_values(name: str) -> None:
    size = 3000
    centers = [Fraction(i * 10**6, 7) for i in range(size)]
    noise = LazyNoise(LAWS[name], Fraction(1, 3), centers, random.Random(6).randbytes)
    with mpmath.workdps(40):
        for i, center in enumerate(centers):
            value = exact_value(name, middle(noise, i)) / 3
            value += mpmath.mpf(center.numerator) / center.denominator
            assert noise._low[i] < value < noise._high[i]


def test_most_are_decided_by_64_bits(name: str) -> None:
    noise = LazyNoise(LAWS[name], ONE, [0] * 2000, random.Random(7).randbytes)
    noise.descending_above(0, 2000)
    assert len(noise._narrow) == 0


def test_at_most_so_many_are_returned_and_none_twice() -> None:
    noise = LazyNoise(GUMBEL, ONE, [0] * 50 + [-100], random.Random(8).randbytes)
    everything = noise.descending_above(50, 1000)
    assert sorted(everything) == list(range(50))
    assert noise.descending_above(50, 7) == everything[:7]
    assert LazyNoise(GUMBEL, ONE, [3]).descending_above(0, 5) == []


def test_a_number_is_not_compared_with_itself() -> None:
    with pytest.raises(ValueError, match="itself"):
        LazyNoise(GUMBEL, ONE, [0, 0]).is_above(1, 1)


def test_bits_come_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counted(size: int) -> bytes:
        asked.append(size)
        return bytes(range(200))[:size]

    monkeypatch.setattr(os, "urandom", counted)
    LazyNoise(GAUSSIAN, ONE, [0, 0, 0])
    assert asked == [24]


def test_each_number_has_bits_of_its_own() -> None:
    noise = LazyNoise(GUMBEL, ONE, [0] * 1000)
    assert len({word for word, _ in noise._drawn}) == 1000


def test_infinite_ends_are_refined_at_once() -> None:
    """64 equal bits bound the value on one side only."""
    script = Script(words(0, 2**64 - 1), bytes(8), bytes([1] * 8))
    with pytest.raises(IndexError):  # still unbounded after 128 equal bits: rounding asks for more
        LazyNoise(GUMBEL, ONE, [0, 0], Script(words(0, 1 << 62), bytes(8))).rounded(0)
    noise = LazyNoise(GUMBEL, ONE, [0, 0], script)
    assert noise.is_above(0, 1)
    assert math.isinf(noise._bounds(0)[1])
