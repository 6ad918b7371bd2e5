"""Counts that are none negative and whole: a certificate of optimality, and kept sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dphist.ranges.consistency import consistent, subtree_estimates
from dphist.ranges.nonnegative import (
    nonnegative,
    project_children,
    whole_bins,
    whole_intervals,
    whole_nodes,
)
from dphist.ranges.shape import TreeShape
from tests.support.ranges.boxes import Bins, branchings, node_matrices, noisy_levels, sizes

seeds = st.integers(0, 999)


def is_projection(
    found: np.ndarray, parent: float, children: np.ndarray, variances: np.ndarray
) -> bool:
    """Karush, Kuhn and Tucker: necessary and sufficient, since the problem is convex.

    Where `found` is positive, all move by the same multiple of their variances; where it
    is zero, that multiple would not have made it positive.
    """
    moves = (found - children) / variances
    positive = found > 1e-9
    multiple = moves[positive].mean() if positive.any() else moves.min()
    return bool(
        np.all(found >= 0)
        and abs(found.sum() - parent) < 1e-8
        and np.all(np.abs(moves[positive] - multiple) < 1e-8)
        and np.all(moves[~positive] > multiple - 1e-8)
    )


def one_family(values: list[float]) -> tuple[TreeShape, np.ndarray]:
    return TreeShape((len(values),), max(len(values), 2)), np.array(values)


@pytest.mark.verify
@given(sizes, branchings, seeds, st.booleans())
def test_each_family_is_projected(bins: Bins, branching: int, seed: int, weighted: bool) -> None:
    shape = TreeShape(bins, branching)
    rng = np.random.default_rng(seed)
    for level in shape.levels[1:]:
        parents = rng.integers(0, 30, shape.grid(level - 1)).astype(float)
        children = rng.integers(-20, 20, shape.grid(level)) / 4
        variances = rng.choice([0.25, 1.0, 3.0], shape.grid(level)) if weighted else None
        found = project_children(shape, level, parents, children, variances)
        # Each in turn, picked out by the boxes and not by the code under test.
        matrices = node_matrices(bins, branching)
        inside = matrices[level] @ matrices[level - 1].T > 0
        each = np.ones(children.size) if variances is None else variances.ravel()
        for parent, total in enumerate(parents.ravel()):
            some = inside[:, parent]
            family = found.ravel()[some], total, children.ravel()[some], each[some]
            assert is_projection(*family)


def test_small_examples() -> None:
    shape, children = one_family([5.0, 1.0, -3.0])
    parents = np.array([4.0])
    assert project_children(shape, 1, parents, children).tolist() == [4, 0, 0]
    assert project_children(shape, 1, np.array([10.0]), children).tolist() == [7, 3, 0]
    variances = np.array([1.0, 3.0, 1.0])
    weighted = project_children(shape, 1, np.array([10.0]), children, variances)
    np.testing.assert_allclose(weighted, [6, 4, 0], atol=1e-12)
    assert project_children(shape, 1, np.array([0.0]), children).tolist() == [0, 0, 0]


def test_planted_bugs_are_caught() -> None:
    children, parent = np.array([5.0, 1.0, -3.0]), 4.0
    clipped = np.maximum(children, 0)
    one, other = np.ones(3), np.array([1.0, 3.0, 1.0])
    assert not is_projection(clipped * parent / clipped.sum(), parent, children, one)
    moved = np.maximum(children + (parent - children.sum()) / 3, 0)
    assert not is_projection(moved, parent, children, one)
    # Equal weights where the children's variances differ.
    assert is_projection(np.array([7.0, 3.0, 0.0]), 10, children, one)
    assert not is_projection(np.array([7.0, 3.0, 0.0]), 10, children, other)
    # The right sum, but a child that deserves a share left out.
    assert not is_projection(np.array([10.0, 0.0, 0.0]), 10, children, one)


@given(sizes, branchings, seeds)
def test_trees_are_not_negative_and_add_up(bins: Bins, branching: int, seed: int) -> None:
    shape = TreeShape(bins, branching)
    estimates = subtree_estimates(shape, noisy_levels(shape, seed), [1.0] * (shape.height + 1))
    for variances in (None, estimates.variances):
        kept = nonnegative(shape, estimates.values, variances)
        assert kept[0] == np.maximum(estimates.values[0], 0)
        for level in shape.levels[1:]:
            assert np.all(kept[level] >= 0)
            np.testing.assert_allclose(shape.sum_children(kept[level]), kept[level - 1], atol=1e-9)


@given(sizes, branchings, seeds)
def test_consistent_estimates_give_the_same(bins: Bins, branching: int, seed: int) -> None:
    shape = TreeShape(bins, branching)
    noisy, weights = noisy_levels(shape, seed), [1.0] * (shape.height + 1)
    estimates = subtree_estimates(shape, noisy, weights)
    expected = nonnegative(shape, estimates.values, estimates.variances)
    found = nonnegative(shape, consistent(shape, noisy, weights), estimates.variances)
    for level, values in zip(found, expected, strict=True):
        np.testing.assert_allclose(level, values, atol=1e-9)


@given(sizes, branchings, seeds)
def test_exact_totals_are_left_alone(bins: Bins, branching: int, seed: int) -> None:
    shape = TreeShape(bins, branching)
    totals = shape.sums(np.random.default_rng(seed).integers(0, 9, bins))
    kept = nonnegative(shape, [level.astype(float) for level in totals])
    for level, exact in zip(kept, totals, strict=True):
        np.testing.assert_allclose(level, exact, atol=1e-9)
    assert np.array_equal(whole_bins(shape, kept[-1]), totals[-1])


def test_far_estimates_still_sum_to_a_small_parent() -> None:
    shape, children = one_family([1e12, 1e12 - 1, -1e12])
    found = project_children(shape, 1, np.array([2.0]), children)
    assert found.tolist() == [1.5, 0.5, 0]


def some_bins(bins: Bins, seed: int) -> np.ndarray:
    """Sparse, with many halves: what rounding each bin alone does worst on."""
    rng = np.random.default_rng(seed)
    values = rng.choice([0, 0, 0.25, 0.5, 0.5, 1, 2.5, 1 / 3, 17.1], bins)
    return np.where(rng.random(bins) < 0.5, values, 0.5)


def farthest_interval(whole: np.ndarray, values: np.ndarray) -> float:
    ends = np.concatenate([[0], np.cumsum(whole - values)])
    return float(np.abs(ends[:, None] - ends).max())


@given(st.integers(1, 60), seeds)
def test_intervals_stay_within_one(bins: int, seed: int) -> None:
    values = some_bins((bins,), seed)
    whole = whole_intervals(values)
    assert whole.dtype == np.int64
    assert np.all(whole >= 0)
    assert farthest_interval(whole, values) < 1 + 1e-9


def test_rounding_each_bin_alone_is_caught() -> None:
    values = np.full(9, 0.4)
    assert farthest_interval(np.rint(values), values) > 3
    assert whole_intervals(values).sum() == 4


def nodes_within_one(shape: TreeShape, whole: np.ndarray, values: np.ndarray) -> bool:
    pairs = zip(shape.sums(whole), shape.sums(values), strict=True)
    return all(bool(np.all(np.abs(node - sums) < 1)) for node, sums in pairs)


@given(sizes, branchings, seeds)
def test_every_node_stays_within_one(bins: Bins, branching: int, seed: int) -> None:
    shape = TreeShape(bins, branching)
    values = some_bins(bins, seed)
    whole = whole_nodes(shape, values)
    assert whole.dtype == np.int64
    assert np.all(whole >= 0)
    assert np.array_equal(whole, whole_nodes(shape, values))
    assert nodes_within_one(shape, whole, values)
    assert np.array_equal(whole, whole_bins(shape, values)) or len(bins) == 1


def test_largest_remainders_of_the_bins_alone_are_caught() -> None:
    shape, values = TreeShape((2, 4), 2), np.array([[0.6, 0.6, 0.5, 0.5], [0.6, 0.6, 0.0, 0.0]])
    assert nodes_within_one(shape, whole_nodes(shape, values), values)
    assert not nodes_within_one(shape, (values > 0.5).astype(np.int64), values)
    assert not nodes_within_one(shape, np.rint(values).astype(np.int64), values)


def test_remainders_go_to_the_largest_then_to_the_first() -> None:
    shape = TreeShape((1, 4), 4)
    assert whole_nodes(shape, np.array([[0.3, 1.7, 0.3, 0.7]])).tolist() == [[0, 2, 0, 1]]
    assert whole_nodes(shape, np.array([[0.5, 1.5, 0.5, 0.5]])).tolist() == [[1, 2, 0, 0]]


@given(st.integers(1, 50), seeds)
def test_float_sums_never_take_a_node_more_than_one_away(size: int, seed: int) -> None:
    # Sums of tenths miss whole numbers by rounding: up or down must still be one of both.
    shape = TreeShape((size, 2), 2)
    values = np.random.default_rng(seed).integers(0, 30, (size, 2)) / 10
    assert nodes_within_one(shape, whole_nodes(shape, values), values)


def test_large_whole_bins_are_exact() -> None:
    values = np.array([2.0**52, 0.5, 3.0, 2.0**52 - 8])
    assert whole_intervals(values).tolist() == [2**52, 1, 3, 2**52 - 8]


@pytest.mark.parametrize("branching", [2, 16])
@pytest.mark.quick("[16]")
def test_a_million_bins_take_no_loop_over_nodes(branching: int, lines_run) -> None:
    shape = TreeShape((2**20,), branching)
    noisy = noisy_levels(shape, 0)

    def estimate() -> None:
        estimates = subtree_estimates(shape, noisy, [1.0] * (shape.height + 1))
        whole_bins(shape, nonnegative(shape, *estimates)[-1])

    assert lines_run(estimate) < 20_000
