"""The binary tree over several axes: an order of the bins, and which nodes exist."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dphist.ranges.adaptive_tree.dyadic import DyadicShape

SHAPES = st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple)


@settings(deadline=None, max_examples=60)
@given(SHAPES)
def test_every_bin_has_one_place(bins):
    shape = DyadicShape(bins)
    grid = np.arange(1, math.prod(bins) + 1).reshape(bins)
    flat = shape.arrange(grid)
    assert len(flat) == 2**shape.height < 2 ** len(bins) * math.prod(bins)
    assert sorted(flat[flat > 0].tolist()) == list(range(1, math.prod(bins) + 1))
    assert (shape.restore(flat) == grid).all()


@settings(deadline=None, max_examples=60)
@given(SHAPES)
@pytest.mark.verify
def test_a_node_is_a_box_cut_off_at_the_domain_and_its_size_the_bins_in_it(bins):
    shape = DyadicShape(bins)
    places = np.array(list(itertools.product(*map(range, bins))))
    for level, sizes in enumerate(shape.sizes()):
        nodes = shape.arrange(np.arange(1, math.prod(bins) + 1).reshape(bins)).reshape(2**level, -1)
        assert (sizes == (nodes > 0).sum(axis=1)).all()
        for node in nodes:
            held = places[node[node > 0] - 1]
            if len(held):
                spans = held.max(axis=0) - held.min(axis=0) + 1
                assert math.prod(spans.tolist()) == len(held)


def test_the_longest_axis_is_halved_first():
    assert DyadicShape((2, 8)).halved == [1, 1, 0, 1]
    assert DyadicShape((4, 4)).halved == [0, 1, 0, 1]
    assert DyadicShape((1, 4)).halved == [1, 1]


@pytest.mark.parametrize("bins", [(1,), (1, 1)])
def test_a_single_bin_is_its_own_root(bins):
    shape = DyadicShape(bins)
    assert shape.height == 0
    assert shape.arrange(np.full(bins, 7)).tolist() == [7]
