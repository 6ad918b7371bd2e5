"""Answers of released histograms, against sums and covariances computed the long way."""

import itertools
import json
import math
import random

import numpy as np
import pytest

from dphist import (
    AdaptiveTree,
    HierarchicalTree,
    LeafCounts,
    ParameterError,
    Release,
    ReleaseFileError,
    UnsupportedError,
)
from dphist.ranges.leaf_counts import BinAnswers
from dphist.ranges.shape import TreeShape
from dphist.release.document import checksum
from dphist.release.range_histogram import RangeHistogram
from tests.support.ranges.boxes import all_boxes, ask, indicators

SHAPES = [(1,), (2,), (5,), (8,), (9,), (3, 4), (5, 2), (1, 6), (2, 3, 2)]


def counts_of(bins):
    return np.random.default_rng(3).integers(0, 9, bins)


@pytest.mark.parametrize("bins", SHAPES)
@pytest.mark.parametrize("kind", ["leaves", "tree", "fractions", "adaptive"])
def test_a_box_is_the_sum_of_its_bins(bins, kind):
    mechanism = {
        "leaves": LeafCounts(epsilon=1, bins=bins),
        "tree": HierarchicalTree(epsilon=1, bins=bins, branching=2),
        "fractions": HierarchicalTree(epsilon=1, bins=bins, branching=3, nonnegative=False),
        "adaptive": AdaptiveTree(epsilon=1, bins=bins),
    }[kind]
    h = mechanism.release(counts_of(bins)).value
    lo, hi = all_boxes(bins)
    expected = indicators(bins, lo, hi) @ h.counts.ravel()
    assert np.allclose(h.count(ask(lo), ask(hi)), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("bins", SHAPES)
@pytest.mark.parametrize("branching", [2, 3])
@pytest.mark.parametrize("root", [True, False])
def test_errors_of_least_squares_are_those_of_the_covariance(bins, branching, root):
    mechanism = HierarchicalTree(
        epsilon=0.5, bins=bins, branching=branching, root=root, nonnegative=False
    )
    rows = measurement_matrix(mechanism)
    variance = mechanism.budget.variance(mechanism.share)
    covariance = variance * np.linalg.inv(rows.T @ rows)
    h = mechanism.release(counts_of(bins)).value
    lo, hi = all_boxes(bins)
    boxes = indicators(bins, lo, hi)
    exact = np.sqrt(np.einsum("qi,ij,qj->q", boxes, covariance, boxes).clip(0))
    assert np.allclose(h.error(ask(lo), ask(hi)), exact, rtol=1e-9, atol=1e-6)
    assert np.allclose(h.answers.bin_errors().ravel(), np.sqrt(np.diag(covariance)), rtol=1e-9)


def measurement_matrix(mechanism):
    """(nodes, bins): which bins each measured node counts."""
    shape = mechanism.shape
    columns = []
    for place in range(math.prod(shape.bins)):
        bins = np.zeros(math.prod(shape.bins), np.int64)
        bins[place] = 1
        sums = shape.sums(bins.reshape(shape.bins))
        columns.append(np.concatenate([sums[level].ravel() for level in mechanism.measured]))
    return np.array(columns).T.astype(float)


@pytest.mark.quick(every=3)
@pytest.mark.parametrize("bins", SHAPES)
@pytest.mark.parametrize("root", [True, False])
def test_without_consistency_a_box_is_the_sum_of_its_largest_nodes(bins, root):
    mechanism = HierarchicalTree(epsilon=0.5, bins=bins, branching=2, root=root, consistent=False)
    release = mechanism.release(counts_of(bins))
    lo, hi = all_boxes(bins)
    count, error = release.value.count(ask(lo), ask(hi)), release.value.error(ask(lo), ask(hi))
    variance = mechanism.budget.variance(mechanism.share)
    for q, box in enumerate(zip(np.transpose(lo), np.transpose(hi), strict=True)):
        value, number = largest_nodes(mechanism, release.noisy, *box)
        assert count[q] == value
        assert error[q] == pytest.approx(math.sqrt(number * variance))


def largest_nodes(mechanism, noisy, lo, hi):
    """Go down from the root: take a node that lies in the box, else look at its children."""
    shape: TreeShape = mechanism.shape

    def visit(level, node):
        side = shape.side(level)
        first = np.array(node) * side
        stop = np.minimum(first + side, shape.bins)
        if (stop <= lo).any() or (first >= hi).any() or (lo >= hi).any():
            return 0, 0
        if (first >= lo).all() and (stop <= hi).all() and level in mechanism.measured:
            return int(noisy[f"level {level}"].reshape(shape.grid(level))[node]), 1
        grid = shape.grid(level + 1)
        below = [
            range(n * shape.branching, min((n + 1) * shape.branching, g))
            for n, g in zip(node, grid, strict=True)
        ]
        found = [visit(level + 1, child) for child in itertools.product(*below)]
        return sum(v for v, _ in found), sum(n for _, n in found)

    return visit(0, (0,) * len(shape.bins))


def test_the_query_of_theorem_4_gains_as_much_as_the_paper_says():
    """All bins but the first and the last: H- has at most 3/(2(l-1)(k-1)-k) of H~'s variance."""
    for branching, height in [(2, 3), (2, 8), (3, 4), (4, 3), (16, 3)]:
        n, levels = branching**height, height + 1
        settings = {"epsilon": 1, "bins": n, "branching": branching}
        fitted = HierarchicalTree(**settings, nonnegative=False).release(np.zeros(n, int)).value
        plain = HierarchicalTree(**settings, consistent=False).release(np.zeros(n, int)).value
        ratio = (fitted.error(1, n - 1) / plain.error(1, n - 1)) ** 2
        assert ratio <= 3 / (2 * (levels - 1) * (branching - 1) - branching)


@pytest.mark.verify
def test_a_million_ranges_are_counted_at_once_and_their_errors_known():
    rng = np.random.default_rng(0)
    lo, hi = np.sort(rng.integers(0, 4097, (2, 10**6)), axis=0)
    h = HierarchicalTree(epsilon=1, bins=4096).release(np.ones(4096, int)).value
    assert h.count(lo, hi).shape == h.error(lo, hi).shape == (10**6,)


@pytest.mark.parametrize(
    ("lo", "hi"),
    [(-1, 3), (3, 2), (0, 9), (0.0, 3.0), ("0", "3"), ([0, 1], [1, 2, 3]), (None, 3), (True, 3)],
)
def test_places_that_are_no_bins_are_refused(lo, hi):
    h = LeafCounts(epsilon=1, bins=8).release([1] * 8).value
    for ask_of in (h.count_bins, h.error_bins, h.interval_bins):
        with pytest.raises(ParameterError, match=r"lo and hi|^lo |^hi "):
            ask_of(lo, hi)


def test_scalars_give_numbers_and_arrays_arrays():
    h = LeafCounts(epsilon=1, bins=(4, 4)).release(np.ones((4, 4), int)).value
    assert isinstance(h.count((0, 0), (4, 4)), int)
    assert isinstance(h.error((0, 0), (4, 4)), float)
    assert h.count(([0, 1], 0), (4, [2, 3])).shape == (2,)
    assert h.count((np.zeros((2, 3), int), 0), (4, 4)).shape == (2, 3)
    low, high = h.interval((0, 0), (4, 4))
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert [end.shape for end in h.interval(([0, 1], 0), (4, [2, 3]))] == [(2,), (2,)]
    with pytest.raises(ParameterError, match="one entry"):
        h.count(0, 4)


@pytest.mark.parametrize("bins", [(9,), (3, 4)])
@pytest.mark.parametrize("settings", [{"nonnegative": False}, {"consistent": False}])
def test_intervals_of_a_tree_that_is_not_projected_are_errors_to_either_side_cut_at_0(
    bins, settings
):
    h = HierarchicalTree(epsilon=0.5, bins=bins, **settings).release(counts_of(bins)).value
    lo, hi = (ask(ends) for ends in all_boxes(bins))
    low, high = h.interval(lo, hi)
    count, width = h.count(lo, hi), 1.96 * h.error(lo, hi)
    assert np.allclose(high, count + width)
    # No true count is negative, so a bar ends at 0, or at the estimate if that is below.
    assert np.allclose(low, np.maximum(count - width, np.minimum(count, 0)))


@pytest.mark.verify
@pytest.mark.parametrize("bins", [(9,), (16,), (3, 5)])
@pytest.mark.parametrize("nonnegative", [True, "subtrees"])
def test_bars_of_a_projected_tree_are_about_the_fit_and_hold_the_answer(bins, nonnegative):
    settings = {"epsilon": 0.5, "bins": bins, "branching": 2}
    projected = HierarchicalTree(**settings, nonnegative=nonnegative)
    release = projected.release(counts_of(bins))
    plain = HierarchicalTree(**settings, nonnegative=False).decode(release.noisy)
    lo, hi = (ask(ends) for ends in all_boxes(bins))
    middle, noise = plain.count(lo, hi), 1.96 * plain.error(lo, hi)
    count = release.value.count(lo, hi)
    low, high = release.value.interval(lo, hi)
    some = noise > 0
    least = projected.budget.half_width()
    assert low == pytest.approx(some * np.minimum(middle - noise, count - least).clip(0), abs=1e-9)
    assert high == pytest.approx(some * np.maximum(middle + noise, count + least), abs=1e-9)
    error = release.value.error(lo, hi)
    assert 1.96 * error == pytest.approx(np.maximum(high - count, count - low), abs=1e-9)
    place = np.indices(bins).reshape(len(bins), -1)
    single = release.value.error(ask(list(place)), ask(list(place + 1)))
    assert release.value.answers.bin_errors().ravel() == pytest.approx(single)


def bin_covered(truth, value, width):
    occupied = truth > 0
    off = np.abs(value.counts - truth)[occupied]
    return float((off <= width[occupied] + 1e-9).mean())


@pytest.mark.parametrize("nonnegative", [True, "subtrees"])
@pytest.mark.quick(every=2)
def test_bars_of_a_projected_tree_hold_spikes_and_ranges(nonnegative):
    """Noise of empty neighbours is cut off at 0, and what is left of it is taken from a spike.

    Planted: the error of the estimate before it was made non-negative, which knows nothing of
    that. Two spikes miss it under the projection, ranges under the paper's heuristic.
    """
    truth = np.zeros(512, np.int64)
    truth[[77, 300]] = 3000
    mechanism = HierarchicalTree(epsilon=1, bins=512, nonnegative=nonnegative)
    plain = HierarchicalTree(epsilon=1, bins=512, nonnegative=False)
    lo, hi = (8 * ends for ends in np.triu_indices(65))
    queries = {
        "spikes": (np.array([77, 300]), np.array([78, 301])),
        "ranges": (lo[lo < hi], hi[lo < hi]),
    }
    sums = np.append(0, np.cumsum(truth))
    held, planted = {"spikes": [], "ranges": []}, {"spikes": [], "ranges": []}
    for run in range(60):
        release = mechanism.release(truth, source=random.Random(run).randbytes)
        before = plain.decode(release.noisy)
        for kind, (start, stop) in queries.items():
            true, count = sums[stop] - sums[start], release.value.count(start, stop)
            low, high = release.value.interval(start, stop)
            held[kind].append(((low <= true + 1e-9) & (true <= high + 1e-9)).mean())
            off = np.abs(count - true)
            width = 1.96 * release.value.error(start, stop)
            assert width == pytest.approx(np.maximum(high - count, count - low))
            planted[kind].append((off <= 1.96 * before.error(start, stop)).mean())
    assert min(np.mean(held["spikes"]), np.mean(held["ranges"])) >= 0.9
    assert min(np.mean(planted["spikes"]), np.mean(planted["ranges"])) < 0.75


def exact_histogram(bins):
    counts = np.array(bins)
    return RangeHistogram(counts, answers=BinAnswers(counts, 0.0))


def test_quantiles_are_places_within_bins():
    h = exact_histogram([0, 4, 0, 0, 6, 0])
    found = [each.value for each in h.quantile([0.1, 0.4, 0.5, 1])]
    assert found == pytest.approx([1.25, 2, 4 + 1 / 6, 5])
    assert tuple(h.quantile(0.4)) == (2, 1, 5)  # from there to the next record
    assert (h.median().low, h.median().high) == (4, 5)
    assert h.cdf() == pytest.approx([0, 0, 0.4, 0.4, 0.4, 1, 1])


def test_negative_bins_never_make_the_curve_fall():
    h = exact_histogram([5, -3, 4])
    assert (np.diff(h.cdf()) >= 0).all()
    assert h.cdf()[-1] == 1


def test_without_records_there_are_no_quantiles():
    h = exact_histogram([0, 0])
    assert not h.median().is_known
    assert (h.median().low, h.median().high) == (0, 2)
    assert np.isnan(h.cdf()).all()


@pytest.mark.parametrize("q", [-0.1, 1.1, float("nan"), [0.5, 2]])
def test_shares_that_are_none_are_refused(q):
    with pytest.raises(ParameterError, match="q must be"):
        exact_histogram([1, 2]).quantile(q)


def test_several_axes_have_no_quantiles():
    with pytest.raises(UnsupportedError, match="several axes"):
        exact_histogram([[1, 2], [3, 4]]).quantile(0.5)


@pytest.mark.parametrize(
    "mechanism",
    [
        LeafCounts(epsilon=1, bins=6),
        LeafCounts(rho=1, bins=(2, 3)),
        HierarchicalTree(epsilon="1/3", bins=6, branching=2),
        HierarchicalTree(epsilon=1, bins=(2, 3), nonnegative=False, root=False),
        HierarchicalTree(rho=0.1, bins=6, consistent=False, sensitivity=3),
        HierarchicalTree(epsilon=1, bins=6, nonnegative="subtrees"),
        AdaptiveTree(epsilon=1, bins=6),
        AdaptiveTree(rho=1, bins=(2, 3), sensitivity=2),
    ],
    ids=repr,
)
def test_a_release_comes_back_from_its_file(mechanism, tmp_path):
    release = mechanism.release(counts_of(mechanism.bins))
    release.save(tmp_path / "r.json")
    loaded = Release.load(tmp_path / "r.json")
    assert loaded == release
    assert loaded.value.counts.dtype == release.value.counts.dtype
    lo, hi = (ask(ends) for ends in all_boxes(mechanism.bins))
    assert (loaded.value.count(lo, hi) == release.value.count(lo, hi)).all()
    assert np.allclose(loaded.value.error(lo, hi), release.value.error(lo, hi), rtol=1e-12)
    assert np.array_equal(loaded.value.interval(lo, hi), release.value.interval(lo, hi))
    if not isinstance(mechanism, LeafCounts):
        again = loaded.redecode()
        assert (again.value.counts == release.value.counts).all()
        assert again.value.error(lo, hi) == pytest.approx(release.value.error(lo, hi))


def test_a_table_has_a_row_a_bin():
    table = LeafCounts(epsilon=1, bins=3).release([1, 2, 3]).value.to_pandas()
    assert list(table.columns) == ["start", "stop", "count", "error"]
    assert table["start"].tolist() == [0, 1, 2]
    table = AdaptiveTree(epsilon=1, bins=(2, 3)).release(np.ones((2, 3), int)).value.to_pandas()
    assert list(table.columns) == ["start_0", "stop_0", "start_1", "stop_1", "count", "error"]
    assert len(table) == 6


@pytest.mark.parametrize(
    ("mechanism", "damage"),
    [
        (AdaptiveTree(epsilon=1, bins=6), lambda c: c["noisy"].pop("units")),
        (AdaptiveTree(epsilon=1, bins=6), lambda c: c["noisy"]["nodes"].append(1)),
        (AdaptiveTree(epsilon=1, bins=6), lambda c: c["noisy"]["nodes"].__setitem__(0, 10**6)),
        (AdaptiveTree(epsilon=1, bins=6), lambda c: c["value"]["bins"].append(1)),
        (AdaptiveTree(epsilon=1, bins=6), lambda c: c["value"].update(bins=[0.5] * 5 + ["x"])),
        (AdaptiveTree(epsilon=1, bins=6), lambda c: c["value"].update(outside={"below": 1})),
        (AdaptiveTree(epsilon=1, bins=6), lambda c: c["value"].update(axes=[{"name": None}])),
        (LeafCounts(epsilon=1, bins=6), lambda c: c["guarantee"]["parameters"].update(epsilon="9")),
        (LeafCounts(epsilon=1, bins=6), lambda c: c["mechanism"]["parameters"].update(bins=[7])),
        (LeafCounts(epsilon=1, bins=6), lambda c: c.update(kind="anonymized")),
        (
            LeafCounts(epsilon=1, bins=6),
            lambda c: c.update(
                kind="anonymized", value={"counts": [2], "prevalences": [1]}
            ),
        ),
        (LeafCounts(epsilon=1, bins=6), lambda c: c.update(kind="pie chart")),
        (
            HierarchicalTree(epsilon=1, bins=6, branching=2),
            lambda c: c["noisy"].pop("level 1"),
        ),
        (
            HierarchicalTree(epsilon=1, bins=6, branching=2, nonnegative="subtrees"),
            lambda c: c["noisy"].pop("level 0"),
        ),
        (
            HierarchicalTree(epsilon=1, bins=6, branching=2, consistent=False),
            lambda c: c["noisy"].pop("level 1"),
        ),
        (
            HierarchicalTree(epsilon=1, bins=6, branching=2, consistent=False),
            lambda c: c["noisy"]["level 1"].append(3),
        ),
    ],
)  # fmt: skip
def test_a_file_that_holds_no_release_is_refused(mechanism, damage):
    """With a checksum that fits: what is damaged is what it says."""
    content = json.loads(mechanism.release(counts_of(mechanism.bins)).to_json())
    content.pop("checksum")
    damage(content)
    text = json.dumps({**content, "checksum": checksum(content)})
    with pytest.raises(ReleaseFileError):
        Release.from_json(text)
