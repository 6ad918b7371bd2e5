"""Shared fixtures: seeded randomness, which only tests may use."""

import random
import signal
from collections.abc import Callable, Iterator
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


@pytest.fixture
def hangups_heard() -> Iterator[None]:
    """Children hear a hangup, also where the tests run under nohup, which they inherit."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)
