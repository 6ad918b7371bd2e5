"""The samplers at production scale: millions of draws in a call, epsilon far above any table.

Lemmas 1 to 3 of docs/proofs/noise.md, and its section on randomness.
"""

import os
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from dphist.noise import rounded_gaussian, two_sided_geometric
from dphist.noise.geometric import geometric_law
from dphist.noise.lazy import GUMBEL, LazyNoise
from tests.noise.test_geometric import Script

SAMPLERS: dict[str, Callable[..., np.ndarray]] = {
    "geometric": lambda size, source=None: two_sided_geometric(1, size, source),
    "geometric in two tables": lambda size, source=None: two_sided_geometric("0.001", size, source),
    "gaussian": lambda size, source=None: rounded_gaussian(7, size, source),
}
BYTES = {"geometric": 4, "geometric in two tables": 8, "gaussian": 8}
PIECE = 2**15
LONG = [1000, PIECE + 1, 2**22, 2**22 + 3]


class Counted:
    """The bytes of a seed, one after another."""

    def __init__(self) -> None:
        self.generator, self.given = random.Random(1), 0

    def __call__(self, size: int) -> bytes:
        self.given += size
        return self.generator.randbytes(size)


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("size", LONG)
def test_a_call_of_any_length_is_made_of_the_system_s_bits(
    name: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Draw for draw: with other bits in the place of the system's it is those that decide."""
    system = Counted()
    monkeypatch.setattr(os, "urandom", system)
    found = SAMPLERS[name](size)
    assert system.given >= BYTES[name] * size
    assert np.array_equal(found, SAMPLERS[name](size, Counted()))


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_long_call_is_what_short_calls_are(name: str) -> None:
    long, short = Counted(), Counted()
    found = SAMPLERS[name](2**22 + 3, long)
    start = 0
    while start < len(found):
        piece = SAMPLERS[name](min(PIECE, len(found) - start), short)
        assert np.array_equal(found[start : start + len(piece)], piece)
        start += len(piece)
    assert long.given == short.given


def test_lazy_noise_of_many_labels_is_made_of_the_system_s_bits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "urandom", Counted())
    centres = [0] * 2**18
    found = LazyNoise(GUMBEL, Fraction(3), centres)
    assert found._drawn == LazyNoise(GUMBEL, Fraction(3), centres, Counted())._drawn


def words_of(u: int, bits: int) -> list[bytes]:
    """The bits of U as the sampler asks for them: 31 beside the sign, then 64 at a time."""
    assert (bits - 31) % 64 == 0
    first = (u >> (bits - 31)) << 1
    parts = [first.to_bytes(4, "little")]
    for place in reversed(range((bits - 31) // 64)):
        parts.append((u >> 64 * place & (1 << 64) - 1).to_bytes(8, "big"))
    return parts


@pytest.mark.parametrize(
    "epsilon", ["1e-9", "0.01", "1", "20", "63", "64", "65", "100", "745", "746", "5000"]
)
def test_noise_is_other_than_zero_as_often_as_it_should_be_at_any_epsilon(epsilon: str) -> None:
    """|Z| > 0 iff U < t_0 = 2 a / (1 + a), to all bits: at 64 that is one time in 2**91."""
    law = geometric_law(epsilon)
    bits = 31 + 64 * (2 + int(1.45 * float(Fraction(epsilon))) // 64)
    low, high = law.coarse.tail(0, bits)
    assert high - low <= 3
    assert low > 2**30
    for u, expected in [(low - 5, 1), (high + 5, 0)]:
        parts = words_of(u, bits)
        if law.block > 1:
            parts.append((0xFFFFFFFF).to_bytes(4, "little"))  # the first place of a block
        script = Needed(*parts)
        assert two_sided_geometric(epsilon, 1, script)[0] == expected


class Needed(Script):
    """Bits that may not all be asked for; the second table's stand last."""

    def __call__(self, size: int) -> bytes:
        while len(self.parts[0]) != size:
            self.parts.pop(0)
        return self.parts.pop(0)


def test_zeros_are_not_decided_at_the_largest_epsilon() -> None:
    """Thirty-one zeros, and a thousand more, may still be the beginning of a U below t_0."""
    asked: list[int] = []

    def zeros(size: int) -> bytes:
        asked.append(size)
        if len(asked) > 20:
            raise InterruptedError
        return bytes(size)

    with pytest.raises(InterruptedError):
        two_sided_geometric(10**9, 1, zeros)
    assert asked == [4] + [8] * 20


@pytest.mark.parametrize("size", [6, 1000, 2**16])
def test_a_word_of_zeros_is_noise_at_epsilon_64_wherever_it_stands(size: int) -> None:
    """95 zeros and then ones are below t_0, which is 2**-91, and above t_1."""
    words = np.full(size, 0xFFFFFFFF, "<u4")
    chosen = [0, size // 3, size - 1]
    words[chosen] = 0, 1, 0
    parts = [words.tobytes()[place : place + 4 * PIECE] for place in range(0, 4 * size, 4 * PIECE)]
    bits = iter([bytes(8), b"\xff" * 8] * 3)

    def source(asked: int) -> bytes:
        return next(bits) if asked == 8 else parts.pop(0)

    found = two_sided_geometric(64, size, source)
    assert found[chosen].tolist() == [1, -1, 1]
    assert np.count_nonzero(found) == 3
