"""The choice of events: what it finds in features, and that arrays say what single runs say."""

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from dphist.lab.auditing.outcome import Features
from dphist.lab.auditing.statistical.bounds import least_epsilons
from dphist.lab.auditing.statistical.choosing import choose, find_columns, rough_epsilons
from dphist.lab.auditing.statistical.events import Condition, Weighed

DRAW = random.Random(7)


def random_features(shift: int) -> Features:
    """Numbers of several kinds, some absent or too large for a float, and texts."""
    found: Features = {"number": DRAW.randrange(9) + shift, "text": DRAW.choice("abc")}
    if DRAW.random() < 0.7:
        found["fraction"] = Fraction(DRAW.randrange(50), 7)
    if DRAW.random() < 0.5 + shift / 10:
        found["mixed"] = DRAW.choice(["x", 3, 4.5])
    found["huge"] = DRAW.choice([10**400, -(10**400), 5])
    found["float"] = DRAW.random() + shift
    return found


ONES, OTHERS = [random_features(1) for _ in range(300)], [random_features(0) for _ in range(300)]


@pytest.mark.parametrize("condition", [
    Condition("number", "at most", 4), Condition("number", "more than", 4),
    Condition("number", "in", frozenset({2, 9})), Condition("text", "in", frozenset("ac")),
    Condition("fraction", "at most", Fraction(9, 7)), Condition("fraction", "more than", 3),
    Condition("fraction", "present"), Condition("fraction", "absent"),
    Condition("mixed", "in", frozenset({"x", 4.5})), Condition("mixed", "absent"),
    Condition("huge", "at most", -(10**400)), Condition("float", "more than", 0.5),
], ids=str)  # fmt: skip
def test_conditions_hold_of_columns_as_of_runs(condition: Condition) -> None:
    (column,) = (each for each in find_columns(ONES, OTHERS) if each.name == condition.feature)
    assert column.holds(condition).tolist() == [condition.holds(f) for f in (*ONES, *OTHERS)]


@pytest.mark.parametrize("runs", [30, 300])
def test_cuts_are_counted_as_in_runs(runs: int) -> None:
    """Also with many values, of which only some are cuts, and where some runs are left out."""
    ones, others = ONES[:runs], OTHERS[:runs]
    columns = [each for each in find_columns(ones, others) if each.numbers is not None]
    assert {"number", "fraction", "huge", "float"} == {column.name for column in columns}
    held = np.array([DRAW.random() < 0.6 for _ in range(2 * runs)])
    kept = [f for f, h in zip((*ones, *others), held, strict=True) if h]
    for column in columns:
        for kind, counted in zip(("at most", "more than"), column.count_cuts(held), strict=True):
            for place in DRAW.choices(range(len(column.cuts)), k=20):
                condition = Condition(column.name, kind, column.cuts[place])
                assert counted[place] == sum(map(condition.holds, kept))


def test_rough_epsilons_are_near_exact_ones() -> None:
    hits, others = np.array([100, 400, 900, 12]), np.array([0, 100, 500, 9])
    for delta in (0.0, 0.005):
        exact = least_epsilons(hits, others, 1000, delta, 2 * norm.sf(2.6))
        assert rough_epsilons(hits, others, 1000, delta) == pytest.approx(exact, abs=0.2)


def test_an_event_of_each_kind_is_found() -> None:
    def found(one: Any, other: Any) -> str:
        ones, others = [one() for _ in range(200)], [other() for _ in range(200)]
        best = max(choose(ones, others, 0), key=lambda choice: choice.score)
        side = others if best.swapped else ones
        often = sum(map(best.event.holds, side)) - sum(
            map(best.event.holds, ones if best.swapped else others)
        )
        assert often > 60
        return str(best.event)

    def count(shift: int) -> Any:
        return lambda: {"x": DRAW.gauss(shift, 1), "y": DRAW.random()}

    assert found(count(2), count(0)).startswith("x is ")
    label = lambda odds: lambda: {"label": DRAW.choices("abcd", odds)[0]}  # noqa: E731
    assert found(label([5, 5, 1, 1]), label([1, 1, 5, 5])).startswith("label is one of ")
    there = lambda chance: lambda: {"a": 1, **({"b": 2} if DRAW.random() < chance else {})}  # noqa: E731
    assert found(there(0.9), there(0.1)).startswith("b is ")


def many(shift: float) -> Features:
    """Thirty noisy numbers that each tell little."""
    return {f"item {k}": DRAW.gauss(shift, 1) for k in range(30)}


def test_many_features_are_weighed() -> None:
    ones, others = [many(0.3) for _ in range(600)], [many(0) for _ in range(600)]
    best = max(choose(ones, others, 0), key=lambda choice: choice.score)
    (weighed,) = best.event.conditions
    assert isinstance(weighed, Weighed)
    side, rest = (others, ones) if best.swapped else (ones, others)
    assert sum(map(best.event.holds, side)) > 2 * sum(map(best.event.holds, rest))


@pytest.mark.verify
def test_what_tells_nothing_shows_nothing_above_the_truth() -> None:
    """Of runs that are alike on both neighbors, with features and cuts to choose from."""
    for _ in range(5):
        ones, others = ([many(0) for _ in range(100)] for _ in "12")
        assert all(choice.score < 0.6 for choice in choose(ones, others, 0))
        assert all(choice.score < 0.6 for choice in choose(ones, others, 0.05))


def test_an_impossible_delta_leaves_no_event() -> None:
    assert choose(ONES, OTHERS, 0.999) == []
    assert choose([{"x": 1}] * 50, [{"x": 1}] * 50, 0) == []
