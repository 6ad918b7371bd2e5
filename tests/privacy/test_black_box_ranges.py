"""A lower bound on epsilon from many runs of mechanisms over bins, as in test_black_box.py."""

from fractions import Fraction

import pytest

import dphist as dh
from dphist.ranges.budget import Budget
from tests.support.privacy.black_box import lower_bound


def outcome(release: dh.Release) -> tuple[int, ...]:
    """All noisy counts, or else the released bins, cut off to few values."""
    noisy = [count for level in release.noisy.values() for count in level.tolist()]
    counts = noisy if noisy and "counts" not in release.noisy else release.value.counts.tolist()
    return tuple(min(max(count, 0), 1) for count in counts)


CASES = {
    "leaf counts": (lambda: dh.LeafCounts(epsilon=1, bins=1), [0], [1]),
    "tree": (lambda: dh.HierarchicalTree(epsilon=1, bins=2, branching=2), [0, 0], [0, 1]),
    "tree without root": (
        lambda: dh.HierarchicalTree(epsilon=1, bins=3, branching=2, root=False),
        [1, 0, 0],
        [1, 0, 1],
    ),
    "two records a unit": (lambda: dh.LeafCounts(epsilon=1, bins=1, sensitivity=2), [0], [2]),
    "adaptive tree": (lambda: dh.AdaptiveTree(epsilon=1, bins=2), [0, 0], [0, 1]),
    "adaptive tree, opened": (
        lambda: dh.AdaptiveTree(epsilon=1, bins=64),
        [0] * 32 + [30] + [0] * 31,
        [0] * 32 + [31] + [0] * 31,
    ),
}


def looked_at(name: str):
    """Of many bins, the one that differs and all together: few values, so that they recur."""
    if name != "adaptive tree, opened":
        return outcome
    return lambda release: (
        min(max(release.value.count(32, 33), 25), 35),
        min(max(release.total, 25), 35),
    )


@pytest.mark.parametrize("name", CASES)
@pytest.mark.long(every=2)
def test_no_more_is_lost_than_claimed(name, seeded) -> None:
    make, one, other = CASES[name]
    runs = 800 if "opened" in name else 2_000
    assert lower_bound(make(), one, other, runs, seeded, looked_at(name)) <= 1


@pytest.mark.verify
def test_a_budget_spent_on_every_level_is_caught(monkeypatch, seeded) -> None:
    noise = Budget.noise
    monkeypatch.setattr(Budget, "noise", lambda self, share, *args: noise(self, Fraction(1), *args))
    make, one, other = CASES["tree"]
    assert lower_bound(make(), one, other, 2_000, seeded, outcome) > 1.2


@pytest.mark.audit
@pytest.mark.parametrize("name", CASES)
def test_audit_with_many_runs(name, seeded) -> None:
    make, one, other = CASES[name]
    runs = 20_000 if "opened" in name else 100_000
    assert lower_bound(make(), one, other, runs, seeded, looked_at(name)) <= 1
