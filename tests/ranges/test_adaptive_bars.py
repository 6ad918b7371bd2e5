"""Error bars of the adaptive tree: against a dense fit, and against the truth, many times."""

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dphist import AdaptiveTree, Release
from dphist.ranges.adaptive_tree import answers
from dphist.ranges.adaptive_tree.inference import infer
from dphist.ranges.adaptive_tree.least_squares import path_variances
from dphist.ranges.adaptive_tree.path_budget import UNITS
from dphist.ranges.adaptive_tree.pooled_weights import Pools
from tests.support.ranges.boxes import all_boxes, ask, indicators

SHAPES = [(1,), (5,), (40,), (64,), (7, 9), (1, 40), (3, 4, 5)]


def counts_of(bins, seed=3):
    """Some bins with many records, so that some nodes are opened and others are not."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, bins) + 300 * (rng.random(bins) < 0.1)


def release_bins(bins, seed=0, **budget):
    mechanism = AdaptiveTree(bins=bins, **(budget or {"epsilon": "0.3"}))
    return mechanism.release(counts_of(bins), source=random.Random(seed).randbytes)


def measurements(release):
    """(counts, bins): which bins each noisy count is of; what was counted; precisions."""
    mechanism = release.mechanism
    shape = mechanism.shape
    places = shape.arrange(1 + np.arange(np.prod(shape.bins)).reshape(shape.bins))
    rows, found, precisions = [], [], []
    for level, nodes, units, counts in mechanism._batches(release.noisy):
        side = 2 ** (shape.height - level)
        for node, count in zip(nodes.tolist(), counts.tolist(), strict=True):
            row = np.zeros(np.prod(shape.bins))
            held = places[node * side : (node + 1) * side]
            row[held[held > 0] - 1] = 1
            rows.append(row)
            found.append(count)
            precisions.append(1 / mechanism.budget.variance(Fraction(units, UNITS)))
    return np.array(rows), np.array(found, float), np.array(precisions)


def dense_enclosure(release):
    """Inner and outer sums of every box, each a count and a variance, by matrices.

    Bins that are in the same counts cannot be told apart: each such group is an unknown.
    """
    rows, found, precisions = measurements(release)
    groups, which = np.unique(rows.T, axis=0, return_inverse=True)
    which = which.ravel()  # NumPy 2.0 gives it a second axis
    weighted = groups * precisions
    covariance = np.linalg.inv(weighted @ groups.T)
    estimate = covariance @ weighted @ found
    bins = release.mechanism.bins
    inside = indicators(bins, *all_boxes(bins))
    member = np.eye(len(groups))[which]  # (bins, groups)
    part = inside @ member
    inner, outer = (part == member.sum(axis=0)).astype(float), (part > 0).astype(float)
    return [
        (chosen @ estimate, np.einsum("qi,ij,qj->q", chosen, covariance, chosen))
        for chosen in (inner, outer)
    ]


@pytest.fixture
def unpooled(monkeypatch):
    """Least squares as it is, without what makes first counts weigh alike."""
    monkeypatch.setattr(answers, "compute_pools", lambda fit, noisy: Pools([], [], []))


def full_boxes(bins):
    """Every box that is not empty."""
    lo, hi = all_boxes(bins)
    some = np.flatnonzero(np.all([low < high for low, high in zip(lo, hi, strict=True)], axis=0))
    return some, [low[some] for low in lo], [high[some] for high in hi]


@pytest.mark.parametrize("bins", SHAPES)
@pytest.mark.parametrize("budget", [{"epsilon": "0.3"}, {"epsilon": "2"}, {"rho": "0.05"}])
@pytest.mark.usefixtures("unpooled")
@pytest.mark.quick(every=4)
def test_what_encloses_a_box_is_the_least_squares_fit_of_all_counts(bins, budget):
    release = release_bins(bins, **budget)
    some, lo, hi = full_boxes(bins)
    found = release.value.answers._enclosing.enclose(lo, hi)
    dense = dense_enclosure(release)
    for sums, (count, variance) in zip((found.inner, found.outer), dense, strict=True):
        assert sums.count == pytest.approx(count[some], rel=1e-6, abs=1e-6)
        assert sums.variance == pytest.approx(variance[some], rel=1e-6, abs=1e-6)


def test_the_shapes_have_nodes_that_were_opened_and_others_that_were_not():
    opened = set()
    for bins in SHAPES[2:6]:
        fit = release_bins(bins).value.answers._enclosing.fit
        opened |= {bool(flag) for halving in fit.halvings for flag in halving.opened}
        assert fit.deepest >= 4
    assert opened == {True, False}


@pytest.mark.verify
@pytest.mark.parametrize("bins", SHAPES)
@pytest.mark.usefixtures("unpooled")
def test_bars_reach_from_the_inner_to_the_outer_sum_and_round_the_estimate(bins):
    release = release_bins(bins)
    h, least = release.value, release.mechanism.budget.half_width()
    lo, hi = all_boxes(bins)
    some = full_boxes(bins)[0]
    (inner, v_inner), (outer, v_outer) = dense_enclosure(release)
    count = h.count(ask(lo), ask(hi))
    start = np.minimum(inner - 1.96 * np.sqrt(v_inner), count - least)
    stop = np.maximum(outer + 1.96 * np.sqrt(v_outer), count + least)
    low, high = h.interval(ask(lo), ask(hi))
    assert low[some] == pytest.approx(np.maximum(start, 0)[some], rel=1e-6, abs=1e-6)
    assert high[some] == pytest.approx(stop[some], rel=1e-6, abs=1e-6)
    empty = np.setdiff1d(np.arange(len(lo[0])), some)
    assert (low[empty] == 0).all()
    assert (high[empty] == 0).all()
    error = h.error(ask(lo), ask(hi))
    assert 1.96 * error == pytest.approx(np.maximum(high - count, count - low))


@pytest.mark.parametrize("bins", SHAPES)
def test_errors_of_single_bins_are_the_same_in_one_go(bins):
    h = release_bins(bins).value
    place = np.indices(bins).reshape(len(bins), -1)
    single = h.error(ask(list(place)), ask(list(place + 1)))
    assert h.answers.bin_errors().ravel() == pytest.approx(single)


# Weights of first counts. A sum is linear in the noisy counts once it is known which were taken.


def enclosing(release, counts):
    """Sums of the same counted nodes, with other counts of them."""
    noisy = {**release.noisy, "counts": counts}
    return release.mechanism.answers(release.value.counts, noisy)._enclosing


def coefficients(release, lo, hi, which=None):
    """(counts, 2 sums, boxes): by how much noisy counts move the inner and the outer sums."""

    def sums(counts):
        found = enclosing(release, counts).enclose(lo, hi)
        return np.stack([found.inner.count, found.outer.count])

    counts = release.noisy["counts"]
    base, step = sums(counts), 1000
    each = np.eye(len(counts), dtype=np.int64)
    moved = [
        sums(counts + step * one) - base for one in each[slice(None) if which is None else which]
    ]
    return np.array(moved) / step


GRIDS = [((7, 9), {"epsilon": "2"}), ((20, 24), {"epsilon": "0.3"}), ((16, 16), {"rho": "0.05"})]


@pytest.mark.quick("bins0", "bins2", every=2)
@pytest.mark.parametrize(("bins", "budget"), GRIDS)
def test_variances_are_those_of_the_weights_that_sums_give_to_counts(bins, budget):
    release = release_bins(bins, **budget)
    lo, hi = some_boxes(bins, 30)
    lo, hi = (
        [np.append(0, low) for low in lo],
        [np.append(b, h) for b, h in zip(bins, hi, strict=True)],
    )
    weights = coefficients(release, lo, hi)
    variances = 1 / measurements(release)[2]
    found = release.value.answers._enclosing.enclose(lo, hi)
    expected = np.einsum("csq,c->sq", weights**2, variances)
    assert found.inner.variance == pytest.approx(expected[0], rel=1e-6, abs=1e-6)
    assert found.outer.variance == pytest.approx(expected[1], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("bins", "budget"), GRIDS)
def test_sums_are_right_where_no_count_has_noise(bins, budget):
    """Whatever the weights are, they add up to 1 over each counted node."""
    release = release_bins(bins, **budget)
    rows = measurements(release)[0]
    true = counts_of(bins).ravel()
    exact = np.rint(rows @ true).astype(np.int64)
    lo, hi = some_boxes(bins)
    found = enclosing(release, exact).enclose(lo, hi)
    groups, which = np.unique(rows.T, axis=0, return_inverse=True)
    which = which.ravel()  # NumPy 2.0 gives it a second axis
    part = indicators(bins, lo, hi) @ np.eye(len(groups))[which]
    held = np.bincount(which, true)
    full = np.bincount(which)
    assert found.inner.count == pytest.approx((part == full) @ held, abs=1e-6)
    assert found.outer.count == pytest.approx((part > 0) @ held, abs=1e-6)


def first_look(release):
    """Which noisy counts are of the first level that was counted."""
    nodes = release.mechanism._batches(release.noisy)[0][1]
    return np.arange(len(release.noisy["counts"])) < len(nodes)


def borderline():
    """Every node of the first look has about as many records as it takes to be opened."""
    return np.random.default_rng(0).multinomial(300, np.full(32 * 32, 1 / 32**2)).reshape(32, 32)


def first_weights():
    """What the counts of the first look weigh in the sum of all bins."""
    truth = borderline()
    mechanism = AdaptiveTree(bins=truth.shape, epsilon=1)
    release = mechanism.release(truth, source=random.Random(1).randbytes)
    whole = [np.array([0]) for _ in truth.shape], [np.array([size]) for size in truth.shape]
    return coefficients(release, *whole, first_look(release))[:, 1, 0]


def test_first_counts_weigh_alike_in_the_whole():
    """However many more counts were taken below a node, or of it."""
    weights = first_weights()
    assert len(weights) == 32
    assert np.ptp(weights) < 1e-6


@pytest.mark.usefixtures("unpooled")
def test_by_least_squares_alone_they_do_not():
    assert np.ptp(first_weights()) > 0.5


def total_in_errors(truth, runs):
    """How many of its standard errors the sum of all bins is off, in each of many releases."""
    mechanism = AdaptiveTree(epsilon=1, bins=truth.shape)
    whole = [np.array([0]) for _ in truth.shape], [np.array([size]) for size in truth.shape]
    off = []
    for run in range(runs):
        value = mechanism.release(truth, source=random.Random(run).randbytes).value
        found = value.answers._enclosing.enclose(*whole).outer
        off.append((found.count[0] - truth.sum()) / np.sqrt(found.variance[0]))
    return np.array(off)


def test_what_a_count_decides_does_not_move_the_sum():
    """Standard error of the mean over 60 releases: 0.13."""
    assert abs(total_in_errors(borderline(), 60).mean()) < 0.5


@pytest.mark.verify
@pytest.mark.usefixtures("unpooled")
def test_by_least_squares_alone_it_does():
    assert total_in_errors(borderline(), 60).mean() > 0.6


@pytest.mark.parametrize("bins", [(300,), (20, 20)])
def test_the_floor_holds_for_every_box_that_is_not_empty(bins):
    """Records are none at all: by the prior nothing would be left to doubt."""
    mechanism = AdaptiveTree(epsilon="0.2", bins=bins)
    h = mechanism.release(np.zeros(bins, int), source=random.Random(1).randbytes).value
    least = mechanism.budget.half_width()
    assert least == 15
    rng = np.random.default_rng(0)
    ends = np.sort(rng.integers(0, np.array(bins)[:, None, None] + 1, (len(bins), 2, 300)), axis=1)
    lo, hi = list(ends[:, 0]), list(ends[:, 1])
    full = np.all([low < high for low, high in zip(lo, hi, strict=True)], axis=0)
    error = h.error(ask(lo), ask(hi))
    assert (1.96 * error[full] >= least - 1e-9).all()
    assert (error[~full] == 0).all()


def test_a_sum_of_counted_nodes_has_the_noise_of_their_counts_and_no_more():
    """The whole, and every box that cuts no node: the bar is as long as its noise is wide."""
    release = release_bins((64,), epsilon="2")
    (inner, v_inner), (outer, v_outer) = dense_enclosure(release)
    lo, hi = all_boxes((64,))
    low, high = release.value.interval(lo[0], hi[0])
    count = release.value.count(lo[0], hi[0])
    width = 1.96 * np.sqrt(v_outer)
    aligned = (v_inner == v_outer) & (inner > width) & (np.abs(count - outer) < width)
    aligned &= width >= release.mechanism.budget.half_width() + np.abs(count - outer)
    assert aligned[(lo[0] == 0) & (hi[0] == 64)].all()
    assert aligned.sum() > 100
    assert (high - low)[aligned] == pytest.approx(2 * width[aligned], rel=1e-6)


def test_bars_follow_from_what_is_released_alone(tmp_path):
    """Read again they are the same, and so are those of what `noisy` is decoded to."""
    for bins in ((300,), (20, 30)):
        release = release_bins(bins)
        release.save(tmp_path / "r.json")
        loaded = Release.load(tmp_path / "r.json")
        decoded = release.mechanism.decode(release.noisy)
        lo, hi = (ask(ends) for ends in some_boxes(bins))
        for again in (loaded.value, decoded):
            assert np.array_equal(again.interval(lo, hi), release.value.interval(lo, hi))
            assert np.array_equal(again.error(lo, hi), release.value.error(lo, hi))
            assert np.array_equal(again.answers.bin_errors(), release.value.answers.bin_errors())


def some_boxes(bins, queries=400, seed=0):
    rng = np.random.default_rng(seed)
    corners = rng.integers(0, np.array(bins)[:, None], (2, len(bins), queries))
    return list(corners.min(axis=0)), list(corners.max(axis=0) + 1)


@pytest.mark.verify
def test_many_ranges_and_few_have_the_same_variances():
    """Edges are gone through one by one where there are more of them than ranges."""
    line = release_bins((300,)).value.answers._enclosing
    ends = np.unique(line._start)  # of nodes that were opened or stopped, and so no cut of any
    lo, hi = (ends[places] for places in np.triu_indices(len(ends)))
    many = path_variances(line.fit, np.tile(lo, 50), np.tile(hi, 50))[: len(lo)]
    few = [path_variances(line.fit, lo[i : i + 3], hi[i : i + 3]) for i in range(0, 90, 3)]
    assert len(lo) > 90
    assert np.concatenate(few) == pytest.approx(many[:90])


@pytest.mark.verify
def test_parts_of_many_boxes_make_no_difference(monkeypatch):
    release = release_bins((20, 30))
    lo, hi = (ask(ends) for ends in some_boxes((20, 30)))
    whole = release.value.interval(lo, hi)
    monkeypatch.setattr(answers, "_AT_ONCE", 1)
    again = release.mechanism.decode(release.noisy).interval(lo, hi)
    assert np.array_equal(whole, again)


@pytest.mark.verify
@settings(max_examples=40, deadline=None)
@given(
    bins=st.one_of(st.tuples(st.integers(1, 90)), st.tuples(*[st.integers(1, 12)] * 2)),
    seed=st.integers(0, 10**6),
)
def test_without_noise_every_bar_holds_the_truth(bins, seed):
    """At an enormous epsilon the sums of nodes are exact, and they enclose every box."""
    counts = counts_of(bins, seed)
    h = AdaptiveTree(epsilon=500, bins=bins).release(counts).value
    lo, hi = (ask(ends) for ends in some_boxes(bins, seed=seed))
    true = indicators(bins, *some_boxes(bins, seed=seed)) @ counts.ravel()
    low, high = h.interval(lo, hi)
    assert (low <= true + 1e-3).all()
    assert (true <= high + 1e-3).all()


# Against the truth. One shape is smooth; in the others some nodes hold all records in one bin.


def spikes(bins, number, each):
    counts = np.zeros(bins, np.int64)
    counts.ravel()[np.random.default_rng(5).choice(counts.size, number, replace=False)] = each
    return counts


TRUTHS = {
    "spikes": spikes((256,), 12, 40),
    "comb": np.where(np.arange(256) % 16 == 5, 60, 0),
    "slope": np.arange(256) // 8,
    "spikes on a grid": spikes((32, 32), 20, 40),
    "rows": np.where(np.arange(32)[:, None] % 8 == 3, 4, 0) * np.ones((1, 32), np.int64),
    "corner": np.add.outer(np.arange(32), np.arange(32)) // 12,
}
RUNS = 25


def interval_of(release, lo, hi):
    return release.value.interval(ask(lo), ask(hi))


def error_of(release, lo, hi):
    count, error = release.value.count(ask(lo), ask(hi)), release.value.error(ask(lo), ask(hi))
    return count - 1.96 * error, count + 1.96 * error


def by_the_prior(release, lo, hi):
    """As bars once were: the variance that the prior leaves to every split, and the total's."""
    mechanism = release.mechanism
    shape, measured = mechanism.shape, mechanism._read_measured(release.noisy)
    fit, root = infer(measured), release.value.answers._enclosing.fit.variances[0][0]
    spreads = list(fit.spreads)
    counts, roughness = fit.counts[-1], fit.roughness[-1]
    while len(spreads) < shape.height:  # below all counts: even splits, as rough as above
        spreads.append(roughness * counts**2)
        counts, roughness = np.repeat(counts, 2) / 2, np.repeat(roughness, 2)
    estimate = shape.arrange(release.value.counts).astype(float)
    variances = []
    for box in indicators(mechanism.bins, lo, hi):
        part, whole, variance = shape.arrange(box.reshape(mechanism.bins)) * estimate, estimate, 0.0
        slope = shape.arrange(box.reshape(mechanism.bins))
        for spread in reversed(spreads):
            variance += ((slope[::2] - slope[1::2]) ** 2 * spread).sum()
            part, whole = part.reshape(-1, 2).sum(axis=1), whole.reshape(-1, 2).sum(axis=1)
            even = slope.reshape(-1, 2).mean(axis=1)
            slope = np.divide(part, whole, out=even, where=whole > 0)
        variances.append(variance + slope[0] ** 2 * root)
    count = release.value.count(ask(lo), ask(hi))
    width = 1.96 * np.sqrt(variances)
    return count - width, count + width


