"""What the mechanisms release: with next to no noise the data, with noise the stated error."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dphist import (
    AdaptiveTree,
    Axis,
    BinnedCounts,
    BoundsError,
    HierarchicalTree,
    LeafCounts,
    ParameterError,
    PureDP,
    Release,
    UnsupportedError,
    bin_counts,
)
from dphist.privacy import ZCDP
from dphist.ranges.adaptive_tree import mechanism as adaptive_tree
from dphist.ranges.adaptive_tree.exploration import (
    FEW_MORE_AXES,
    FEW_PREFIXES,
    FEW_PREFIXES_GAUSSIAN,
    LEAST,
    MORE_AXES,
    MORE_AXES_GAUSSIAN,
    ONE_AXIS,
    ONE_AXIS_GAUSSIAN,
    PREFIXES,
)
from dphist.ranges.adaptive_tree.path_budget import UNITS
from dphist.ranges.hierarchical_tree.mechanism import best_branching

BINS = [(1,), (2,), (7,), (64,), (100,), (3, 5), (16, 16), (2, 3, 4)]


def data_of(bins, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 50, bins) * (rng.random(bins) < 0.6)


@pytest.mark.parametrize("bins", BINS)
@pytest.mark.parametrize(
    "make",
    [
        LeafCounts,
        HierarchicalTree,
        lambda **kw: HierarchicalTree(branching=3, root=False, **kw),
        lambda **kw: HierarchicalTree(branching=2, nonnegative=False, **kw),
        lambda **kw: HierarchicalTree(branching=2, nonnegative="subtrees", **kw),
        lambda **kw: HierarchicalTree(branching=2, consistent=False, **kw),
        AdaptiveTree,
    ],
)
@pytest.mark.parametrize("budget", [{"epsilon": 10**6}, {"rho": 10**8}])
@pytest.mark.quick(every=3)
def test_next_to_no_noise_gives_the_data_back(bins, make, budget):
    counts = data_of(bins)
    release = make(bins=bins, **budget).release(counts)
    assert np.allclose(release.value.counts, counts, atol=0.01)
    assert release.total == counts.sum()


@pytest.mark.parametrize("bins", BINS)
@pytest.mark.parametrize("make", [HierarchicalTree, AdaptiveTree])
def test_estimates_are_whole_and_not_negative(bins, make):
    h = make(epsilon=0.1, bins=bins).release(data_of(bins)).value
    assert h.counts.dtype == np.int64
    assert h.counts.shape == bins
    assert (h.counts >= 0).all()


@pytest.mark.parametrize("make", [LeafCounts, HierarchicalTree, AdaptiveTree])
def test_no_records_are_released_too(make):
    release = make(epsilon=1, bins=64).release(np.zeros(64, int))
    assert release.value.counts.shape == (64,)
    assert release.guarantee == PureDP(1)


@pytest.mark.long(every=2)
@pytest.mark.verify
@pytest.mark.usefixtures("repeatable")
@pytest.mark.parametrize("budget", [{"epsilon": 0.5}, {"rho": 0.05}])
@pytest.mark.parametrize("bins", [(100,), (12, 10)])
def test_unbiased_answers_are_off_by_their_standard_error(budget, bins):
    """400 releases of each: the mean of squares has a relative deviation of 7 %."""
    counts = data_of(bins)
    end = tuple(n - 2 for n in bins)
    lo, hi = (1, end[0]) if len(bins) == 1 else ((1, 1), end)
    exact = counts[tuple(slice(1, n) for n in end)].sum()
    for mechanism in (
        LeafCounts(bins=bins, **budget),
        HierarchicalTree(bins=bins, branching=3, nonnegative=False, **budget),
        HierarchicalTree(bins=bins, branching=3, consistent=False, root=False, **budget),
    ):
        values = [mechanism.release(counts).value for _ in range(400)]
        errors = np.array([h.count(lo, hi) - exact for h in values])
        claimed = values[0].error(lo, hi)
        assert 0.75 < np.sqrt(np.mean(errors**2)) / claimed < 1.25
        assert abs(errors.mean()) < 5 * claimed / 20


@pytest.mark.verify
@pytest.mark.usefixtures("repeatable")
def test_an_adaptive_tree_states_about_the_error_it_has():
    counts = np.rint(3000 * np.exp(-(((np.arange(512) - 200) / 60) ** 2))).astype(int)
    exact = np.append(0, np.cumsum(counts))
    rng = np.random.default_rng(0)
    lo, hi = np.sort(rng.integers(0, 513, (2, 500)), axis=0)
    ratios = []
    for _ in range(20):
        h = AdaptiveTree(epsilon=0.1, bins=512).release(counts).value
        off = h.count(lo, hi) - (exact[hi] - exact[lo])
        ratios.append(np.sqrt(np.mean(off**2.0) / np.mean(h.error(lo, hi) ** 2)))
    assert 0.5 < np.median(ratios) < 1.6


def test_shares_and_levels():
    tree = HierarchicalTree(epsilon=1, bins=4096, branching=16)
    assert (tree.levels, tree.share) == (4, Fraction(1, 4))
    tree = HierarchicalTree(rho=1, bins=4096, branching=16, root=False)
    assert (tree.levels, tree.share, tree.guarantee) == (3, Fraction(1, 3), ZCDP(1))
    assert HierarchicalTree(epsilon=1, bins=1, root=False).levels == 1


@pytest.mark.parametrize(
    ("bins", "gaussian", "expected"),
    [((4096,), False, 16), ((4096,), True, 4), ((256, 256), False, 4), ((8,), False, 8)],
)
def test_branching_by_what_is_public(bins, gaussian, expected):
    assert best_branching(bins, gaussian) == expected
    budget: dict[str, Any] = {"rho": 1} if gaussian else {"epsilon": 1}
    assert HierarchicalTree(bins=bins, **budget).branching == expected


@pytest.mark.parametrize("bins", [1, 2, 3, 10, 1000, 2**20, (1, 1), (2, 1000), (3, 3, 3)])
def test_some_branching_is_found_for_any_domain(bins):
    tree = HierarchicalTree(epsilon=1, bins=bins)
    assert 2 <= tree.branching <= 64


@pytest.mark.parametrize(
    "bad",
    [
        {"branching": 1},
        {"branching": "16"},
        {"root": 1},
        {"consistent": "yes"},
        {"nonnegative": "project"},
        {"consistent": False, "nonnegative": True},
        {"consistent": False, "nonnegative": "subtrees"},
    ],
)
def test_settings_that_are_none_are_refused(bad):
    with pytest.raises(ParameterError):
        HierarchicalTree(epsilon=1, bins=8, **bad)


def test_workloads_that_are_none_are_refused():
    with pytest.raises(ParameterError, match="workload"):
        AdaptiveTree(epsilon=1, bins=8, workload="boxes")  # type: ignore[arg-type]


@pytest.mark.parametrize("guess", [-1, 1.5, "1000", True, 2**63])
def test_guesses_that_are_none_are_refused(guess):
    with pytest.raises(ParameterError, match="expected_total"):
        AdaptiveTree(epsilon=1, bins=8, expected_total=guess)


@pytest.mark.parametrize(
    ("guess", "rules", "parameters"),
    [
        (None, PREFIXES, {"epsilon": "0.1", "bins": 4096, "workload": "prefix"}),
        (1900, PREFIXES, {"epsilon": "0.1", "bins": 4096, "workload": "prefix"}),
        (10_000, FEW_PREFIXES, {"epsilon": "0.1", "bins": 4096, "workload": "prefix"}),
        (20_000, ONE_AXIS, {"epsilon": "0.1", "bins": 4096}),
        (200_000, PREFIXES, {"epsilon": "0.1", "bins": 4096, "workload": "prefix"}),
        (100_000, FEW_PREFIXES, {"epsilon": "1/10", "bins": 4096, "workload": "prefix",
                                 "sensitivity": 10}),
        (0, FEW_PREFIXES_GAUSSIAN, {"rho": "0.0025", "bins": 4096, "workload": "prefix"}),
        (0, ONE_AXIS_GAUSSIAN, {"rho": "0.0025", "bins": 4096}),
        (30_000, ONE_AXIS_GAUSSIAN, {"rho": "0.0025", "bins": 4096, "workload": "prefix"}),
        (20_000, FEW_MORE_AXES, {"epsilon": "0.1", "bins": (64, 64)}),
        (200_000, MORE_AXES, {"epsilon": "0.1", "bins": (64, 64)}),
        (20_000, MORE_AXES_GAUSSIAN, {"rho": "0.0025", "bins": (64, 64)}),
        (10_000, FEW_PREFIXES, {"epsilon": "0.1", "bins": (1, 64), "workload": "prefix"}),
    ],
)  # fmt: skip
def test_rules_follow_from_the_guess_and_the_budget_of_a_record(guess, rules, parameters):
    assert AdaptiveTree(expected_total=guess, **parameters)._rules == rules


def test_a_guess_is_published_and_changes_no_guarantee(tmp_path):
    made = {guess: AdaptiveTree(epsilon=1, bins=8, expected_total=guess) for guess in (None, 0, 9)}
    assert len({str(tree.guarantee) for tree in made.values()}) == 1
    assert made[9] != made[None]
    release = made[9].release(np.arange(8))
    release.save(tmp_path / "r.json")
    assert Release.load(tmp_path / "r.json").mechanism.expected_total == 9
    assert "expected_total=9" in repr(made[9])


def test_from_a_table_to_quantiles_in_its_units():
    import pandas as pd

    days = pd.Series(pd.date_range("2024-01-01", periods=366, freq="D")).repeat(20)
    frame = pd.DataFrame({"day": [*days, pd.NaT, pd.Timestamp("1999-01-01")]})
    counts = bin_counts(frame, column="day", start="2024-01-01", stop="2025-01-01", width="1d")
    h = AdaptiveTree(epsilon=50, bins=counts.bins).release(counts).value
    assert h.outside == {"below": 1, "above": 0, "null": 1}
    assert h.median().value == np.datetime64("2024-07-02")
    table = h.to_pandas()
    assert table["start"][0] == pd.Timestamp("2024-01-01")
    assert table["count"].sum() == 366 * 20
    january = h.count("2024-01-01", "2024-02-01")
    assert january == 31 * 20


def test_the_heuristic_sets_subtrees_to_zero():
    rng = np.random.default_rng(0)
    counts = np.zeros(256, int)
    counts[:16] = rng.integers(50, 90, 16)
    plain = HierarchicalTree(epsilon=0.5, bins=256, branching=2, nonnegative=False)
    zeroed = HierarchicalTree(epsilon=0.5, bins=256, branching=2, nonnegative="subtrees")
    off = [
        np.mean([((m.release(counts).value.counts - counts) ** 2).mean() for _ in range(20)])
        for m in (zeroed, plain)
    ]
    assert off[0] < 0.5 * off[1]
    assert (zeroed.release(counts).value.counts >= 0).all()


def test_expected_errors_need_no_data_and_fall_with_epsilon():
    errors = [AdaptiveTree(epsilon=e, bins=256).expected_error(10_000) for e in (0.01, 0.1, 1)]
    assert errors[0] > errors[1] > errors[2] > 0
    assert math.isfinite(LeafCounts(epsilon=1, bins=(4, 4)).expected_error())
    with pytest.raises(ParameterError, match="total"):
        LeafCounts(epsilon=1, bins=4).expected_error(-1)


@pytest.mark.verify
def test_drawing(tmp_path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    for bins in [(1,), (100,), (5000,), (16, 16)]:
        ax = AdaptiveTree(epsilon=1, bins=bins).release(data_of(bins)).value.plot()
        ax.figure.savefig(tmp_path / "h.png")
        assert (tmp_path / "h.png").stat().st_size > 1000
        plt.close(ax.figure)
    with pytest.raises(UnsupportedError, match="two axes"):
        LeafCounts(epsilon=1, bins=(2, 2, 2)).release(data_of((2, 2, 2))).value.plot()


@pytest.mark.usefixtures("repeatable")
def test_ranges_of_the_heuristic_are_not_sums_of_bins_that_were_set_to_zero():
    """Zeros make sums of bins too large by thousands of records here; the fewest nodes do not."""
    counts = np.zeros(4096, int)
    counts[:50] = 2000
    tree = HierarchicalTree(epsilon=0.1, bins=4096, branching=2, nonnegative="subtrees")
    values = [tree.release(counts).value for _ in range(5)]
    true = counts[1:2049].sum()
    assert np.median([abs(h.count(1, 2049) - true) for h in values]) < 1500
    assert np.median([abs(h.counts[1:2049].sum() - true) for h in values]) > 2000


@pytest.mark.usefixtures("repeatable")
@pytest.mark.parametrize(
    "settings", [{"consistent": False}, {"nonnegative": "subtrees"}, {"nonnegative": False}]
)
def test_total_and_quantiles_are_those_of_the_answers(settings):
    counts = np.zeros(4096, int)
    counts[7] = 1000
    tree = HierarchicalTree(epsilon=1, bins=4096, branching=2, **settings)
    release = tree.release(counts)
    h = release.value
    assert release.total == round(h.count(0, 4096))
    assert abs(release.total - 1000) < 300
    assert h.cdf()[9:].min() > 0.3


def test_measured_counts_too_are_refused_beyond_the_bound():
    axis = Axis.from_edges([0, 1, 2, 3, 4])
    outside = {"below": 0, "above": 0, "null": 0}
    data = BinnedCounts(np.array([1, 2, 3, 4]), (axis,), outside, sensitivity=9)
    with pytest.raises(BoundsError, match="sensitivity=9"):
        HierarchicalTree(epsilon=1, bins=4).measure(data)
    HierarchicalTree(epsilon=1, bins=4, sensitivity=9).measure(data)


def test_axes_that_would_be_padded_beyond_memory_are_refused():
    HierarchicalTree(epsilon=1, bins=(9,) * 8)
    with pytest.raises(ParameterError, match="power of two"):
        AdaptiveTree(epsilon=1, bins=(9,) * 8)


def test_no_share_is_smaller_than_what_is_checked_to_be_sampled():
    """Over all rules, and all openings that they can come to."""
    few = (FEW_PREFIXES, FEW_PREFIXES_GAUSSIAN, FEW_MORE_AXES)
    for rules in (ONE_AXIS, PREFIXES, MORE_AXES, ONE_AXIS_GAUSSIAN, MORE_AXES_GAUSSIAN, *few):
        least = min(
            rules.opening(depth, below, LEAST)[1]
            for below in range(1, 29)
            for depth in range(1, below + 1)
        )
        assert Fraction(least, UNITS) >= adaptive_tree._SMALLEST_SHARE
