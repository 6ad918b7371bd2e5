"""Exact two-sided geometric noise: Lemmas 1 to 4 of docs/understand/proofs/noise.md."""

import math
import os
import random
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from dphist.errors import ParameterError
from dphist.noise import geometric, rounded_gaussian, two_sided_geometric
from dphist.noise.geometric import GeometricLaw, geometric_law
from dphist.noise.strips import WORDS
from tests.support.goodness import LEVEL, chi_square_p
from tests.support.noise.scripts import Script, place_of, read_height, rectangles, word_of

EPSILONS = ["50", "4", "1", "1/3", "0.1", "0.02", "0.01", "1/257", "0.001", "1/1000000"]


def geometric_tail(epsilon: float):
    """Pr[Z >= z] of the two-sided geometric law."""

    def tail(z: np.ndarray) -> np.ndarray:
        z = np.asarray(z, float)
        one = 1 / (1 + math.exp(-epsilon))
        return np.where(z > 0, np.exp(-epsilon * z) * one, 1 - np.exp(epsilon * (z - 1)) * one)

    return tail


@pytest.mark.parametrize("epsilon", EPSILONS[1:])
def test_samples_fit_the_law(epsilon: str) -> None:
    samples = two_sided_geometric(epsilon, 200_000, random.Random(1).randbytes)
    assert chi_square_p(samples, geometric_tail(float(Fraction(epsilon)))) > LEVEL


@pytest.mark.parametrize("epsilon", EPSILONS[1:])
@pytest.mark.parametrize("factor", ["0.7", "1.3"])
def test_wrong_scale_is_noticed(epsilon: str, factor: str) -> None:
    wrong = Fraction(epsilon) * Fraction(factor)
    samples = two_sided_geometric(wrong, 200_000, random.Random(2).randbytes)
    assert chi_square_p(samples, geometric_tail(float(Fraction(epsilon)))) < LEVEL


def test_zero_counted_twice_is_noticed() -> None:
    """A fair sign on a one-sided geometric gives zero twice: the classic mistake."""
    rng = random.Random(3)
    one_sided = np.array([int(-math.log(1 - rng.random()) / 0.5) for _ in range(100_000)])
    signs = np.array([rng.choice((-1, 1)) for _ in range(100_000)])
    assert chi_square_p(one_sided * signs, geometric_tail(0.5)) < LEVEL


def powers(epsilon: str | Fraction) -> Callable[[int], Decimal]:
    """Return a**n for whole n, by decimal arithmetic to the context's precision."""
    e = Fraction(epsilon)
    rate = Decimal(e.numerator) / Decimal(e.denominator)
    return lambda n: (-rate * n).exp()


def exact_tail(law: GeometricLaw, s: int) -> Decimal:
    """The curve's area beyond the last cell, in rectangles: the tail's height."""
    power = powers(law.epsilon)
    start = law.last << law.shift
    return law.scale * power(start + s) / (1 - power(1)) / (1 << law.shift)


def sides(law: GeometricLaw) -> list[tuple[int, int, int]]:
    """All cells but the tails': number, side and s."""
    return [(~side if s else side, side, s) for s in (0, 1) for side in range(law.last)]


@pytest.mark.parametrize("bits", [16, 64, 128])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.9, 1.7, 5.0, 60.0])
def test_tails_next_to_whole_numbers_are_enclosed(bits: int, share: float) -> None:
    """Where guard bits hide no rounding to the wrong side: a / (1 - a) is whole / 2**bits."""
    whole = round(share * 2**12) << bits - 12
    with localcontext() as context:
        context.prec = 200
        epsilon = (1 + Decimal(1 << bits) / whole).ln()
        place = math.floor(epsilon * 2**500)
    for number in (place, place + 1):  # just above the whole number, and just below
        low, high = geometric._tail(Fraction(number, 2**500), 0, 1, 0, bits)
        assert low <= whole - (number > place)
        assert high >= whole + (number == place)
        assert high - low <= 3


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_rectangles_are_those_of_the_proof(epsilon: str) -> None:
    """Lemma 1: each cell's words are stacked and cover the curve; sure ones lie below it."""
    law = geometric_law(epsilon)
    stacks = rectangles(law.strips)
    width = 1 << law.shift
    with localcontext() as context:
        context.prec = 60
        power = powers(epsilon)
        for number, side, s in sides(law):
            words, sure = stacks[number]
            assert 0 <= words - law.scale * power(side * width + s) < 1 + Decimal(10) ** -20
            assert (
                0 <= law.scale * power((side + 1) * width - 1 + s) - sure < 1 + Decimal(10) ** -20
            )
        for s, number in enumerate((law.last, ~law.last)):
            assert stacks[number] == (math.ceil(exact_tail(law, s)), 0)
    assert len(stacks) == 2 * law.last + 2
    # Words that are left over, or whose rectangle is above the curve, cost time alone.
    assert sum(words for words, _ in stacks.values()) > 0.98 * WORDS


