"""The experiment of Hay et al. (2010) with ranges, and their Theorem 4 (iv)."""

import pytest
from benchmarks.hay2010 import ranges as hay2010_ranges
from benchmarks.hay2010.errors import ratio
from benchmarks.ranges import by_size, theorem4
from benchmarks.ranges.data import Shape

from tests.support.benchmarks.shapes import real_shapes


@pytest.mark.long(every=2)
@pytest.mark.verify
@pytest.mark.parametrize("tree", [(2, 3), (2, 8), (3, 4), (5, 3)])
def test_the_range_of_the_theorem(tree, monkeypatch) -> None:
    monkeypatch.setattr(theorem4, "MOST_RUNS", 1000)
    one = theorem4.advantage(*tree)
    branching, levels = tree
    assert one.nodes == 2 * (levels - 1) * (branching - 1) - branching
    assert one.passes == pytest.approx(one.solved)
    assert one.passes < 3
    assert one.nodes / one.passes > one.factor
    assert abs(one.simulated.value - one.nodes / one.passes) < 6 * one.simulated.standard_error


def named(name: str) -> Shape:
    return next(shape for shape in real_shapes() if shape.name == name)


@pytest.mark.verify
@pytest.mark.parametrize("name", ["NETTRACE", "SEARCHLOGS"])
def test_errors_by_size(name) -> None:
    """Section 5.2: H- is below H~ everywhere, and below L~ for long ranges alone."""
    for epsilon in hay2010_ranges.EPSILONS:
        mine = by_size.errors_by_size(named(name), epsilon, 10)
        sizes = by_size.sizes_of(4096)
        for place, size in enumerate(sizes):
            for better in ("fitted", "zeroed", "projected"):
                assert ratio(mine["nodes"][:, place], mine[better][:, place]).value > 1.3
            over = ratio(mine["leaves"][:, place], mine["fitted"][:, place]).value
            assert over < 1 if size <= 128 else size < 1024 or over > 1
        # Nothing is gained where ranges are sums of bins that are never negative.
        assert mine["added"][:, -1].mean() > 10 * mine["nodes"][:, -1].mean()
        assert mine["cut leaves"][:, -1].mean() > 10 * mine["nodes"][:, -1].mean()


@pytest.mark.verify
def test_single_bins_of_sparse_data() -> None:
    """There H- is below L~ only if projected: the paper's heuristic does not reach it."""
    wide = by_size.widened(named("NETTRACE"), 65_536)
    assert wide.counts.sum() == named("NETTRACE").counts.sum()
    mine = by_size.errors_by_size(wide, "0.1", 5)
    single = {name: one[:, 0].mean() for name, one in mine.items()}
    assert single["projected"] < 0.5 * single["leaves"]
    assert single["zeroed"] < 0.05 * single["fitted"]
    means = {name: one.mean(axis=0) for name, one in mine.items()}
    assert (means["zeroed"] < means["leaves"])[6:].all()  # from 64 bins on
