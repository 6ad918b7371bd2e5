"""Shared fixtures: seeded randomness, which only tests may use."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from dphist import Profile
from dphist.noise import Source


@pytest.fixture
def seeded() -> Callable[[int], Source]:
    """Return a maker of repeatable sources of bytes."""
    return lambda seed: random.Random(seed).randbytes


DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(scope="session")
def yahoo() -> Profile:
    """69 million password choices, as shipped."""
    return Profile.read(DATA / "passwords_yahoo.csv")


@pytest.fixture(scope="session")
def shakespeare() -> Profile:
    """Word counts of Shakespeare's works, as shipped."""
    return Profile.read(DATA / "words_shakespeare.csv")
