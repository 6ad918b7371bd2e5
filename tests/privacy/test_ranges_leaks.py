"""What a release over bins publishes follows from noisy counts, whatever the data."""

import gc
import math
from fractions import Fraction

import numpy as np
import pytest

from dphist import (
    AdaptiveTree,
    Axis,
    BinnedCounts,
    DphistError,
    HierarchicalTree,
    LeafCounts,
    Release,
    bin_counts,
)
from dphist.ranges.adaptive_tree.path_budget import UNITS, PathBudget
from dphist.ranges.budget import Budget
from tests.support.privacy.ranges_cases import AXIS, MAKE, Drawn, binned


@pytest.mark.parametrize("make", MAKE)
def test_counts_beside_the_bins_are_released_with_noise_of_their_own(monkeypatch, make):
    """Planted: outside counts without noise, `max(count + 0 * drawn, 0)`."""
    with monkeypatch.context() as patch:
        drawn = Drawn(patch)
        release = make(epsilon=1).release(binned())
    _, share, noise = drawn.calls[-1]
    assert share == release.mechanism.outside_share
    assert len(set(noise.tolist())) == 3
    assert list(release.value.outside.values()) == [5 + noise[0], 6 + noise[1], 7 + noise[2]]


@pytest.mark.parametrize("make", MAKE)
def test_noisy_counts_beside_the_bins_do_not_show_whether_any_record_was_there(monkeypatch, make):
    """Planted: `max(count + drawn, min(count, 1))`, which shows a 1 where there was a record."""
    with monkeypatch.context() as patch:
        patch.setattr(
            Budget, "noise", lambda budget, share, size, source: np.full(size, -100, np.int64)
        )
        release = make(epsilon=1).release(binned())
    assert set(release.value.outside.values()) == {0}


@pytest.mark.parametrize("make", MAKE)
@pytest.mark.parametrize("kind", ["epsilon", "rho"])
def test_every_number_drawn_is_paid_by_what_a_single_record_may_cost(monkeypatch, make, kind):
    """Planted: outside noise from `find_budget(self.guarantee, 1)`, which forgets sensitivity."""
    mechanism = make(**{kind: 6}, sensitivity=3)
    with monkeypatch.context() as patch:
        drawn = Drawn(patch)
        mechanism.release(binned())
    amount = Fraction(6, 3) if kind == "epsilon" else Fraction(6, 9)
    assert {(b.gaussian, b.amount) for b, _, _ in drawn.calls} == {(kind == "rho", amount)}


@pytest.mark.parametrize("make", MAKE)
def test_everything_published_is_a_function_of_noisy_counts(monkeypatch, make):
    """Planted: a total, or bins, that are taken from the data; noise shared or left out.

    Where noise makes up for any difference of the data, the releases must be equal.
    """
    texts = []
    for counts in ((0, 0, 0, 0), (9, 0, 0, 2)):
        with monkeypatch.context() as patch:
            patch.setattr(Budget, "noise", lambda b, share, size, source: _Makes(7))
            texts.append(make(epsilon=1).release(binned(counts, *counts[:3])).to_json())
    assert texts[0] == texts[1]


class _Makes:
    """Noise that makes any exact count the same number."""

    __array_ufunc__ = None

    def __init__(self, number):
        self.number = number

    def __add__(self, exact):
        return np.full(np.shape(exact), self.number, np.int64)

    __radd__ = __add__

    def tolist(self):
        return [_Makes.One(self.number) for _ in range(3)]

    class One:
        def __init__(self, number):
            self.number = number

        def __radd__(self, exact):
            return self.number


@pytest.mark.parametrize("make", MAKE)
def test_no_error_depends_on_the_sum_of_counts(make):
    """Planted: a check of the sum of counts or chunks, which refuses 2**62 in all."""
    for counts in ([2**61] * 4, [2**60, 2**60, 2**60, 2**60 - 1]):
        make(epsilon=1).release(np.array(counts))
        make(epsilon=1).release(iter([np.array(counts[:1]), np.array(counts[1:])]))


@pytest.mark.parametrize("make", MAKE)
def test_no_count_reaches_an_error(make):
    """Planted: the least count in the error for a negative one, in an array."""
    for bad in (np.array([1, 2, 3, -7777]), [1, 2, 3, -7777], np.array([1.5, 7777, 3, 4])):
        with pytest.raises(DphistError) as caught:
            make(epsilon=1).release(bad)
        assert "7777" not in str(caught.value)


