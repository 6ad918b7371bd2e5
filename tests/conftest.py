"""Shared fixtures: seeded randomness, which only tests may use."""

import gc
import itertools
import random
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from dphist import Profile
from dphist.noise import Source

# How long an example takes depends on what else the machine does.
settings.register_profile(
    "dphist", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("dphist")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nothing that is collected becomes garbage: looking for some took a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before items are chosen by their marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the cases of long tests that are not quick to `make verify`.

    Tests of a container's memory need root and a machine that has control groups, so they run by
    `make test-container` alone.
    """
    if "container" not in config.option.markexpr:
        items[:] = [item for item in items if item.get_closest_marker("container") is None]
    quick: dict[str, Iterator[int]] = defaultdict(itertools.count)
    long: dict[str, Iterator[int]] = defaultdict(itertools.count)
    for item in items:
        test, _, case = item.nodeid.partition("[")
        # Spark takes 20 s to start.
        left_to = "verify" if "spark" in case else target_of(item, quick[test], long[test])
        if left_to:
            item.add_marker(left_to)


def target_of(item: pytest.Item, quick: Iterator[int], long: Iterator[int]) -> str:
    """Return the target that a case is left to; empty for one of `make test`.

    Of each eight cases that `quick(every=9)` leaves out, `make verify` runs the first and the
    fifth, and `make audit` the rest. Of those left to `make verify`, `long(every=...)` has it run
    some.

    Parameters
    ----------
    quick, long : count the cases of the test that the `every` of each mark chooses from.
    """
    of_test, of_verify = item.get_closest_marker("quick"), item.get_closest_marker("long")
    if of_test is None and of_verify is None:
        return ""
    if of_test and (not of_test.args or any(part in item.name for part in of_test.args)):
        number = next(quick) % of_test.kwargs.get("every", 1)
        if number % 4 != 1:
            return "audit" if number else ""
    if of_verify and next(long) % of_verify.kwargs["every"]:
        return "audit"
    return "verify"


@pytest.fixture
def seeded() -> Callable[[int], Source]:
    """Return a maker of repeatable sources of bytes."""
    return lambda seed: random.Random(seed).randbytes


@pytest.fixture
def repeatable(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Each case of a test gets the same bytes of the operating system in every run.

    For what draws noise where no source can be given, and is then compared with a bound that
    correct code may miss by chance. Not for tests that fork: both processes would draw the same.
    """
    draw = random.Random(request.node.name).randbytes
    monkeypatch.setattr("os.urandom", draw)
    monkeypatch.setattr("random._urandom", draw)  # of `secrets` and `random.SystemRandom`


DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(scope="session")
def yahoo() -> Profile:
    """69 million password choices, as shipped."""
    return Profile.read(DATA / "passwords_yahoo.csv")


@pytest.fixture(scope="session")
def shakespeare() -> Profile:
    """Word counts of Shakespeare's works, as shipped."""
    return Profile.read(DATA / "words_shakespeare.csv")


@pytest.fixture(scope="session", autouse=True)
def interrupts_heard() -> None:
    """Tests and their children hear Ctrl-C, also where a script starts them with `&`.

    The shell has such processes ignore it, and what they start inherits that.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def hangups_heard() -> Iterator[None]:
    """Children hear a hangup, also where the tests run under nohup, which they inherit."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def lines_run() -> Callable[[Callable[[], object]], int]:
    """Return a counter of the lines of Python that a call runs: how it grows, without a clock."""

    def count(call: Callable[[], object]) -> int:
        lines = 0

        def trace(_frame: FrameType, event: str, _argument: Any) -> Any:
            nonlocal lines
            lines += event == "line"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            call()
        finally:
            sys.settrace(before)
        return lines

    return count
