"""Exact two-sided geometric noise: Lemmas 1 to 3 of docs/proofs/noise.md."""

import math
import os
import random
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from dphist.errors import ParameterError
from dphist.noise import rounded_gaussian, two_sided_geometric
from dphist.noise.geometric import GeometricLaw, geometric_law
from tests.support.goodness import LEVEL, chi_square_p

EPSILONS = ["50", "4", "1", "1/3", "0.1", "0.02", "0.01", "0.001", "1/1000000"]


def geometric_tail(epsilon: float):
    """Pr[Z >= z] of the two-sided geometric law."""

    def tail(z: np.ndarray) -> np.ndarray:
        z = np.asarray(z, float)
        one = 1 / (1 + math.exp(-epsilon))
        return np.where(z > 0, np.exp(-epsilon * z) * one, 1 - np.exp(epsilon * (z - 1)) * one)

    return tail


def exact_pmf(epsilon: Fraction, magnitude: int) -> Decimal:
    """Pr[|Z| = magnitude] by decimal arithmetic to the context's precision."""
    e = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
    a = (-e).exp()
    twice = 2 if magnitude else 1
    return twice * (1 - a) / (1 + a) * (-e * magnitude).exp()


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


@pytest.mark.parametrize("epsilon", ["0.01", "0.001", "1/1000000"])
def test_split_multiplies_out_to_the_law(epsilon: str) -> None:
    """Lemma 3: blocks and places are independent, and together give Pr[|Z| = z]."""
    law = geometric_law(epsilon)
    assert law.block > 1
    bits = 200

    def mass(tail, i: int) -> tuple[Fraction, Fraction]:
        one = 1 << bits
        above = (one, one) if i < 0 else tail(i, bits)
        below = tail(i + 1, bits)
        return Fraction(above[0] - below[1], one), Fraction(above[1] - below[0], one)

    probe = random.Random(4)
    reach = 20 * law.block
    with localcontext() as context:
        context.prec = 80
        for z in [1, 2, law.block, law.block + 1, reach, *probe.choices(range(1, reach), k=20)]:
            blocks, place = divmod(z - 1, law.block)
            coarse = mass(law.coarse.tail, blocks)
            fine = mass(law.fine.tail, place - 1)
            true = Fraction(exact_pmf(Fraction(epsilon), z))
            slack = Fraction(1, 10**50)
            assert coarse[0] * fine[0] - slack <= true <= coarse[1] * fine[1] + slack
        assert law.coarse.tail(0, 64)[0] > 0
        zero = 1 - Fraction(law.coarse.tail(0, bits)[0], 1 << bits)
        assert abs(zero - Fraction(exact_pmf(Fraction(epsilon), 0))) < Fraction(1, 2**190)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_tables_are_the_exact_floors(epsilon: str) -> None:
    """Every threshold of the tables against independent decimal arithmetic."""
    law = geometric_law(epsilon)
    e = Fraction(epsilon)
    with localcontext() as context:
        context.prec = 60
        ed = Decimal(e.numerator) / Decimal(e.denominator)
        a, whole = (-ed).exp(), (-ed * law.block).exp()
        coarse = law.coarse.floors[:0:-1]
        for i in sample_indices(len(coarse)):
            exact = 2 * (-ed * (1 + law.block * i)).exp() / (1 + a)
            assert int(coarse[i]) == int(exact * 2**31)
        fine = law.fine.floors[:0:-1]
        assert len(fine) == law.block - 1
        for i in sample_indices(len(fine)):
            exact = ((-ed * (i + 1)).exp() - whole) / (1 - whole)
            assert int(fine[i]) == int(exact * 2**32)


def sample_indices(length: int) -> list[int]:
    return list(range(length)) if length < 300 else [*range(100), *range(100, length, 53)]


class Script:
    """A source that hands out what a test has written down, and nothing else."""

    def __init__(self, *parts: bytes) -> None:
        self.parts = list(parts)

    def __call__(self, size: int) -> bytes:
        part = self.parts.pop(0)
        assert len(part) == size
        return part


def threshold_bits(law: GeometricLaw, index: int, bits: int) -> int:
    """The first `bits` bits of the coarse threshold, from decimal arithmetic to 200 digits."""
    low, high = law.coarse.tail(index, bits + 64)
    assert low >> 64 == high >> 64
    return low >> 64


@pytest.mark.parametrize("epsilon", ["4", "1", "1/3", "0.02"])
def test_refinement_decides_as_exact_arithmetic(epsilon: str) -> None:
    """Lemma 2: words that hit a threshold are decided by further bits of the same U."""
    law = geometric_law(epsilon)
    for index in sample_indices(len(law.coarse.floors) - 1):
        first = threshold_bits(law, index, 31)
        later = threshold_bits(law, index, 95) - (first << 64)
        last = threshold_bits(law, index, 159) - (((first << 64) + later) << 64)
        word = (first << 1).to_bytes(4, "little")  # sign bit 0: plus
        below = Script(word, (later - 1).to_bytes(8, "big"))
        above = Script(word, (later + 1).to_bytes(8, "big"))
        tie_below = Script(word, later.to_bytes(8, "big"), (last - 1).to_bytes(8, "big"))
        tie_above = Script(word, later.to_bytes(8, "big"), (last + 1).to_bytes(8, "big"))
        for script, expected in [(below, 1), (above, 0), (tie_below, 1), (tie_above, 0)]:
            assert two_sided_geometric(epsilon, 1, script)[0] == index + expected
            assert script.parts == []