@pytest.mark.parametrize("make", MAKE)
def test_a_release_shares_no_memory_with_the_data_and_reaches_none(make):
    """No exact array is reachable from what is published: attributes, closures, bases."""
    sentinel = 2**40 + 12345
    data = np.array([sentinel, sentinel + 1, sentinel + 2, sentinel + 3])
    release = make(epsilon="0.0001").release(data)  # so noisy counts are not the data by chance
    release.value.count(0, 4), release.value.error(0, 4)
    seen, left = set(), [release]
    while left:
        item = left.pop()
        if id(item) in seen or isinstance(item, type) or type(item).__name__ == "module":
            continue
        seen.add(id(item))
        if isinstance(item, np.ndarray):
            assert not np.shares_memory(item, data)
            exact = item.shape == data.shape and item.dtype.kind == "i"
            assert not (exact and (item == data).all())
            left.append(item.base)
        elif isinstance(item, dict) and "__builtins__" in item:
            continue
        else:
            left += gc.get_referents(item)


PLANE = (Axis.from_edges([0, 1, 2]), Axis.from_edges([0, 1, 2]))
FLAT = [
    lambda: LeafCounts(epsilon=1, bins=(2, 2)),
    lambda: HierarchicalTree(epsilon=1, bins=(2, 2), branching=2),
    lambda: AdaptiveTree(epsilon=1, bins=(2, 2)),
]


@pytest.mark.parametrize("make", FLAT)
def test_counts_beside_the_bins_of_several_axes_have_noise_of_their_own(monkeypatch, make):
    """Planted: outside counts of several axes without noise."""
    data = BinnedCounts(np.array([[1, 2], [3, 4]]), PLANE, {"outside": 5, "null": 7})
    with monkeypatch.context() as patch:
        drawn = Drawn(patch)
        release = make().release(data)
    _, share, noise = drawn.calls[-1]
    assert share == release.mechanism.outside_share
    assert len(set(noise.tolist())) == 2
    assert release.value.outside == {"outside": 5 + noise[0], "null": 7 + noise[1]}


@pytest.mark.parametrize("form", [
    lambda counts: counts, list, lambda counts: iter([counts[:1], counts[1:]]),
    lambda counts: BinnedCounts(counts, (AXIS,), {"below": 0, "above": 0, "null": 0}),
], ids=["array", "list", "chunks", "BinnedCounts"])  # fmt: skip
@pytest.mark.parametrize("make", MAKE)
def test_counts_are_cut_off_whatever_they_come_in(monkeypatch, make, form):
    """Planted: chunks, or BinnedCounts, that are not cut off, so that their sums wrap."""
    most = (2**62 - 1) // 4
    counts = np.array([2**62 - 1, 2**61, most + 1, most])
    before = counts.copy()
    with monkeypatch.context() as patch:
        patch.setattr(Budget, "noise", lambda b, share, size, source: np.zeros(size, np.int64))
        release = make(epsilon=1).release(form(counts))
    noisy = release.noisy.values() or [release.value.counts]
    assert max(int(np.max(found)) for found in noisy) <= 4 * most
    assert min(int(np.min(found)) for found in noisy) >= 0
    assert (counts == before).all()


@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 3)])
def test_gaussian_noise_is_sampled_as_it_is_accounted(share):
    """Planted: `rounded_gaussian(self.sigma(share) * Fraction(97, 100), ...)`."""
    from dphist.noise import rounded_gaussian

    budget = Budget(True, Fraction(1, 10**6))
    sigma = budget.sigma(share)
    drawn = budget.noise(share, 1000, np.random.default_rng(5).bytes)
    assert (drawn == rounded_gaussian(sigma, 1000, np.random.default_rng(5).bytes)).all()


@pytest.mark.long(every=4)
@pytest.mark.quick("[leaf-", "[tree-", "[loose-", "bins0", "bins2", every=6)
@pytest.mark.parametrize("kind", ["epsilon", "rho"])
@pytest.mark.parametrize("bins", [(4,), (64,), (4, 4)])
@pytest.mark.parametrize("name", ["leaf", "tree", "loose", "adaptive"])
def test_shares_of_a_record_s_path_are_at_most_one(monkeypatch, kind, bins, name):
    """Planted: shares or charges that differ for rho, for several axes, or where not consistent."""
    make = {
        "leaf": LeafCounts,
        "tree": HierarchicalTree,
        "loose": lambda **kw: HierarchicalTree(consistent=False, **kw),
        "adaptive": AdaptiveTree,
    }[name]
    counts = np.arange(math.prod(bins)).reshape(bins) * 50
    spent = np.zeros(bins)
    for place in np.ndindex(*bins):
        more = counts.copy()
        more[place] += 1
        runs = []
        for data in (counts, more):
            calls = []

            def noise(budget, share, size, source, calls=calls):
                found = _Published(share, calls)
                return found if size != 0 else np.zeros(0, np.int64)

            with monkeypatch.context() as patch:
                patch.setattr(Budget, "noise", noise)
                make(**{kind: 1}, bins=bins).release(data)  # type: ignore[operator]
            runs.append(calls)
        spent[place] = sum(
            share * int(np.abs(a - b).sum()) for (share, a), (_, b) in zip(*runs, strict=True)
        )
    assert (spent <= 1).all()
    assert (spent > 0.9).all()


