"""Transcripts of the mechanisms for ranges, replayed at production scale.

Trees of twelve levels and more, mostly empty; counts above 10**9 and beside the cut-off at 2**62
over the number of bins; calls of more than 2**22 draws; epsilon and rho from the smallest to the
largest. Lemmas 1 to 3 of docs/understand/proofs/adaptive_tree.md, 1 to 5 of hierarchical_tree.md.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dphist import AdaptiveTree, Axis, BinnedCounts, HierarchicalTree, LeafCounts, ParameterError
from dphist.lab.auditing.replay import loss_of_neighbours, record, replay

Counts = np.ndarray


def cut_off(bins: tuple[int, ...]) -> int:
    return (2**62 - 1) // math.prod(bins)


def histograms(bins: tuple[int, ...]) -> Iterator[Counts]:
    """Sparse counts with a few enormous ones; none at all; all beside the cut-off."""
    rng = np.random.default_rng(math.prod(bins))
    size = math.prod(bins)
    sparse = np.zeros(size, np.int64)
    some = rng.choice(size, size // 60, replace=False)
    sparse[some] = rng.geometric(0.01, len(some))
    sparse[[7, size // 3, size - 2]] = 10**9, 10**9 - 1, 7 * 10**10
    yield sparse.reshape(bins)
    yield np.zeros(bins, np.int64)
    yield np.full(bins, cut_off(bins) - 1)


def places(bins: tuple[int, ...]) -> list[int]:
    """Bins where a neighbour has one record more: enormous, beside such, empty, at the ends."""
    size = math.prod(bins)
    return [7, 8, size // 3, size // 2 + 1, 0, size - 1]


def with_more(counts: Counts, place: int, number: int = 1) -> Counts:
    more = counts.copy()
    more.flat[place] += number
    return more


def check(mechanism: Any, *, least: Fraction = Fraction(9, 10), few: bool = False) -> None:
    """Check that neighbours lose the budget at most, and that any data ask for the same."""
    m = mechanism.sensitivity
    data = list(histograms(mechanism.bins))
    for counts in data[: 1 if few else 2]:
        for place in places(mechanism.bins)[: 2 if few else None]:
            more = with_more(counts, place, m)
            epsilon, rho = loss_of_neighbours(mechanism.release, counts, more)
            spent = epsilon / mechanism.epsilon if mechanism.rho is None else rho / mechanism.rho
            assert least < spent <= 1
            assert (epsilon == 0) == (mechanism.epsilon is None)
            assert (rho == 0) == (mechanism.rho is None)
    transcript = record(mechanism.release, data[0])
    transcript.check_uses()
    for far in data[1:]:
        replay(transcript, mechanism.release, far)


SHAPES = [(4096,), (5000,), (2**14 + 1,), (64, 64), (300, 40), (16, 16, 17)]
KINDS = [
    {"epsilon": "1/1000"},
    {"epsilon": 1},
    {"epsilon": 64},
    {"epsilon": 1, "workload": "prefix"},
    {"rho": "1e-6"},
    {"rho": "1/2"},
    {"epsilon": "1/10", "workload": "prefix", "expected_total": 10_000},
    {"epsilon": "1/10", "expected_total": 0},
    {"rho": "1/200", "workload": "prefix", "expected_total": 1000},
]
# Each kind with two shapes, each shape with three kinds.
PAIRED = [(KINDS[i], SHAPES[(i + 3 * j) % 6]) for i in range(len(KINDS)) for j in range(2)]


# Each shape with some kinds of budget; all of them in the long run.
SOME = [
    *[((4096,), KINDS[k]) for k in (0, 1, 5)],
    *[((64, 64), KINDS[k]) for k in (1, 2, 4)],
    *[((5000,), KINDS[k]) for k in (3, 4)],
    ((2**14 + 1,), KINDS[0]),
    ((300, 40), KINDS[5]),
    ((4096,), KINDS[6]),
    ((5000,), KINDS[8]),
    ((64, 64), KINDS[7]),
    ((300, 40), KINDS[8]),
    ((16, 16, 17), KINDS[1]),
]


@pytest.mark.long(every=4)
@pytest.mark.quick(
    "(4096,)-{'epsilon': 1}",
    "(64, 64)-{'rho': '1e-6'}",
    "(4096,)-{'epsilon': '1/10', 'workload'",
)
@pytest.mark.parametrize(("bins", "kind"), SOME, ids=str)
def test_adaptive_trees(bins: tuple[int, ...], kind: dict[str, Any]) -> None:
    mechanism = AdaptiveTree(bins=bins, **kind)
    assert mechanism.shape.height >= 12
    check(mechanism, few=math.prod(bins) > 4096)


@pytest.mark.long(every=4)
@pytest.mark.parametrize(("kind", "bins"), PAIRED, ids=str)
def test_adaptive_trees_of_every_shape(bins: tuple[int, ...], kind: dict[str, Any]) -> None:
    check(AdaptiveTree(bins=bins, **kind))


@pytest.mark.long(every=2)
@pytest.mark.parametrize("bins", [(4096,), (64, 64)], ids=str)
@pytest.mark.parametrize("kind", [
    {"epsilon": "1/29999"}, {"epsilon": 100}, {"epsilon": 10**9},
    {"rho": "4e-16"}, {"rho": 10**9},
], ids=str)  # fmt: skip
@pytest.mark.quick("'epsilon': 100}-(64", "'4e-16'}-(64")
def test_adaptive_trees_at_the_ends(bins: tuple[int, ...], kind: dict[str, Any]) -> None:
    check(AdaptiveTree(bins=bins, **kind), few=True)


@pytest.mark.parametrize("make", [
    lambda **kw: AdaptiveTree(bins=4096, **kw),
    lambda **kw: HierarchicalTree(bins=4096, branching=2, **kw),
    lambda **kw: LeafCounts(bins=4096, **kw),
])  # fmt: skip
def test_the_smallest_are_those_that_are_replayed(make: Any) -> None:
    """Half of them is refused, and so is more than the largest."""
    kind = type(make(epsilon=1))
    smallest = {
        AdaptiveTree: {"epsilon": Fraction(1, 29999), "rho": Fraction("4e-16")},
        HierarchicalTree: {"epsilon": Fraction(13, 10**9), "rho": Fraction("13e-20")},
        LeafCounts: {"epsilon": Fraction(1, 10**9), "rho": Fraction("1e-20")},
    }[kind]  # type: ignore[index]
    for name, value in smallest.items():
        make(**{name: value})
        for refused in (value / 2, Fraction(10**9 + 1)):
            with pytest.raises(ParameterError, match=name):
                make(**{name: refused})


FIXED = [
    {"branching": 2},
    {"branching": 2, "root": False},
    {"branching": 7},
    {"branching": 16, "consistent": False},
    {"branching": 2, "nonnegative": "subtrees"},
]


@pytest.mark.parametrize("options", FIXED, ids=str)
@pytest.mark.parametrize("kind", [{"epsilon": 1}, {"rho": "1/2"}], ids=str)
@pytest.mark.quick(every=10)
def test_hierarchical_trees(kind: dict[str, Any], options: dict[str, Any]) -> None:
    check(HierarchicalTree(bins=4096, **kind, **options), few=True)


@pytest.mark.parametrize("kind", [
    {"epsilon": Fraction(13, 10**9)}, {"epsilon": 64}, {"epsilon": 10**9},
    {"rho": "13e-20"}, {"rho": 10**9},
], ids=str)  # fmt: skip
@pytest.mark.quick(every=5)
def test_hierarchical_trees_at_the_ends(kind: dict[str, Any]) -> None:
    check(HierarchicalTree(bins=4096, branching=2, **kind), few=True)


@pytest.mark.parametrize("bins", [(5000,), (64, 64), (300, 40)], ids=str)
@pytest.mark.quick(every=3)
def test_hierarchical_trees_of_other_shapes(bins: tuple[int, ...]) -> None:
    check(HierarchicalTree(epsilon=1, bins=bins, branching=2), few=True)
    check(HierarchicalTree(rho=1, bins=bins, branching=3), few=True)


@pytest.mark.long(every=2)
@pytest.mark.parametrize("kind", [
    {"epsilon": "1e-9"}, {"epsilon": 1}, {"epsilon": 64}, {"epsilon": 10**9},
    {"rho": "1e-20"}, {"rho": "1/2"}, {"rho": 10**9},
], ids=str)  # fmt: skip
@pytest.mark.quick("[{'epsilon': 1}]", "[{'rho': '1/2'}]", every=2)
def test_leaf_counts(kind: dict[str, Any]) -> None:
    check(LeafCounts(bins=(64, 64), **kind))
    check(LeafCounts(bins=5000, **kind))


@pytest.mark.quick("-2]", every=3)
@pytest.mark.parametrize("sensitivity", [2, 1000])
@pytest.mark.parametrize("make", [AdaptiveTree, HierarchicalTree, LeafCounts])
def test_several_records_of_one_unit(make: Any, sensitivity: int) -> None:
    """All of them in one bin, which costs the most under rho."""
    check(make(epsilon=1, bins=4096, sensitivity=sensitivity), few=True)
    check(make(rho=1, bins=(64, 64), sensitivity=sensitivity), few=True)
    spread = np.zeros(4096, np.int64)
    more = spread.copy()
    more[: 4 * sensitivity : 4][:sensitivity] = 1
    mechanism = make(epsilon=1, bins=4096, sensitivity=sensitivity)
    assert loss_of_neighbours(mechanism.release, spread, more)[0] <= 1


@pytest.mark.parametrize("make", [AdaptiveTree, HierarchicalTree, LeafCounts])
@pytest.mark.quick("[LeafCounts]")
def test_records_in_no_bin_cost_no_more(make: Any) -> None:
    """Counts beside the bins, enormous and none; a record is there or in a bin."""
    axis = Axis.from_edges(range(4097))
    counts = next(histograms((4096,)))

    def binned(below: int, above: int, null: int, counts: Counts = counts) -> BinnedCounts:
        return BinnedCounts(counts, (axis,), {"below": below, "above": above, "null": null})

    one = binned(10**9, 0, 3)
    for kind in ({"epsilon": 1}, {"rho": 1}):
        mechanism = make(bins=4096, **kind)
        for other in (
            binned(10**9 + 1, 0, 3),
            binned(10**9, 1, 3),
            binned(10**9, 0, 2),
            binned(10**9, 0, 3, with_more(counts, 7)),
        ):
            found = sum(loss_of_neighbours(mechanism.release, one, other))
            share = 1 if other.outside == one.outside else mechanism.outside_share
            assert Fraction(9, 10) * share < found <= share


@pytest.mark.parametrize("make", [AdaptiveTree, HierarchicalTree, LeafCounts])
@pytest.mark.quick(every=3)
def test_several_records_of_one_unit_in_bins_and_beside_them(make: Any) -> None:
    """All of them beside the bins, in one count or in several, or some of them in a bin."""
    axis, m = Axis.from_edges(range(17)), 3
    counts = np.arange(16)
    none = {"below": 7, "above": 0, "null": 3}
    added = [({"below": m}, 0), ({"null": m}, 0), ({"above": 1, "null": 1}, 1), ({"above": 1}, 2)]
    for kind in ({"epsilon": 1}, {"rho": 1}):
        mechanism = make(bins=16, sensitivity=m, **kind)
        one, found = BinnedCounts(counts, (axis,), none, m), []
        for beside, inside in added:
            outside = {name: count + beside.get(name, 0) for name, count in none.items()}
            other = BinnedCounts(with_more(counts, 7, inside), (axis,), outside, m)
            found.append(sum(loss_of_neighbours(mechanism.release, one, other)))
        share = mechanism.outside_share
        assert Fraction(9, 10) * share < found[0] == found[1] <= share
        assert max(found) <= 1


@pytest.mark.parametrize("make", [AdaptiveTree, HierarchicalTree, LeafCounts])
@pytest.mark.quick("[LeafCounts]")
def test_neighbours_at_the_cut_off_stay_neighbours(make: Any) -> None:
    """One below it, at it, above it: from there on counts are equal, never further apart."""
    bins = (4096,)
    full = np.full(bins, cut_off(bins) - 1)
    for kind in ({"epsilon": 1}, {"rho": 1}):
        release = make(bins=bins, **kind).release
        assert 0.9 < sum(loss_of_neighbours(release, full, with_more(full, 5))) <= 1
        assert sum(loss_of_neighbours(release, full + 1, with_more(full + 1, 5))) == 0
        assert sum(loss_of_neighbours(release, full, with_more(full, 5, 10**9))) <= 1


MORE_THAN = 2**22


@pytest.mark.long(every=2)
@pytest.mark.verify
@pytest.mark.parametrize("kind", [{"epsilon": "0.01"}, {"rho": 1}], ids=str)
@pytest.mark.parametrize("make", [LeafCounts, HierarchicalTree], ids=lambda make: make.__name__)
def test_calls_of_more_than_four_million_draws(make: Any, kind: dict[str, Any]) -> None:
    mechanism = make(bins=MORE_THAN + 5, **kind)
    counts = next(histograms(mechanism.bins))
    published: list[Any] = []

    def run(data: Counts) -> tuple[int, list[Any]]:
        release = mechanism.release(data)
        published.append(release.value.counts)
        same = np.array_equal(published[0], published[-1])
        return release.total, [same, *(sum(x.tolist()) for x in release.noisy.values())]

    found = loss_of_neighbours(run, counts, with_more(counts, 8))
    assert (
        found in ((mechanism.epsilon, 0), (0, mechanism.rho)) or Fraction(9, 10) < sum(found) <= 1
    )
    assert math.prod(mechanism.bins) > MORE_THAN


@pytest.mark.long(every=2)
@pytest.mark.parametrize(
    ("bins", "kind"),
    [
        ((2**18 + 1,), {"epsilon": 1}),
        ((512, 600), {"epsilon": "0.01"}),
        ((512, 600), {"rho": "0.01"}),
    ],
    ids=str,
)
def test_adaptive_trees_of_eighteen_levels(bins: tuple[int, ...], kind: dict[str, Any]) -> None:
    check(AdaptiveTree(bins=bins, **kind), few=True)
