"""Every answer of a source is checked: too few bytes would be noise that samples share."""

import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.data.choosing import choose_labels
from dphist.errors import ParameterError
from dphist.noise import Source, rounded_gaussian, two_sided_geometric
from dphist.noise.inversion import check_source
from dphist.noise.lazy import GUMBEL, LazyNoise

PROFILE = dh.Profile.from_counts([9, 5, 5, 1])


def lazy(source: Source) -> None:
    noise = LazyNoise(GUMBEL, Fraction(3), [0] * 50, source)
    noise._refine(7)
    noise.rounded(7)


def bound(source: Source) -> None:
    rows = pd.DataFrame({"user": [1, 1, 2, 2], "term": ["a", "b", "a", "c"]})
    dh.LabelCounts.from_table(rows, label="term", user="user", max_labels=1, source=source)


# All that read bytes of a source, in sizes at which they read heights and further bits as well.
READERS: dict[str, Callable[[Source], object]] = {
    "geometric": lambda source: two_sided_geometric(1, 1000, source),
    "geometric in wide cells": lambda source: two_sided_geometric("1e-4", 70_000, source),
    "gaussian": lambda source: rounded_gaussian(7, 70_000, source),
    "gaussian in small units": lambda source: rounded_gaussian(2**30, 1000, source),
    "lazy": lazy,
    "partition": lambda source: dh.PartitionSampler(epsilon=1, delta="1e-6").release(
        PROFILE, source
    ),
    "cut": lambda source: choose_labels(np.array([0, 3, 6]), 2, source),
    "bound": bound,
}

WRONG: dict[str, Callable[[bytes], object]] = {
    "one word": lambda drawn: drawn[:2],
    "one byte less": lambda drawn: drawn[:-1],
    "one byte more": lambda drawn: drawn + b"x",
    "no bytes": lambda _: b"",
    "words": lambda drawn: np.frombuffer(drawn, np.uint8),
}


class Wrong:
    """A source of a seed, of which one answer is wrong."""

    def __init__(self, place: int, change: Callable[[bytes], object]) -> None:
        self.place, self.change = place, change
        self.asked: list[int] = []
        self._draw = random.Random(3).randbytes

    def __call__(self, size: int) -> bytes:
        self.asked.append(size)
        drawn = self._draw(size)
        return self.change(drawn) if len(self.asked) - 1 == self.place else drawn  # type: ignore[return-value]


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.quick(every=2)
def test_an_answer_of_another_length_is_refused_wherever_it_comes(name: str, wrong: str) -> None:
    whole = Wrong(-1, bytes)
    READERS[name](whole)
    kinds = {size: place for place, size in enumerate(whole.asked)}  # one call of each size
    assert kinds
    for size, place in kinds.items():
        if wrong == "one word" and size == 2:
            continue
        source = Wrong(place, WRONG[wrong])
        with pytest.raises(ParameterError, match="source must return bytes, exactly as many"):
            READERS[name](source)
        assert len(source.asked) == place + 1


def test_a_right_answer_is_handed_on() -> None:
    draw = check_source(random.Random(5).randbytes)
    expected = random.Random(5).randbytes
    assert [draw(size) for size in (0, 1, 7)] == [expected(size) for size in (0, 1, 7)]


def test_nothing_else_reads_the_system_s_bytes() -> None:
    """What takes a source, or else the system's bytes, takes both from `check_source`."""
    package = Path(dh.__file__).parent
    naming = [path for path in package.rglob("*.py") if "urandom" in path.read_text()]
    assert naming == [package / "noise" / "inversion.py"]
