"""The published mechanisms that ours is compared with, against what their papers state."""

import itertools
import math

import numpy as np
import pytest

from dphist.ranges.comparing.published import dawa, hb, mwem, priv_tree

NONE = 1e15  # an epsilon of practically no noise


def made_up(*shape: int, seed: int = 0, most: int = 50) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, most, shape)


MECHANISMS = [hb.hb, dawa.dawa, mwem.mwem, priv_tree.priv_tree]


@pytest.mark.parametrize("bins", [(256,), (16, 16)])
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: one.__name__)
def test_estimates_follow_from_the_seed(mechanism, bins) -> None:
    counts = made_up(*bins)
    found = [mechanism(counts, 0.5, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert found[0].shape == bins
    assert (found[0] == found[1]).all()
    assert (found[0] != found[2]).any()


@pytest.mark.parametrize("bins", [(256,), (16, 16)])
@pytest.mark.parametrize("mechanism", [hb.hb, dawa.dawa, priv_tree.priv_tree])
def test_without_noise_the_counts_come_back(mechanism, bins) -> None:
    counts = made_up(*bins)
    assert mechanism(counts, NONE, np.random.default_rng(1)) == pytest.approx(counts, abs=1e-6)


# HB.


def nodes_of(lo: int, hi: int, branching: int, height: int) -> int:
    """Return the minimum number of nodes of a complete tree that make up bins lo, ..., hi - 1.

    The root is not among them: a range of all bins is the sum of its children.
    """
    found = 0
    for _ in range(height - 1):
        up, down = -(-lo // branching), hi // branching
        if up >= down:
            break
        found += up * branching - lo + hi - down * branching
        lo, hi = up, down
    return found + hi - lo


def every_range(bins: int) -> list[tuple[int, int]]:
    return list(itertools.combinations(range(bins + 1), 2))


@pytest.mark.parametrize(("branching", "height"), [(2, 8), (4, 4), (16, 2), (7, 3)])
def test_the_variance_of_hb_is_that_of_the_nodes_of_all_ranges(branching, height) -> None:
    """Eq. 3, which leaves out terms that vanish with the number of bins."""
    counted = [nodes_of(lo, hi, branching, height) for lo, hi in every_range(branching**height)]
    found = height**2 * float(np.mean(counted))
    assert hb.mean_variance(branching, height) == pytest.approx(found, rel=0.04)


def test_nodes_of_ranges() -> None:
    assert [nodes_of(lo, hi, 2, 3) for lo, hi in [(0, 8), (0, 1), (1, 7), (2, 4), (0, 7)]] == [
        2, 1, 4, 1, 3
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("bins", "branching"), [((256,), 16), ((1024,), 32), ((4096,), 16), ((2**16,), 16)]
)
def test_the_branching_of_hb(bins, branching) -> None:
    """About 16 for all usual numbers of bins, as the paper concludes; 32 where two levels do."""
    assert hb.choose_branching(bins) == branching


# DAWA.


def deviation(bins: np.ndarray) -> float:
    return float(np.abs(bins - bins.mean()).sum())


@pytest.mark.parametrize("most", [2, 5, 10**6])
def test_deviations_of_all_windows(most) -> None:
    counts = made_up(37, most=most)
    lo, hi = np.array(every_range(37)).T
    expected = [deviation(counts[a:b]) for a, b in zip(lo, hi, strict=True)]
    assert dawa.Deviations(counts).of(lo, hi) == pytest.approx(expected, abs=1e-6)


def partitions(bins: int, sizes: set[int]) -> list[list[int]]:
    """The edges of all partitions into buckets of these sizes."""
    if bins == 0:
        return [[0]]
    return [
        [*edges, bins] for size in sizes if size <= bins for edges in partitions(bins - size, sizes)
    ]


@pytest.mark.parametrize("seed", range(8))
def test_the_partition_of_dawa_costs_the_least(seed) -> None:
    """Against all partitions into buckets of 1, 2, 4 and 8 bins."""
    counts = np.repeat(made_up(4, seed=seed), 3)[:11] + made_up(11, seed=seed, most=3)
    second = (0.05, 0.3, 2.0)[seed % 3]

    def cost(edges: list[int]) -> float:
        return sum(deviation(counts[a:b]) + 1 / second for a, b in itertools.pairwise(edges))

    costs = dawa.bucket_costs(counts, NONE, second, np.random.default_rng(seed))
    found = dawa.cheapest(costs).tolist()
    assert cost(found) == pytest.approx(min(map(cost, partitions(11, {1, 2, 4, 8}))))


def test_a_record_moves_the_cost_of_a_bucket_by_less_than_the_noise_allows() -> None:
    """2 (1 - 1 / length) at most, as the scale of the noise assumes up to 1 / bins."""
    for counts in itertools.product(range(4), repeat=4):
        for place in range(4):
            more = np.array(counts)
            more[place] += 1
            moved = abs(deviation(more) - deviation(np.array(counts)))
            assert moved <= 2 * (1 - 1 / 4) + 1e-12


def test_what_queries_ask_of_buckets() -> None:
    edges = np.array([0, 1, 4, 6, 7, 12, 13, 14, 16])
    spread = (
        np.repeat(np.eye(8), np.diff(edges), axis=0)
        / np.repeat(np.diff(edges), np.diff(edges))[:, None]
    )
    matrix = np.array([spread[lo:hi].sum(axis=0) for lo, hi in every_range(16)])
    weights = np.random.default_rng(0).random((2, 4))
    found = dawa.compute_gram(edges).squares(weights)
    for node, part in enumerate((slice(0, 4), slice(4, 8))):
        assert found[node] == pytest.approx(np.square(matrix[:, part] @ weights[node]).sum())


@pytest.mark.parametrize("buckets", [1, 2, 5, 16])
def test_the_weights_of_a_path_add_up_to_one(buckets) -> None:
    weights = dawa.weights_for(dawa.compute_gram(np.arange(buckets + 1)), buckets)
    leaves = len(weights[-1])
    path = np.sum([np.repeat(level, leaves // len(level)) for level in weights], axis=0)
    assert path[:buckets] == pytest.approx(1)


def strategy(weights: list[np.ndarray], buckets: int) -> np.ndarray:
    """A row a node, over the buckets that exist."""
    leaves = len(weights[-1])
    rows = []
    for level in weights:
        for node, weight in enumerate(level):
            row = np.zeros(leaves)
            row[node * leaves // len(level) : (node + 1) * leaves // len(level)] = weight
            rows.append(row[:buckets])
    return np.array([row for row in rows if row.any()])


@pytest.mark.parametrize("buckets", [2, 5, 8])
def test_estimates_of_buckets_are_least_squares(buckets) -> None:
    """Noise is drawn from the leaves to the root; a dense solver gets the same numbers."""
    weights = dawa.weights_for(dawa.compute_gram(np.arange(buckets + 1)), buckets)
    sums = made_up(buckets).astype(float)
    found = dawa.estimate(sums, weights, 0.5, np.random.default_rng(3))
    generator, leaves = np.random.default_rng(3), len(weights[-1])
    noise = [generator.laplace(size=len(level)) for level in weights[::-1]][::-1]
    rows, noisy = [], []
    for level, drawn in zip(weights, noise, strict=True):
        width = leaves // len(level)
        for node, weight in enumerate(level):
            row = np.zeros(leaves)
            row[node * width : (node + 1) * width] = weight
            if row[:buckets].any():
                rows.append(row[:buckets])
                noisy.append(row[:buckets] @ sums + drawn[node] / 0.5)
    solved = np.linalg.lstsq(np.array(rows), np.array(noisy))[0]
    assert found == pytest.approx(solved)


def test_greedy_weights_beat_equal_levels_and_bins_alone() -> None:
    """What the second step is for: less error on its workload than either (Sec. 4.2)."""
    bins = 128
    place = np.arange(bins)
    after = bins - np.maximum.outer(place, place)
    before = np.minimum.outer(place, place) + 1.0
    gram = before * after

    def error(weights: list[np.ndarray]) -> float:
        rows = strategy(weights, bins)
        return float(np.trace(gram @ np.linalg.inv(rows.T @ rows)))

    equal = [np.full(2**level, 1 / 8) for level in range(8)]
    alone = [np.zeros(2**level) for level in range(7)] + [np.ones(bins)]
    greedy = dawa.weights_for(dawa.compute_gram(np.arange(bins + 1)), bins)
    assert error(greedy) < 0.9 * min(error(equal), error(alone))


@pytest.mark.parametrize("side", [1, 2, 8, 32])
def test_a_hilbert_curve_visits_all_cells_step_by_step(side) -> None:
    order = dawa.hilbert_curve(side)
    assert sorted(order.tolist()) == list(range(side * side))
    row, column = np.divmod(order, side)
    assert (np.abs(np.diff(row)) + np.abs(np.diff(column)) == 1).all()


# MWEM.


def error_bound(total: float, bins: int, queries: int, epsilon: float, rounds: int) -> float:
    """Return the bound of Theorem 2.2 on the largest error of the mean over rounds.

    It holds with probability at least 1 - 2 rounds / queries.
    """
    return (
        2 * total * math.sqrt(math.log(bins) / rounds) + 10 * rounds * math.log(queries) / epsilon
    )


@pytest.mark.parametrize("seed", range(5))
def test_mwem_errs_by_no_more_than_its_bound(seed) -> None:
    """Theorem 2.2, for the mean over rounds; it may fail in 2 rounds of 1,000."""
    counts = made_up(64, seed=seed) * (made_up(64, seed=seed + 1, most=4) == 0)
    lo, hi = (np.array(ends) for ends in zip(*every_range(64), strict=True))
    queries = mwem.Queries([lo], [hi])
    total, epsilon, rounds = int(counts.sum()), 1.0, 10
    generator = np.random.default_rng(seed)
    found = np.mean(mwem.histories(counts, total, queries, epsilon, rounds, generator), axis=0)
    assert found.sum() == pytest.approx(total)
    errors = np.append(0, np.cumsum(found - counts))
    worst = np.abs(errors[hi] - errors[lo]).max()
    assert worst <= error_bound(total, 64, len(lo), epsilon, rounds)


def test_an_update_of_mwem_comes_nearer_by_what_the_proof_says() -> None:
    """The relative entropy falls by (error / 2n)² - (noise / 2n)² at least (the proof of 2.2)."""
    generator = np.random.default_rng(0)
    for _ in range(200):
        truth = generator.dirichlet(np.full(32, 0.3)) * 100
        before = generator.dirichlet(np.ones(32)) * 100
        lo, hi = sorted(generator.choice(33, 2, replace=False).tolist())
        box = (slice(lo, hi),)
        noise = generator.normal(0, 3)
        after = before.copy()
        after *= mwem.update(after, 1.0, box, truth[box].sum() + noise, 100)
        assert after.sum() == pytest.approx(100)
        fallen = float((truth / 100 * np.log(after / before)).sum())
        error = truth[box].sum() - before[box].sum()
        assert fallen >= (error / 200) ** 2 - (noise / 200) ** 2 - 1e-12


def test_mwem_asks_what_it_is_judged_by() -> None:
    line, grid = mwem.make_queries((64,)), mwem.make_queries((8, 8))
    assert (len(line.lo), len(grid.lo)) == (1, 2)
    assert (line.lo[0][:64] == 0).all()
    assert line.hi[0][:64].tolist() == list(range(1, 65))
    assert [mwem.rounds_for(1, strength) for strength in (0, 1, 100, 10**9)] == [2, 2, 4, 140]


# PrivTree.


def test_the_parameters_of_priv_tree() -> None:
    """Of two halves and of four quarters: 3 / epsilon and 7 / (3 epsilon), times ln 2 and ln 4."""
    assert priv_tree.noise_scale(2, 0.5) == pytest.approx(6)
    assert priv_tree.noise_scale(4, 1) == pytest.approx(7 / 3)
    assert priv_tree.penalty(4, 1) == pytest.approx(7 / 3 * math.log(4))
    biased = priv_tree.biased(np.array([0, 5, 100]), 3, 2.0)
    assert biased.tolist() == [-2, -1, 94]


def split_probability(count: float, depth: int, fanout: int, epsilon: float) -> float:
    """Return the probability that a node of this count is split."""
    scale, delta = priv_tree.noise_scale(fanout, epsilon), priv_tree.penalty(fanout, epsilon)
    above = (priv_tree.THRESHOLD - float(priv_tree.biased(np.array(count), depth, delta))) / scale
    return 1 - math.exp(above) / 2 if above < 0 else math.exp(-above) / 2


def chance(split: bool, count: int, depth: int, fanout: int) -> float:
    found = split_probability(count, depth, fanout, 1)
    return found if split else 1 - found


@pytest.mark.parametrize("fanout", [2, 4])
def test_a_record_moves_the_decisions_of_a_path_by_epsilon_at_most(fanout) -> None:
    """Theorem 3.1, for paths of any counts that fall by one or stay: depth does not matter."""
    generator = np.random.default_rng(fanout)
    worst = 0.0
    for depth in (1, 5, 20):
        for start in (1, 2, 5, 10, 30):
            for _ in range(30):
                falls = generator.integers(0, max(2, 2 * start // depth), depth)
                counts = [max(1, start - int(fallen)) for fallen in np.cumsum(falls)]
                logs = [
                    math.log(chance(True, c, d, fanout) / chance(True, c - 1, d, fanout))
                    for d, c in enumerate(counts)
                ]
                end = math.log(
                    chance(False, counts[-1] - 1, depth, fanout)
                    / chance(False, counts[-1], depth, fanout)
                )
                worst = max(worst, sum(logs), end)
    assert 0.5 < worst <= 1
    # Without the penalty per level the same noise would not do.
    deep = 20 * math.log(chance(True, 1, 0, fanout) / chance(True, 0, 0, fanout))
    assert deep > 1


@pytest.mark.parametrize(("bins", "fanout"), [((4096,), 2), ((64, 64), 4)])
def test_priv_tree_of_nothing_stays_small(bins, fanout) -> None:
    """Empty nodes split with probability 1 / (2 fanout): two nodes expected (Lemma 3.2)."""
    assert split_probability(0, 5, fanout, 1) == pytest.approx(1 / (2 * fanout))
    empty = np.zeros(bins, np.int64)
    generator = np.random.default_rng(1)
    leaves = [len(np.unique(priv_tree.priv_tree(empty, 1, generator))) for _ in range(60)]
    nodes = (np.array(leaves) * fanout - 1) / (fanout - 1)
    root = split_probability(0, 0, fanout, 0.5)
    expected = 1 + root * fanout * 2
    assert nodes.mean() == pytest.approx(expected, rel=0.35)


def test_blocks() -> None:
    counts = np.arange(16).reshape(4, 4)
    assert priv_tree.block_sums(counts, 2).tolist() == [[10, 18], [42, 50]]
    assert priv_tree.repeat_blocks(np.array([[1, 2]]), 2).tolist() == [[1, 1, 2, 2], [1, 1, 2, 2]]
