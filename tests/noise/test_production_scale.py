"""The samplers at production scale: millions of draws in a call, epsilon far above any table.

Lemmas 1 to 3 of docs/understand/proofs/noise.md, and its section on randomness.
"""

import os
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from dphist.noise import rounded_gaussian, two_sided_geometric
from dphist.noise.enclosures import exp_negative
from dphist.noise.geometric import geometric_law
from dphist.noise.lazy import GUMBEL, LazyNoise
from dphist.noise.strips import spare
from tests.support.noise.scripts import Script, place_of, read_height, word_of

SAMPLERS: dict[str, Callable[..., np.ndarray]] = {
    "geometric": lambda size, source=None: two_sided_geometric(1, size, source),
    "geometric in wide cells": lambda size, source=None: two_sided_geometric("0.001", size, source),
    "gaussian": lambda size, source=None: rounded_gaussian(7, size, source),
    "gaussian in small units": lambda size, source=None: rounded_gaussian(2**30, size, source),
}
BYTES = {
    "geometric": 2,
    "geometric in wide cells": 3,
    "gaussian": 4,
    "gaussian in small units": 8,
}
BLOCK, PIECE = 2**15, 2**18
LONG = [1000, BLOCK + 1, PIECE + 1, 2**22, 2**22 + 3]


class Counted:
    """The bytes of a seed, one after another."""

    def __init__(self) -> None:
        self.generator, self.given = random.Random(1), 0

    def __call__(self, size: int) -> bytes:
        self.given += size
        return self.generator.randbytes(size)


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("size", LONG)
@pytest.mark.quick(every=4)
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
@pytest.mark.quick(every=4)
def test_a_long_call_is_what_short_calls_are(name: str) -> None:
    long, short = Counted(), Counted()
    found = SAMPLERS[name](2**22 + 3, long)
    start = 0
    while start < len(found):
        piece = SAMPLERS[name](min(PIECE, len(found) - start), short)
        assert np.array_equal(found[start : start + len(piece)], piece)
        start += len(piece)
    assert long.given == short.given


@pytest.mark.verify
def test_lazy_noise_of_many_labels_is_made_of_the_system_s_bits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "urandom", Counted())
    centers = [0] * 2**18
    found = LazyNoise(GUMBEL, Fraction(3), centers)
    assert found._drawn == LazyNoise(GUMBEL, Fraction(3), centers, Counted())._drawn


@pytest.mark.parametrize(
    "epsilon", ["1e-9", "0.01", "1", "20", "63", "64", "65", "100", "745", "746", "5000"]
)
@pytest.mark.quick(every=3)
def test_noise_is_other_than_zero_as_often_as_it_should_be_at_any_epsilon(epsilon: str) -> None:
    """-1 has the height scale * a, to all bits: at 64 that is one time in 2**76 of its word."""
    law = geometric_law(epsilon)
    if law.shift == 0:
        assert (
            np.count_nonzero(law.strips.cells[: law.strips.sure] == 0) == law.scale
        )  # zero, by a whole height of 1
    bits = 32 + 64 * (2 + int(1.45 * float(Fraction(epsilon))) // 64)
    low, high = (law.scale * end for end in exp_negative(Fraction(epsilon), bits))
    assert high - low <= 3 * law.scale
    assert low > 2**30
    place = place_of(law, (1 << law.shift) - 1)  # -1 is the last integer of its cell
    for height, kept in [(low - 5, True), (high + 5, False)]:
        number, rest = divmod(height, 1 << bits)
        word = word_of(law, -1, number)
        if int.from_bytes(word, "little") < law.strips.sure:
            continue
        again = [] if kept else [word_of(law, 0, 0), *place_of(law, 0)]
        script = Needed(word, *place, *read_height(rest, bits))
        with_again = Then(script, Script(*again))
        assert two_sided_geometric(epsilon, 1, with_again)[0] == (-1 if kept else 0)
        assert with_again.after.parts == []


class Needed(Script):
    """Bits that may not all be asked for."""


class Then:
    """What a script has for one sample; once another word is asked for, what the next has."""

    def __init__(self, script: Script, after: Script) -> None:
        self.script, self.after, self.calls = script, after, 0

    def __call__(self, size: int) -> bytes:
        self.calls += 1
        if self.calls > 1 and size == 2:
            self.script.parts.clear()
        return self.script(size) if self.script.parts else self.after(size)


def test_zeros_are_not_decided_at_the_largest_epsilon() -> None:
    """A height of zeros, a thousand of them and more, may still be below the curve."""
    law = geometric_law(10**9)
    asked: list[int] = []

    def zeros(size: int) -> bytes:
        asked.append(size)
        if len(asked) > 20:
            raise InterruptedError
        return word_of(law, -1, 0) if size == 2 else bytes(size)

    with pytest.raises(InterruptedError):
        two_sided_geometric(10**9, 1, zeros)
    assert asked == [2, 4] + [8] * 19


@pytest.mark.parametrize("size", [7, 1000, 2**16, 2**19])
def test_a_height_of_zeros_is_noise_at_epsilon_64_wherever_it_stands(size: int) -> None:
    """Heights of zeros are below those of -1, which is 2**-76, and of the tail from 1 on."""
    law = geometric_law(64)
    zero, minus, plus = (
        int.from_bytes(word_of(law, cell, 0), "little") for cell in (0, -1, law.last)
    )
    words = np.full(size, zero, "<u2")
    chosen = [0, size // 3, size - 1]
    words[chosen] = minus, plus, minus
    pieces = [words[start : start + PIECE] for start in range(0, size, PIECE)]
    extra = [np.full(spare(law, len(piece)), zero, "<u2") for piece in pieces]
    stream = b"".join(a.tobytes() + b.tobytes() for a, b in zip(pieces, extra, strict=True))
    given = [0]

    def source(asked: int) -> bytes:
        if asked == 2:  # the sample beyond the tail's beginning
            return word_of(law, 0, 0)
        if asked in (4, 8, 12):  # heights of one to three words, and more bits of one
            return bytes(asked)
        given[0] += asked
        return stream[given[0] - asked : given[0]]

    found = two_sided_geometric(64, size, source)
    assert found[chosen].tolist() == [-1, 1, -1]
    assert np.count_nonzero(found) == 3
    assert given[0] == len(stream)
