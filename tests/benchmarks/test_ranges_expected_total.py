"""What a guess of the total is worth: the comparison itself, on small shapes."""

import numpy as np
import pytest
from benchmarks.ranges import expected_total
from benchmarks.ranges.data import Shape
from benchmarks.ranges.expected_total import KINDS, errors, held_out, ratio

from dphist import AdaptiveTree


def test_ratios_are_of_means_and_pair_the_runs() -> None:
    other = [np.array([1.0, 3.0]), np.array([2.0, 2.0])]
    same = [2 * one for one in other]
    assert ratio(same, other) == pytest.approx((2, 0))
    assert ratio([np.array([1.0, 3.0])], [np.array([1.0, 1.0])]) == pytest.approx((2, 1))


def test_rules_are_chosen_by_the_shapes_that_are_not_held_out() -> None:
    """The first three shapes like the first look, the others the second."""
    kind = KINDS["prefixes"]
    usual, first, second, *rest = kind.listed()
    found = []
    for place in range(6):
        liked = first if place < 3 else second
        one = {rules: np.full(2, 5.0) for rules in (usual, first, second, *rest)}
        found.append({**one, liked: np.full(2, 1.0)})
    assert [chosen.mean() for chosen in held_out(kind, found)] == [5.0] * 6


def test_errors_are_those_of_the_mechanism_with_that_guess() -> None:
    kind = KINDS["prefixes"]
    shape = Shape("made up", np.arange(64))
    found = errors(kind, shape, 1000, 2)
    tree = AdaptiveTree(epsilon="0.1", bins=64, workload="prefix", expected_total=10_000)
    assert kind.rules(1000) == tree._rules != kind.rules(None)
    assert set(found) == set(kind.needed(1000)) >= {kind.rules(1000), kind.rules(None)}
    assert all(len(runs) == 2 and (runs > 0).all() for runs in found.values())


@pytest.mark.verify
def test_tables_are_printed(monkeypatch, capsys) -> None:
    lines = [Shape(name, np.arange(40)) for name in "abcd"]
    monkeypatch.setattr(expected_total, "read_shapes", lambda axes: lines)
    expected_total.main(["--kinds", "prefixes", "--runs", "2"])
    printed = capsys.readouterr().out
    assert "| prefixes: strength | without a guess | with it | chosen by the others |" in printed
    assert printed.count("\n| ") == 1 + len(KINDS["prefixes"].strengths)