@pytest.mark.parametrize(
    ("epsilon", "percent"),
    [("1e-9", 3.2), ("1e-4", 3.1), ("1/257", 2.7), ("0.00392", 5.3), ("1", 0.04), ("50", 0.006)],
)
def test_few_words_need_a_height(epsilon: str, percent: float) -> None:
    """As stated in the proof; all words of other parameters lie in between."""
    assert 100 * (1 - geometric_law(epsilon).strips.sure / WORDS) == pytest.approx(
        percent, rel=0.05
    )


class Stream:
    """A source that hands out the words of a list, then what a test has written down."""

    def __init__(self, words: np.ndarray, *parts: bytes) -> None:
        self.words, self.parts, self.done = words.astype("<u2").tobytes(), list(parts), 0

    def __call__(self, size: int) -> bytes:
        if self.done < len(self.words):
            self.done += size
            return self.words[self.done - size : self.done]
        part = self.parts.pop(0)
        assert len(part) == size
        return part


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("place", ["first", "last", "some"])
@pytest.mark.quick(every=5)
def test_all_words_add_up_to_the_law(epsilon: str, place: str) -> None:
    """Lemma 1: the rectangles below the curve, over all words, are the law at each integer."""
    law = geometric_law(epsilon)
    width = 1 << law.shift
    at = {"first": 0, "last": width - 1, "some": 3 * width // 7}[place]
    block = np.empty(WORDS, np.int64)
    bits = 8 * np.dtype(law.place_type).itemsize
    drawn = np.full(WORDS, at << (bits - law.shift), law.place_type)
    parts = [drawn.tobytes()] if law.shift else []
    open_ = law.first(block, Stream(np.arange(WORDS), *parts))
    unsure = np.zeros(WORDS, bool)
    unsure[open_.places] = True
    assert (open_.words == open_.places).all()
    sure: dict[int, int] = {}
    for value in block[~unsure].tolist():
        sure[value] = sure.get(value, 0) + 1
    with localcontext() as context:
        context.prec = 60
        power = powers(epsilon)
        total = {value: Decimal(count) for value, count in sure.items()}
        for word, value in zip(open_.words.tolist(), open_.numbers.tolist(), strict=True):
            if value >> law.shift in (law.last, ~law.last):
                continue
            below = law.scale * power(abs(value)) - int(law.strips.heights[word])
            total[value] = total.get(value, Decimal(0)) + min(max(below, Decimal(0)), Decimal(1))
        assert len(total) == 2 * law.last
        for value, found in total.items():
            assert abs(found - law.scale * power(abs(value))) < Decimal(10) ** -25


@pytest.mark.parametrize("epsilon", ["4", "1", "1/3", "0.02", "0.01", "0.001", "1/1000000"])
@pytest.mark.quick(every=7)
def test_heights_decide_as_exact_arithmetic(epsilon: str) -> None:
    """Lemma 2: heights next to the curve are decided by further bits of the same height."""
    law = geometric_law(epsilon)
    probe = random.Random(4)
    cells = sides(law)
    with localcontext() as context:
        context.prec = 80
        power = powers(epsilon)
        for number, side, s in cells if len(cells) < 100 else probe.sample(cells, 100):
            place = probe.randrange(1 << law.shift)
            value = number << law.shift ^ place
            exponent = abs(value)
            assert (exponent - s) >> law.shift == side
            if exponent == 0:
                continue  # the curve is a whole number there
            curve = law.scale * power(exponent)
            height, rest = divmod(curve, 1)
            for bits in (96, 160):
                exact = int(rest * 2**bits)
                start = [word_of(law, number, int(height)), *place_of(law, place)]
                if int.from_bytes(start[0], "little") < law.strips.sure:
                    continue  # the curve touches the sure rectangle's upper end
                for step, kept in [(-4, True), (4, False)]:
                    if not 0 <= exact + step < 1 << bits:
                        continue
                    script = Script(*start, *read_height(exact + step, bits))
                    # What is rejected is drawn again.
                    script.parts += [] if kept else [word_of(law, 0, 0), *place_of(law, 0)]
                    assert two_sided_geometric(epsilon, 1, script)[0] == (value if kept else 0)
                    assert script.parts == []


@pytest.mark.parametrize("epsilon", ["50", "4", "1", "0.02", "1/1000000"])
@pytest.mark.parametrize("sign", [0, 1])
def test_the_tail_beyond_the_table_is_exact(epsilon: str, sign: int) -> None:
    """Lemma 3: the tail's height is its area, and a sample of the same law is added beyond it."""
    law = geometric_law(epsilon)
    number = ~law.last if sign else law.last
    start = law.last << law.shift
    with localcontext() as context:
        context.prec = 80
        height, rest = divmod(exact_tail(law, sign), 1)
        bits = 160
        exact = int(rest * 2**bits)
        again = [word_of(law, 0, 0), *place_of(law, 0)]
        last = (1 << law.shift) - 1  # -1 is the last integer of cell -1
        negative = [word_of(law, -1, 0), *place_of(law, last), *read_height(0, 32 + 64 * 4)]
        tail = [word_of(law, number, int(height)), *place_of(law, 0)]
        below = Script(*tail, *read_height(exact - 4, bits), *again)
        assert two_sided_geometric(epsilon, 1, below)[0] == start ^ -sign
        assert below.parts == []
        above = Script(*tail, *read_height(exact + 4, bits), *again)
        assert two_sided_geometric(epsilon, 1, above)[0] == 0
        assert above.parts == []
        # The magnitude of the sample counts, from 0 on for both of its signs.
        both = Script(*tail, *read_height(exact - 4, bits), *negative)
        assert two_sided_geometric(epsilon, 1, both)[0] == start ^ -sign


@pytest.mark.parametrize("epsilon", ["0.001", "1/1000000", "1e-9"])
def test_the_curve_in_a_cell_errs_by_less_than_half_of_the_doubt(epsilon: str, seeded) -> None:
    law = geometric_law(epsilon)
    width = 1 << law.shift
    rng = random.Random(7)
    with localcontext() as context:
        context.prec = 40
        power = powers(epsilon)
        places = [0, 1, width - 1, *(rng.randrange(width) for _ in range(50))]
        found = law._power(np.array(places, np.int64))
        for number, side, s in rng.sample(sides(law), 20):
            unit = 2**law.height_bits
            for place, relative in zip(places, found.tolist(), strict=True):
                below = int(law.curve[number]) * relative >> 32
                exact = law.scale * power((side << law.shift) + place + s) * unit
                assert abs(below - exact) < geometric._DOUBT / 2


@pytest.mark.parametrize("epsilon", ["0.001", "1/1000000"])
def test_the_place_in_a_cell_has_no_say_in_the_sign(epsilon: str) -> None:
    law = geometric_law(epsilon)
    for cell, sign in [(0, 1), (5, 1), (-1, -1), (-6, -1)]:
        seen = set()
        for place in range(0, 1 << law.shift, (1 << law.shift) // 8):
            script = Script(word_of(law, cell, 0), *place_of(law, place))
            drawn = int(two_sided_geometric(epsilon, 1, script)[0])
            assert drawn * sign >= 0
            seen.add(abs(drawn))
        assert len(seen) == 8


def test_no_sample_at_a_border_of_pieces_is_special(seeded) -> None:
    """Long arrays are filled piece by piece; at this epsilon a zero has probability 1e-7."""
    samples = two_sided_geometric("2e-7", 2**18 + 2**15 + 3, seeded(1))
    assert np.count_nonzero(samples == 0) <= 1
    assert len(np.unique(samples)) > len(samples) - 15000
    first = set(samples[: 2**15].tolist())
    for start in (2**15, 2**18):
        assert len(first & set(samples[start : start + 2**15].tolist())) < 2000


def test_spare_samples_are_used_once(seeded) -> None:
    """One sample in seventy is rejected; at this epsilon two are equal once in 4e9 pairs."""
    samples = two_sided_geometric("1e-9", 2**18 + 1000, seeded(2))
    assert len(np.unique(samples)) > len(samples) - 100


def test_large_magnitudes_do_not_wrap(seeded) -> None:
    samples = two_sided_geometric("1e-9", 20_000, seeded(1))
    assert chi_square_p(samples, geometric_tail(1e-9)) > LEVEL
    assert np.abs(samples).max() > 2**32


def test_noise_comes_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    system = os.urandom

    def watched(size: int) -> bytes:
        drawn.append(size)
        return system(size)

    monkeypatch.setattr(os, "urandom", watched)
    for epsilon, words in (("1", 2), ("0.001", 3), ("1e-6", 4)):
        drawn.clear()
        two_sided_geometric(epsilon, 1000)
        assert sum(drawn) >= 1000 * words
    for sigma, words in ((1, 4), (2**20, 8)):
        drawn.clear()
        rounded_gaussian(sigma, 1000)
        assert sum(drawn) >= 1000 * words


def test_shape_type_and_default_source() -> None:
    samples = two_sided_geometric(1, (3, 4))
    assert samples.shape == (3, 4)
    assert samples.dtype == np.int64
    assert two_sided_geometric(0.5, 0).shape == (0,)
    assert two_sided_geometric(1, np.int64(2)).shape == (2,)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "abc", None, True, 1e-10])
def test_bad_epsilon_is_refused(epsilon: object) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        two_sided_geometric(epsilon, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [-1, 1.5, True, (2, -1)])
def test_bad_size_is_refused(size: object) -> None:
    with pytest.raises(ParameterError, match="size"):
        two_sided_geometric(1, size)  # type: ignore[arg-type]
