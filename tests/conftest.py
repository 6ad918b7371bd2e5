"""Shared fixtures: seeded randomness, which only tests may use."""

import random
from collections.abc import Callable

import pytest

from dphist.noise import Source


@pytest.fixture
def seeded() -> Callable[[int], Source]:
    """Return a maker of repeatable sources of bytes."""
    return lambda seed: random.Random(seed).randbytes