@pytest.mark.parametrize("epsilon", ["50", "1", "0.02", "1/1000000"])
@pytest.mark.parametrize("sign", [0, 1])
def test_the_tail_beyond_the_table_is_exact(epsilon: str, sign: int) -> None:
    """A word of zeros is refined: U = 2**-95 (x + something) for a known x."""
    e = Fraction(epsilon)
    law = geometric_law(e)
    x = 12345
    script = Script(sign.to_bytes(4, "little"), x.to_bytes(8, "big"))
    if law.block > 1:
        script.parts.insert(2, (0xFFFFFFFF).to_bytes(4, "little"))  # place 0 in the block
    sampled = abs(int(two_sided_geometric(e, 1, script)[0]))
    with localcontext() as context:
        context.prec = 120
        ed = Decimal(e.numerator) / Decimal(e.denominator)
        # |Z| >= z iff U < 2 a**z / (1 + a), so z < -ln(U (1 + a) / 2) / epsilon.
        u = Decimal(x) / Decimal(2) ** 95
        most = int(-(u * (1 + (-ed).exp()) / 2).ln() / ed)
    expected = most if law.block == 1 else (most - 1) // law.block * law.block + 1
    assert sampled == expected


def test_plus_and_minus_use_one_fair_bit() -> None:
    for sign, expected in [(0, 1), (1, -1)]:
        word = (geometric_law(1).coarse.floors[-1] - 1) * 2 + sign
        script = Script(int(word).to_bytes(4, "little"))
        assert two_sided_geometric(1, 1, script)[0] == expected


@pytest.mark.parametrize("sign", [0, 1])
@pytest.mark.parametrize("parity", [0, 1])
def test_the_sign_is_a_bit_of_its_own(sign: int, parity: int) -> None:
    """With two tables too: the low bit of the second word has no say in it."""
    law = geometric_law("0.001")
    coarse = int(law.coarse.floors[-1] - 1) * 2 + sign
    fine = (2**32 - 2) + parity
    script = Script(coarse.to_bytes(4, "little"), fine.to_bytes(4, "little"))
    assert two_sided_geometric("0.001", 1, script)[0] == (-1 if sign else 1)


@pytest.mark.parametrize("epsilon", ["0.01", "0.001"])
def test_the_place_in_a_block_is_refined_as_exact_arithmetic(epsilon: str) -> None:
    """Lemma 2 for the second table: N is 1, and the place's word hits a threshold."""
    law = geometric_law(epsilon)
    coarse = (int(law.coarse.floors[-1] - 1) * 2).to_bytes(4, "little")
    for index in sample_indices(law.block - 1)[::5]:
        low, high = law.fine.tail(index, 160)
        assert low >> 64 == high >> 64
        first, later = low >> 128, (low >> 64) & (1 << 64) - 1
        for step, expected in [(-1, 1), (1, 0)]:
            script = Script(coarse, first.to_bytes(4, "little"), (later + step).to_bytes(8, "big"))
            assert two_sided_geometric(epsilon, 1, script)[0] == 1 + index + expected
            assert script.parts == []


def test_no_sample_at_a_border_of_pieces_is_special(seeded) -> None:
    """Long arrays are filled piece by piece; at this epsilon a zero has probability 1e-7."""
    samples = two_sided_geometric("2e-7", 5 * 2**15 + 3, seeded(1))
    assert np.count_nonzero(samples == 0) <= 1
    assert len(np.unique(samples)) > len(samples) - 5000
    assert len(set(samples[: 2**15].tolist()) & set(samples[2**15 : 2**16].tolist())) < 2000


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
    for epsilon, words in (("1", 1), ("0.001", 2)):
        drawn.clear()
        two_sided_geometric(epsilon, 1000)
        assert sum(drawn) >= 4000 * words
    drawn.clear()
    rounded_gaussian(1, 1000)
    assert sum(drawn) >= 8000


def test_guide_agrees_with_searching(seeded) -> None:
    """The look-up by leading bits changes speed, never a value."""
    table = geometric_law("0.02").coarse
    assert table.mixed.mean() < 0.05
    words = np.frombuffer(seeded(5)(4 * 100_000), "<u4") >> np.uint32(1)
    beside = np.concatenate([table.floors[2:] - 1, table.floors[1:] + 1])
    near = np.setdiff1d(beside, table.floors).astype(np.uint32)
    for some in (words, near):
        direct = len(table.floors) - np.searchsorted(table.floors, some, side="right")
        assert np.array_equal(table.invert(some, seeded(6)), direct)


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