def by_noise_alone(release, lo, hi):
    """Planted: what lies within a counted node is taken to be known."""
    found = release.value.answers._enclosing.enclose(lo, hi)
    count = release.value.count(ask(lo), ask(hi))
    width = 1.96 * np.sqrt(found.outer.variance)
    return count - width, count + width


def coverage(truth, bars, runs=RUNS, **budget):
    """The share of random boxes, of prefixes, and of bins with a record that a bar holds."""
    bins = truth.shape
    boxes = some_boxes(bins, 60)
    places = list(np.argwhere(truth > 0).T)
    kinds = {
        "boxes": boxes,
        "prefixes": ([0 * end for end in boxes[1]], boxes[1]),
        "occupied": (places, [place + 1 for place in places]),
    }
    held = {kind: [] for kind in kinds}
    for run in range(runs):
        mechanism = AdaptiveTree(bins=bins, **(budget or {"epsilon": "0.3"}))
        release = mechanism.release(truth, source=random.Random(run).randbytes)
        for kind, (lo, hi) in kinds.items():
            true = indicators(bins, lo, hi) @ truth.ravel()
            low, high = bars(release, lo, hi)
            held[kind].append(((low <= true + 1e-6) & (true <= high + 1e-6)).mean())
    return {kind: float(np.mean(shares)) for kind, shares in held.items()}


@pytest.mark.long(every=6)
@pytest.mark.quick("epsilon-interval_of-spikes]", "rho-error_of-slope]", every=2)
@pytest.mark.parametrize("name", TRUTHS)
@pytest.mark.parametrize("bars", [interval_of, error_of])
@pytest.mark.parametrize("budget", [{"epsilon": "0.3"}, {"rho": "0.05"}], ids=["epsilon", "rho"])
def test_bars_hold_the_truth(name, bars, budget):
    """Said 95 %; 25 runs of one shape leave a few percent to chance, as queries err together."""
    assert min(coverage(TRUTHS[name], bars, **budget).values()) >= 0.9


@pytest.mark.verify
@pytest.mark.parametrize("planted", [by_the_prior, by_noise_alone])
def test_planted_bars_are_caught(planted):
    """Each fails on some shape in one axis and in two."""
    for shapes in (["spikes", "comb"], ["spikes on a grid", "rows"]):
        found = [min(coverage(TRUTHS[name], planted, runs=8).values()) for name in shapes]
        assert min(found) < 0.75
