"""Tree shapes: the nodes by definition, sums of children and families."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given

from dphist.errors import ParameterError
from dphist.ranges.consistency import spread
from dphist.ranges.nonnegative import families, from_families
from dphist.ranges.shape import TreeShape
from tests.support.ranges.boxes import (
    Bins,
    branchings,
    node_matrices,
    sizes,
    without_ragged_families,
)


def some_counts(bins: Bins, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 50, bins)


def sums_are_right(shape: TreeShape) -> bool:
    counts = some_counts(shape.bins)
    expected = [rows @ counts.ravel() for rows in node_matrices(shape.bins, shape.branching)]
    found = shape.sums(counts)
    return len(found) == len(expected) and all(
        np.array_equal(level.ravel(), sums) for level, sums in zip(found, expected, strict=True)
    )


@given(sizes, branchings)
def test_sums_are_those_of_the_boxes(bins: Bins, branching: int) -> None:
    shape = TreeShape(bins, branching)
    assert sums_are_right(shape)
    sums = shape.sums(some_counts(bins))
    assert [level.shape for level in sums] == [shape.grid(level) for level in shape.levels]
    assert all(level.dtype == np.int64 for level in sums)


@pytest.mark.parametrize("bins", [(5,), (7,), (3, 4)])
def test_a_child_forgotten_at_a_ragged_edge_is_caught(bins: Bins, monkeypatch) -> None:
    shape = TreeShape(bins, 2)
    monkeypatch.setattr(TreeShape, "sum_children", without_ragged_families)
    assert sums_are_right(TreeShape((8,), 2))
    assert not sums_are_right(shape)


@given(sizes, branchings)
def test_one_record_changes_one_node_a_level_by_one(bins: Bins, branching: int) -> None:
    shape = TreeShape(bins, branching)
    counts = some_counts(bins)
    more = counts.copy()
    more[tuple(size - 1 for size in bins)] += 1
    for before, after in zip(shape.sums(counts), shape.sums(more), strict=True):
        assert np.abs(after - before).sum() == 1


@given(sizes, branchings)
def test_spread_gives_each_child_its_parents_value(bins: Bins, branching: int) -> None:
    shape = TreeShape(bins, branching)
    matrices = node_matrices(bins, branching)
    for level in shape.levels[1:]:
        parents = np.arange(len(matrices[level - 1]))
        # A child's bins all lie in its parent.
        parent_of_bin = parents @ matrices[level - 1]
        first_bins = matrices[level].argmax(axis=1)
        found = spread(shape, parents.reshape(shape.grid(level - 1)), level)
        assert np.array_equal(found.ravel(), parent_of_bin[first_bins])


@given(sizes, branchings)
def test_families_hold_the_children_of_each_node(bins: Bins, branching: int) -> None:
    shape = TreeShape(bins, branching)
    for level in shape.levels[1:]:
        names = np.arange(math.prod(shape.grid(level))).reshape(shape.grid(level))
        rows = families(shape, names, fill=-1)
        parents = np.arange(len(rows)).reshape(shape.grid(level - 1))
        of = spread(shape, parents, level).ravel()
        for parent, row in enumerate(rows):
            assert sorted(row[row >= 0]) == np.flatnonzero(of == parent).tolist()
        assert np.array_equal(from_families(shape, rows, level), names)
        assert rows.size <= 2 ** len(bins) * names.size


@pytest.mark.parametrize(
    ("bins", "branching"),
    [((), 2), ([4], 2), ((0,), 2), ((4.0,), 2), ((4,), 1), ((4,), True), ((2**31, 2**31), 2)],
)
def test_bad_shapes_are_refused(bins, branching) -> None:
    with pytest.raises(ParameterError, match=r"bins|branching"):
        TreeShape(bins, branching)


def test_bad_arguments_are_refused() -> None:
    shape = TreeShape((6,), 2)
    with pytest.raises(ParameterError, match="grid"):
        shape.sums(np.zeros(8, np.int64))
    with pytest.raises(ParameterError, match="grid"):
        spread(shape, np.zeros(6), 3)


def test_a_million_bins_take_no_loop_over_nodes(lines_run) -> None:
    shape = TreeShape((2**20,), 2)
    counts = some_counts(shape.bins)
    assert lines_run(lambda: shape.sums(counts)) < 1_000


def test_memory_follows_the_grid_when_an_axis_is_shorter_than_the_branching() -> None:
    shape = TreeShape((20_000, 3, 2), 1000)
    bins = np.ones(shape.bins)
    tracemalloc.start()
    spread(shape, shape.sum_children(bins), shape.height)
    from_families(shape, families(shape, bins, fill=0), shape.height)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * bins.nbytes
