"""Consistent trees: a general least-squares solver, the paper's example and its heuristic."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dphist.errors import ParameterError
from dphist.ranges import consistency
from dphist.ranges.consistency import (
    Estimates,
    consistent,
    spread,
    subtree_estimates,
    zero_subtrees,
)
from dphist.ranges.shape import TreeShape
from tests.support.ranges.boxes import (
    Bins,
    branchings,
    node_matrices,
    noisy_levels,
    sizes,
    without_ragged_families,
)

PAPER = [np.array([13]), np.array([3, 11]), np.array([4, 1, 12, 1])]
RAGGED = [(1,), (2,), (5,), (7,), (9,), (11,), (16,), (17,), (2, 3), (4, 4), (5, 3), (1, 6), (7, 5)]


def differs_from_least_squares(
    shape: TreeShape, noisy: list[np.ndarray], weights: list[float]
) -> float:
    """Largest difference of a node from the solution of a general solver."""
    matrices = node_matrices(shape.bins, shape.branching)
    roots = np.sqrt(weights)
    design = np.concatenate([root * rows for root, rows in zip(roots, matrices, strict=True)])
    target = np.concatenate(
        [root * level.ravel() for root, level in zip(roots, noisy, strict=True)]
    )
    solution = np.linalg.lstsq(design, target, rcond=None)[0]
    fit = consistent(shape, noisy, weights)
    assert [level.shape for level in fit] == [shape.grid(level) for level in shape.levels]
    pairs = zip(matrices, fit, strict=True)
    return max(float(np.abs(rows @ solution - level.ravel()).max()) for rows, level in pairs)


def test_the_papers_example() -> None:
    fit = consistent(TreeShape((4,), 2), PAPER, [1, 1, 1])
    expected = [[14], [3, 11], [3, 0, 11, 0]]
    for level, values in zip(fit, expected, strict=True):
        np.testing.assert_allclose(level, values, atol=1e-12)


@pytest.mark.quick(every=3)
@pytest.mark.parametrize("branching", [2, 3, 4])
@pytest.mark.parametrize("bins", RAGGED)
@pytest.mark.parametrize("root", [1.0, 0.0])
def test_equals_a_general_solver(bins: Bins, branching: int, root: float) -> None:
    shape = TreeShape(bins, branching)
    for seed in range(3):
        weights = [root] * (shape.height > 0) + [1.0] * max(shape.height, 1)
        assert differs_from_least_squares(shape, noisy_levels(shape, seed), weights) < 1e-9


@settings(deadline=None, max_examples=60)
@given(sizes, branchings, st.integers(0, 999))
def test_equals_a_general_solver_for_any_weights(bins: Bins, branching: int, seed: int) -> None:
    shape = TreeShape(bins, branching)
    rng = np.random.default_rng(seed)
    weights = [*rng.choice([0.0, 0.1, 1.0, 5.0], shape.height).tolist(), 0.5]
    assert differs_from_least_squares(shape, noisy_levels(shape, seed), weights) < 1e-9


def spread_equally(shape: TreeShape, estimates: Estimates) -> list[np.ndarray]:
    fit = [estimates.values[0]]
    for level in shape.levels[1:]:
        children = shape.sum_children(np.ones(shape.grid(level)))
        excess = (fit[-1] - shape.sum_children(estimates.values[level])) / children
        fit.append(estimates.values[level] + spread(shape, excess, level))
    return fit


@pytest.mark.parametrize("bins", [(5,), (7,), (3, 4)])
def test_planted_bugs_are_caught(bins: Bins, monkeypatch) -> None:
    shape, full = TreeShape(bins, 2), TreeShape((8,), 2)
    weights = [1.0] * (shape.height + 1)
    noisy = noisy_levels(shape, 0)
    with monkeypatch.context() as patch:
        # Right in full trees, where the paper's formula divides by k; wrong at ragged ends.
        patch.setattr(consistency, "_spread_downwards", spread_equally)
        assert differs_from_least_squares(full, noisy_levels(full, 0), [1.0] * 4) < 1e-9
        assert differs_from_least_squares(shape, noisy, weights) > 0.01
    with monkeypatch.context() as patch, np.errstate(all="ignore"):
        patch.setattr(TreeShape, "sum_children", without_ragged_families)
        assert not differs_from_least_squares(shape, noisy, weights) < 0.01


@given(sizes, branchings, st.integers(0, 99))
def test_parents_are_the_sums_of_their_children(bins: Bins, branching: int, seed: int) -> None:
    shape = TreeShape(bins, branching)
    fit = consistent(shape, noisy_levels(shape, seed), [1.0] * (shape.height + 1))
    for level in shape.levels[1:]:
        np.testing.assert_allclose(shape.sum_children(fit[level]), fit[level - 1], atol=1e-9)


@given(sizes, branchings)
def test_without_noise_nothing_changes(bins: Bins, branching: int) -> None:
    shape = TreeShape(bins, branching)
    totals = shape.sums(np.random.default_rng(0).integers(0, 50, bins))
    fit = consistent(shape, totals, [0.3] * (shape.height + 1))
    for level, exact in zip(fit, totals, strict=True):
        np.testing.assert_allclose(level, exact, atol=1e-9)


def test_variances_are_those_of_the_estimates() -> None:
    shape = TreeShape((7,), 3)
    weights = [0.5, 2.0, 1.0]
    zeros = [np.zeros(shape.grid(level)) for level in shape.levels]
    variances = subtree_estimates(shape, zeros, weights).variances
    # The variance of a linear estimate is the sum of its squared coefficients' variances.
    found = np.zeros(1)
    for level in shape.levels:
        for node in range(zeros[level].size):
            unit = [np.array(array) for array in zeros]
            unit[level][node] = 1
            found += subtree_estimates(shape, unit, weights).values[0] ** 2 / weights[level]
    np.testing.assert_allclose(variances[0], found)


def test_levels_that_are_not_measured_are_not_read() -> None:
    shape = TreeShape((6,), 2)
    noisy = noisy_levels(shape, 0)
    expected = consistent(shape, noisy, [0, 1, 0, 1])
    found = consistent(shape, [np.array(np.nan), noisy[1], np.zeros(0), noisy[3]], [0, 1, 0, 1])
    for level, values in zip(found, expected, strict=True):
        assert np.array_equal(level, values)


def test_subtrees_below_a_zero_are_zero() -> None:
    shape = TreeShape((4,), 2)
    values = [np.array([4.0]), np.array([0.0, 4.0]), np.array([3.0, -3.0, 5.0, -1.0])]
    found = [level.tolist() for level in zero_subtrees(shape, values)]
    assert found == [[4], [0, 4], [0, 0, 5, 0]]
    assert [level.tolist() for level in values] == [[4], [0, 4], [3, -3, 5, -1]]


@given(sizes, branchings, st.integers(0, 99))
def test_zero_subtrees_by_definition(bins: Bins, branching: int, seed: int) -> None:
    shape = TreeShape(bins, branching)
    values = [level.astype(float) for level in noisy_levels(shape, seed)]
    matrices = node_matrices(bins, branching)
    dead = np.zeros(matrices[-1].shape[1], bool)
    for level, found in enumerate(zero_subtrees(shape, values)):
        rows, flat = matrices[level], values[level].ravel()
        dead = dead | (rows[flat <= 0].sum(axis=0) > 0)
        gone = np.array([dead[row > 0].all() for row in rows])
        assert np.array_equal(found.ravel(), np.where(gone, 0, flat))


@pytest.mark.parametrize(
    "weights", [[1, 1], [1, 1, 0], [1, -1, 1], [1, float("nan"), 1], [1, float("inf"), 1]]
)
def test_bad_weights_are_refused(weights: list[float]) -> None:
    with pytest.raises(ParameterError, match="weights"):
        consistent(TreeShape((4,), 2), PAPER, weights)


def test_bad_levels_are_refused() -> None:
    shape = TreeShape((4,), 2)
    for noisy in (PAPER[1:], [PAPER[0], PAPER[0], PAPER[2]]):
        with pytest.raises(ParameterError, match="noisy"):
            consistent(shape, noisy, [1, 1, 1])