class _Published:
    """Noise that writes down what it is added to, and publishes the same whatever that is."""

    __array_ufunc__ = None

    def __init__(self, share, calls):
        self.share, self.calls = share, calls

    def __add__(self, exact):
        self.calls.append((self.share, exact.copy()))
        return np.arange(exact.size).reshape(exact.shape) * 37 % 101

    __radd__ = __add__

    def tolist(self):
        return []


@pytest.mark.parametrize("make", MAKE)
def test_nothing_beside_mappings_arrays_and_numbers_is_published(make):
    """Planted: a mapping of outside counts that carries the exact counts as an attribute."""
    release = make(epsilon=1).release(binned())
    assert type(release.value.outside) is dict
    assert type(release.noisy) is dict
    assert {type(count) for count in release.value.outside.values()} == {int}


@pytest.mark.parametrize("make", MAKE)
@pytest.mark.parametrize("m", [2, 3])
def test_sensitivity_is_held_and_saved(make, m):
    """Planted: a constructor that checks sensitivity and holds 1."""
    mechanism = make(epsilon=1, sensitivity=m)
    assert mechanism.sensitivity == m
    release = Release.from_json(mechanism.release([1, 2, 3, 4]).to_json())
    assert release.mechanism.sensitivity == m
    assert release.guarantee == mechanism.guarantee


@pytest.mark.parametrize("make", MAKE)
def test_no_source_means_the_operating_system_s_randomness(monkeypatch, make):
    """Planted: a generator seeded by the number of bins where no source is given."""
    sources = []
    with monkeypatch.context() as patch:
        patch.setattr(
            Budget, "noise",
            lambda b, share, size, source: sources.append(source) or np.zeros(size, np.int64),  # type: ignore[func-returns-value]
        )  # fmt: skip
        make(epsilon=1).release(binned())
    assert set(sources) == {None}


@pytest.mark.parametrize("make", MAKE)
@pytest.mark.parametrize("counts", [[0] * 4, [2**62 - 1] * 4, [0, 0, 0, 2**62 - 1], [1] * 4])
def test_no_warning_and_no_error_depends_on_the_counts(make, counts, recwarn):
    """Planted: a warning where counts were cut off; a refusal of counts that are all 0."""
    make(epsilon=1).release(np.array(counts))
    make(epsilon=1).release(iter([np.array(counts)]))
    assert not recwarn


@pytest.mark.parametrize("kind", ["epsilon", "rho"])
@pytest.mark.parametrize("bins", [(21,), (64,), (8, 8)])
def test_the_ledger_is_charged_what_the_noise_costs(monkeypatch, kind, bins):
    """Planted: under rho the budget charged half, or the noise of twice the share."""
    charged, drawn, charge = [], [], PathBudget.charge

    def charging(self, level, nodes, units):
        charge(self, level, nodes, units)
        charged.append((Fraction(units, UNITS), len(nodes)))

    def noise(budget, share, size, source):
        if size:
            drawn.append((share, size))
        return np.zeros(size, np.int64)

    with monkeypatch.context() as patch:
        patch.setattr(PathBudget, "charge", charging)
        patch.setattr(Budget, "noise", noise)
        AdaptiveTree(**{kind: 1}, bins=bins).release(np.full(bins, 50))  # type: ignore[arg-type]
    assert drawn == charged


@pytest.mark.parametrize("chunk", [
    [3, -7777], np.array([3, -7777]), [3, None], [3.5, 7777], np.array([3.5, 7777]), [True, 3],
    [3, 2**63], [[3], [7777]],
], ids=repr)  # fmt: skip
def test_chunks_are_checked_as_whole_arrays_are(chunk):
    """Planted: `counts[...] = np.asarray(chunk)`, which takes what is negative or a fraction."""
    with pytest.raises(DphistError, match="counts") as caught:
        LeafCounts(epsilon=1, bins=4).release(iter([np.array([1, 2]), chunk]))
    assert "7777" not in str(caught.value)


def test_infinities_of_a_text_file_are_no_missing_values_beside_nan(tmp_path):
    """Planted: infinities counted as missing in a batch that has a NaN: a row moves another's."""
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{x},1\n" for x in ("nan", "inf", "-inf", "0.5", "")))
    found = bin_counts(path, column="x", edges=[0, 1])
    assert found.counts.tolist() == [1]
    assert dict(found.outside) == {"below": 1, "above": 1, "null": 2}


def test_a_line_with_fields_missing_is_refused(tmp_path):
    """Planted: `null_padding=True`, which makes nulls of what is missing."""
    path = tmp_path / "t.csv"
    path.write_text("y,x\n1,1\n7777\n")
    with pytest.raises(DphistError) as caught:
        bin_counts(path, column="x", edges=[0, 1])
    assert "7777" not in str(caught.value)
