"""What draws from a cycle or keeps a state is noticed; what is independent never is."""

import itertools
import random
from typing import Any

import pytest

import dphist as dh
from dphist.lab.auditing.statistical.rounds import dependence

STATISTICAL = ("statistical",)


@pytest.mark.verify
def test_a_cycle_of_noise_is_said() -> None:
    noise = itertools.cycle([random.randrange(-50, 50) for _ in range(37)])
    result = dh.audit(lambda count: count + next(noise), [(0, 0)], epsilon=1, seconds=2)
    assert "37 runs before" in result.warning
    assert result.warning in " ".join(str(result).split())


@pytest.mark.parametrize("cycle", [[0, 1], [0, 0, 1], list(range(500)), [*range(90), 0]])
def test_cycles_are_found_at_their_length(cycle: list[int]) -> None:
    shown = [cycle[k % len(cycle)] for k in range(1200)]
    assert f"those {len(cycle)} runs before" in dependence(shown)


def test_common_outcomes_that_stick_are_found() -> None:
    draw, state, shown = random.Random(1), 0, []
    for _ in range(2000):
        state = state if draw.random() < 0.8 else draw.randrange(3)
        shown.append(state)
    assert "those 1 runs before" in dependence(shown)


def test_a_mechanism_that_changes_its_mind_is_said() -> None:
    """It keeps its claim for as long as an audit might look, and then tells."""
    draw = random.Random(3)
    shown: list[Any] = [draw.randrange(100) for _ in range(900)]
    told = [*shown, *["the truth"] * 900]
    assert "there is a state" in dependence(told)


@pytest.mark.verify
@pytest.mark.parametrize("outcomes", [1, 2, 3, 50, 10**9])
def test_independent_runs_are_never_warned_of(outcomes: int) -> None:
    draw = random.Random(outcomes)
    for size in (10, 60, 300, 1200):
        for _ in range(3):
            assert dependence([draw.randrange(outcomes) for _ in range(size)]) == ""


@pytest.mark.verify
def test_mechanisms_are_not_warned_of() -> None:
    result = dh.audit(dh.SortedCounts(epsilon=1, labels=3), seconds=1.5, layers=STATISTICAL)
    assert result.warning == ""
