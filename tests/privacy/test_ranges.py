"""The lemmas of docs/understand/proofs/hierarchical_tree.md, each with a planted bug.

The noise is replaced by one that writes down what it was asked for. What a mechanism would
publish is then the exact count of each node it counts, with the share that the count costs, and
the privacy loss of two neighbouring inputs is the sum over counts of share times difference (for
Gaussian noise, difference squared): at most 1, or the guarantee does not hold.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from dphist import AdaptiveTree, DphistError, HierarchicalTree, LeafCounts, ParameterError, PureDP
from dphist.noise.geometric import geometric_law
from dphist.privacy import ZCDP, PrivacyUnit
from dphist.ranges.budget import Budget
from dphist.ranges.counts import load_counts
from dphist.ranges.hierarchical_tree.mechanism import HierarchicalTree as Tree
from dphist.ranges.shape import TreeShape
from tests.support.privacy.ranges_cases import neighbours

LARGEST = 2**62 - 1


class Recorder:
    """Stands in for `Budget.noise`: adds nothing, and writes down the share of each count."""

    def __init__(self, monkeypatch):
        self.shares = []
        monkeypatch.setattr(Budget, "noise", lambda budget, *args: self(*args))

    def __call__(self, share, size, source):
        shape = size if isinstance(size, tuple) else (size,)
        self.shares += [share] * math.prod(shape)
        return np.zeros(shape, np.int64)


def published(monkeypatch, mechanism, counts):
    """Every number that noise protects, without noise, and the share that each costs."""
    with monkeypatch.context() as patch:
        recorder = Recorder(patch)
        release = mechanism.release(counts)
    values = list(release.noisy.values()) or [release.value.counts.ravel()]
    if "counts" in release.noisy:
        values = [release.noisy["counts"]]
    return np.concatenate(values), recorder.shares


def loss(monkeypatch, mechanism, counts, more):
    """The exact loss of a pair in units of epsilon, and in units of rho."""
    values, shares = published(monkeypatch, mechanism, counts)
    others, same = published(monkeypatch, mechanism, more)
    assert shares == same
    assert len(values) == len(shares)
    changes = [abs(int(a) - int(b)) for a, b in zip(values, others, strict=True)]
    pure = sum(share * change for share, change in zip(shares, changes, strict=True))
    return pure, sum(share * change**2 for share, change in zip(shares, changes, strict=True))


SHAPES = [
    (1,),
    (2,),
    (3,),
    (4,),
    (5,),
    (8,),
    (9,),
    (11,),
    (3, 3),
    (4, 4),
    (2, 5),
    (1, 4),
    (2, 3, 2),
]
FIXED = [
    lambda bins, branching=branching, root=root: HierarchicalTree(
        epsilon=1, bins=bins, branching=branching, root=root
    )
    for branching in (2, 3, 4, 5)
    for root in (True, False)
]


@pytest.mark.parametrize("bins", SHAPES)
@pytest.mark.parametrize("make", [lambda bins: LeafCounts(epsilon=1, bins=bins), *FIXED])
@pytest.mark.quick(every=6)
def test_a_record_costs_the_whole_budget_and_no_more(monkeypatch, bins, make):
    """Lemma 1, over every single-record change: L1 and squared L2, each level weighted."""
    mechanism = make(bins)
    for counts, more in neighbours(bins):
        assert loss(monkeypatch, mechanism, counts, more) == (1, 1)


@pytest.mark.parametrize("branching", [2, 3, 16])
def test_a_level_that_is_not_paid_for_is_caught(monkeypatch, branching):
    monkeypatch.setattr(Tree, "levels", property(lambda self: len(self.measured) - 1))
    mechanism = HierarchicalTree(epsilon=1, bins=9, branching=branching)
    assert any(loss(monkeypatch, mechanism, *pair)[0] > 1 for pair in neighbours((9,)))


def test_a_node_counted_twice_is_caught(monkeypatch):
    sums = TreeShape.sums

    def doubled(self, counts):
        levels = sums(self, counts)
        levels[1] = levels[1] * 2
        return levels

    monkeypatch.setattr(TreeShape, "sums", doubled)
    mechanism = HierarchicalTree(epsilon=1, bins=9, branching=3)
    assert any(loss(monkeypatch, mechanism, *pair)[0] > 1 for pair in neighbours((9,)))


@pytest.mark.parametrize("mechanism", [
    LeafCounts(epsilon=1, bins=4),
    HierarchicalTree(epsilon=1, bins=4, branching=2),
    HierarchicalTree(epsilon=1, bins=(2, 2), branching=2),
    AdaptiveTree(epsilon=1, bins=4),
], ids=repr)  # fmt: skip
@pytest.mark.parametrize(
    "large", [2**53, 2**53 + 1, 2**60 - 5, LARGEST // 4 - 1, LARGEST // 4, LARGEST - 1]
)
@pytest.mark.quick(every=2)
def test_sums_next_to_the_end_of_int64_neither_wrap_nor_round(monkeypatch, mechanism, large):
    """OpenDP's issues 2924 and 2925, and floats: neighbours far from 0 are still neighbours."""
    for place in range(4):
        counts = np.full(4, large)
        counts[(place + 1) % 4] = 2**53 + 1
        more = counts.copy()
        more[place] += 1
        pair = (grid.reshape(mechanism.bins) for grid in (counts, more))
        values, _ = published(monkeypatch, mechanism, counts.reshape(mechanism.bins))
        assert (values >= 0).all()
        pure, squared = loss(monkeypatch, mechanism, *pair)
        # At the cut-off neighbours become equal; they never become more different.
        assert pure == squared == (0 if large >= LARGEST // 4 else 1)


def test_rounding_to_float_is_caught(monkeypatch):
    sums = TreeShape.sums
    monkeypatch.setattr(
        TreeShape, "sums",
        lambda self, counts: [level.astype(np.int64) for level in sums(self, counts.astype(float))],
    )  # fmt: skip
    mechanism = HierarchicalTree(epsilon=1, bins=4, branching=2)
    counts = np.array([2**54, 1, 1, 1])
    losses = []
    for place in range(4):
        more = counts.copy()
        more[place] += 1
        losses.append(loss(monkeypatch, mechanism, counts, more)[0])
    assert any(found != 1 for found in losses)


def test_shares_are_sampled_as_they_are_accounted():
    """Lemma 2: noise for a share s of epsilon has log ratios of s epsilon, exactly its law's."""
    budget = Budget(False, Fraction(1, 10))
    law = geometric_law(Fraction(1, 10) * Fraction(1, 3))
    stream = np.random.default_rng(5).bytes(10**5)

    def source_of():
        rest = [stream]

        def source(n):
            piece, rest[0] = rest[0][:n], rest[0][n:]
            return piece

        return source

    drawn = budget.noise(Fraction(1, 3), 1000, source_of())
    assert (drawn == law.sample(1000, source_of())).all()


@pytest.mark.parametrize("rho", ["0.005", "1", "1/3", "1e-6"])
@pytest.mark.parametrize("share", [1, Fraction(1, 4), Fraction(1, 13)])
def test_sigma_is_never_too_small(rho, share):
    budget = Budget(True, Fraction(rho))
    sigma = budget.sigma(Fraction(share))
    assert 1 / (2 * sigma**2) <= Fraction(rho) * share
    assert 1 / (2 * (sigma - Fraction(1, 2**40)) ** 2) > Fraction(rho) * share


@pytest.mark.parametrize("sensitivity", [1, 2, 7])
def test_more_records_a_unit_cost_what_group_privacy_says(sensitivity):
    """Lemma 5: m records of one unit cost m epsilon, or m**2 rho, of a record."""
    unit = PrivacyUnit("record", sensitivity)
    pure = LeafCounts(epsilon=1, bins=4, sensitivity=sensitivity)
    assert pure.budget.amount * sensitivity == 1
    assert pure.guarantee == PureDP(1, unit)
    zero = LeafCounts(rho=1, bins=4, sensitivity=sensitivity)
    assert zero.budget.amount * sensitivity**2 == 1
    assert zero.guarantee == ZCDP(1, unit)


def test_what_lies_outside_is_counted_once_at_its_share(monkeypatch):
    """Lemma 4: a record is in a bin or in one of the counts beside them, never in both."""
    import pandas as pd

    from dphist import bin_counts

    mechanism = HierarchicalTree(epsilon=1, bins=4, branching=2)
    values = [0, 1, 1, 3, -5, 9, 9, None]
    for more in (-1, 0, 3, 4, None):
        pair = []
        for column in (values, [*values, more]):
            data = bin_counts(
                pd.DataFrame({"x": pd.array(column, "Int64")}), column="x", edges=[0, 1, 2, 3, 4]
            )
            with monkeypatch.context() as patch:
                recorder = Recorder(patch)
                release = mechanism.release(data)
            numbers = [*release.noisy.values(), list(release.value.outside.values())]
            pair.append((np.concatenate(numbers), recorder.shares))  # type: ignore[arg-type]
        (before, shares), (after, _) = pair
        changes = zip(shares, before, after, strict=True)
        is_inside = more is not None and 0 <= more < 4
        assert sum(share * abs(int(a) - int(b)) for share, a, b in changes) == (
            1 if is_inside else mechanism.outside_share
        )


@pytest.mark.parametrize("chunks", [[4, 4], [1, 7], [8], [3, 0, 5]])
def test_chunks_are_the_same_counts(chunks):
    counts = np.arange(8)
    pieces = iter(np.split(counts, np.cumsum(chunks)[:-1]))
    assert (load_counts(pieces, (8,)).counts == counts).all()


@pytest.mark.parametrize("bins", [(8,), (4, 2)])
def test_chunks_that_do_not_add_up_to_the_bins_are_refused(bins):
    for chunks in ([], [np.ones((3, *bins[1:]), int)], [np.ones((bins[0] + 1, *bins[1:]), int)]):
        with pytest.raises(DphistError, match="chunks"):
            load_counts(iter(chunks), bins)


@pytest.mark.parametrize("make", [
    lambda **kw: LeafCounts(bins=4, **kw),
    lambda **kw: HierarchicalTree(bins=4, **kw),
    lambda **kw: AdaptiveTree(bins=4, **kw),
])  # fmt: skip
@pytest.mark.parametrize("bad", [
    {}, {"epsilon": 0}, {"epsilon": -1}, {"epsilon": float("nan")}, {"epsilon": float("inf")},
    {"rho": 0}, {"epsilon": 1, "rho": 1}, {"epsilon": 1, "sensitivity": 0},
    {"epsilon": 1, "sensitivity": 1.5}, {"epsilon": "1e-12"}, {"rho": "1e-25"}, {"epsilon": None},
])  # fmt: skip
def test_parameters_that_make_no_guarantee_are_refused(make, bad):
    with pytest.raises(ParameterError):
        make(**bad)


@pytest.mark.parametrize("bins", [0, -1, 2.5, "8", (), (0, 4), (2, 2.0), None, 2**40, (2,) * 9])
def test_bins_that_are_none_are_refused(bins):
    with pytest.raises(ParameterError, match="bins"):
        LeafCounts(epsilon=1, bins=bins)


@pytest.mark.parametrize("counts", [
    [1, 2, 3], [1.0, 2, 3, 4], [1, 2, 3, -4], [[1, 2], [3, 4]], None, "1234", [1, 2, 3, None],
    [True, False, True, True], [1, 2, 3, 2**62], [1, 2, 3, 2**70],
])  # fmt: skip
def test_counts_that_are_none_are_refused_without_being_shown(counts):
    with pytest.raises(DphistError, match="counts") as caught:
        LeafCounts(epsilon=1, bins=4).release(counts)
    assert not any(sentinel in str(caught.value) for sentinel in ("-4", "2**70", str(2**70)))


@pytest.mark.parametrize("counts", [
    [1, 2, 3, 4], np.ones((2, 3), int), np.ones((2, 2)), [[1, 2], [3]], [[1, -2], [3, 4]],
    [[1, 2], [3, 2**64]],
])  # fmt: skip
def test_grids_that_are_none_are_refused(counts):
    with pytest.raises(DphistError, match="counts"):
        LeafCounts(epsilon=1, bins=(2, 2)).release(counts)
