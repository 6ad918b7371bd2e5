"""What one record, and one unit, pays for tables: proofs/tables.md, Lemmas 1 to 4."""

import itertools
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dphist.noise.gaussian_epsilon import gaussian_epsilon
from dphist.tables import KeyedCounts, Keys, Tables, drawing, measuring
from dphist.tables.contrasts import LARGEST_PRODUCT, make_contrasts, measure_all
from dphist.tables.drawing import sort_by_length
from dphist.tables.lattice import Lattice, subsets
from tests.support.privacy.tables import Recorder, cells_of, pay

SIZES = [1, 2, 3, 4, 5, 6, 7, 9, 12, 16, 25, 31, 64]
SHAPES = [(2, 2, 2), (3, 2), (5, 4, 3), (7, 6), (4,)]


@pytest.mark.parametrize("size", SIZES)
def test_contrasts_are_whole_orthogonal_and_add_up_to_zero(size: int) -> None:
    contrasts = make_contrasts(size)
    rows = contrasts.rows()
    assert (rows[0] == 1).all()
    assert (rows[1:].sum(axis=1) == 0).all()
    assert (rows @ rows.T == np.diag(contrasts.squares)).all()
    assert abs(rows).max() == contrasts.largest
    grouped = [row for _, places in contrasts.groups() for row in places.tolist()]
    assert sorted(grouped) == [*range(1, size)]
    for length, places in contrasts.groups():
        for square in contrasts.squares[places].tolist():
            assert length**2 >= square > (length - Fraction(1, 2**39)) ** 2


@pytest.mark.parametrize("shape", SHAPES)
def test_a_record_has_the_same_share_of_contrasts_in_every_cell(shape: tuple[int, ...]) -> None:
    lattice = Lattice(shape, (tuple(range(len(shape))),))
    for _, counts in cells_of(shape):
        moved = measure_all(counts)
        squares = np.ones(shape, object)
        for axis, size in enumerate(shape):
            along = [1] * len(shape)
            along[axis] = size
            squares = squares * make_contrasts(size).squares.astype(object).reshape(along)
        for part in subsets(tuple(range(len(shape)))):
            block = tuple(slice(1, None) if i in part else 0 for i in range(len(shape)))
            kept = [make_contrasts(shape[i]).squares[1:].astype(object) for i in part]
            lengths = math.prod(np.ix_(*kept)) if part else 1
            found = moved[block].astype(object) ** 2 * Fraction(1)
            assert np.sum(found / lengths) == lattice.share(part)


def test_each_contrast_has_the_lengths_of_its_own_rows() -> None:
    for shape, ranges in (((7, 2, 25), ()), ((5, 12, 7, 3), ()), ((6, 9, 4), (1,)), ((40, 40), ())):
        lattice = Lattice(shape, (tuple(range(len(shape))),), frozenset(ranges))
        for table in lattice.family:
            own = [{int(v): s for s, rows in lattice.noise(i).groups for v in rows} for i in table]
            found = sort_by_length(lattice, table)
            places = np.concatenate([held for _, held in found])
            assert sorted(places.tolist()) == list(range(lattice.contrasts(table)))
            assert len({length for length, _ in found}) == len(found)
            for length, held in found:
                rows = np.unravel_index(held, [len(each) for each in own]) if table else ()
                for row in zip(*(each.tolist() for each in rows), strict=True):
                    lengths = (each[v + 1] for each, v in zip(own, row, strict=True))
                    assert math.prod(lengths, start=Fraction(1)) == length


def test_products_next_to_the_end_of_int64_are_exact_or_clamped() -> None:
    shapes, largest = ((3, 5), (7, 2, 3), (4,), (7, 7)), (2**62 - 1, 2**60, 2**58, 2**55)
    for shape, most in itertools.product(shapes, largest):
        for _, ones in cells_of(shape):
            counts = ones * most
            exact: Any = counts.astype(object)
            for axis, size in enumerate(shape):
                rows = make_contrasts(size).rows().astype(object)
                exact = np.moveaxis(np.tensordot(rows, exact, (1, axis)), 0, axis)
            clamped = np.clip(exact, -LARGEST_PRODUCT, LARGEST_PRODUCT)
            assert (measure_all(counts) == clamped).all()
    spread = np.full((2, 2), 2**60 - 1, np.int64)
    spread[0, 0] += 1
    assert measure_all(spread).tolist() == [[2**62 - 3, 1], [1, 1]]


def test_neighbors_next_to_the_largest_sum_are_neighbors() -> None:
    """Their exact products differ by at most what one record moves, or less where they stop."""
    most, keys = 2**62 - 1, {"a": ["x", "y"], "b": [1, 2, 3]}
    bases = ([most - 2, 1, 0], [0, 0, 0]), ([most - 1, 0, 1], [0, 1, 0]), ([most] * 3, [1, 0, 0])
    for base in bases:
        for place in np.ndindex(2, 3):
            grown = np.array(base)
            grown[place] += grown[place] < most
            pair = [KeyedCounts.from_counts(each, keys=keys) for each in (base, grown)]
            for table in ((), (0,), (1,), (0, 1)):
                one, two = (held.sum_over(table) for held in pair)
                assert np.abs(one - two).sum() <= 1
                moved = np.zeros(one.shape, np.int64)
                moved[tuple(place[i] for i in table)] = 1
                off = np.abs(measure_all(one) - measure_all(two))
                assert (off <= np.abs(measure_all(moved))).all()


KEYS: Mapping[str, Any] = {"a": ["x", "y", "z"], "b": [True, False], "c": [1, 2, 3, 4, 5], "d": [0]}
MECHANISMS: dict[str, Mapping[str, Any]] = {
    "one table": {"tables": ["a+b"]},
    "overlapping": {"tables": ["a+b", "b+c", "a+c"]},
    "all, two rows": {"tables": ["a+b+c", "a"], "max_rows": 2},
    "weights": {"tables": ["a+b", "c+d", "b"], "weights": {"c+d": 5}},
    "errors": {"tables": ["a+b", "c", "a+b+c"], "errors": {"c": "0.5"}},
    "total alone": {"tables": ["d"]},
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_release_costs_what_it_states(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = Tables(rho="0.3", keys=KEYS, **MECHANISMS[name])
    stated = Fraction(3, 10) / mechanism.max_rows**2
    lattice = mechanism.lattice
    for _, counts in cells_of(mechanism.keys.shape):
        paid, drawn = pay(mechanism, KeyedCounts.from_counts(counts, keys=KEYS), monkeypatch)
        assert drawn == sum(map(lattice.contrasts, lattice.family)), "each is drawn once"
        assert stated * (1 - Fraction(1, 10**9)) < paid <= stated
    assert lattice.costs_at_most(mechanism.scales, stated)
    assert not lattice.costs_at_most(mechanism.scales, stated * (1 - Fraction(1, 10**9)))


def test_scales_that_cost_more_than_stated_draw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = Tables(rho="0.3", keys=KEYS, tables=["a+b", "b+c"])
    with pytest.raises(TypeError):  # mechanisms of the same tables share them
        mechanism.scales[()] = Fraction(1)  # type: ignore[index]
    smaller = {**mechanism.scales, (1,): mechanism.scales[1,] * (1 - Fraction(1, 2**30))}
    monkeypatch.setattr(measuring, "choose_scales", lambda *_: smaller)
    recorder = Recorder()
    monkeypatch.setattr(drawing, "rounded_gaussian", recorder)
    with pytest.raises(RuntimeError, match="cost more"):
        mechanism.release(np.zeros(mechanism.keys.shape, np.int64))
    assert not recorder.drawn


def test_a_unit_of_several_rows_pays_the_square(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {"a": ["x", "y", "z"], "b": [True, False]}
    mechanism = Tables(rho="0.3", keys=keys, tables=["a+b", "b"], max_rows=3)
    assert mechanism.guarantee.rho == Fraction(3, 10)
    worst = Fraction(0)
    for places in itertools.combinations_with_replacement(range(6), 3):
        counts = np.bincount(places, minlength=6).reshape(3, 2)
        worst = max(
            worst, pay(mechanism, KeyedCounts.from_counts(counts, keys=keys), monkeypatch)[0]
        )
    assert Fraction(3, 10) * (1 - Fraction(1, 10**9)) < worst <= Fraction(3, 10)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1, "1e-6"), ("0.01", "1e-9"), (8, "0.1"), (40, "1e-30")]
)
def test_epsilon_and_delta_are_those_of_the_gaussian_law(epsilon: Any, delta: Any) -> None:
    mechanism = Tables(epsilon=epsilon, delta=delta, keys={"a": [1, 2]}, tables=["a"], max_rows=4)
    rho, exact = mechanism.guarantee.rho, Fraction(delta)
    assert gaussian_epsilon(2 * rho, exact) <= Fraction(epsilon)
    assert gaussian_epsilon(2 * rho * (1 + Fraction(1, 10**7)), exact) > Fraction(epsilon)
    assert mechanism.epsilon_at(delta) <= Fraction(epsilon)
    assert mechanism.epsilon_at(0) is None
    assert mechanism.epsilon_at(delta, 3) == gaussian_epsilon(6 * rho, exact)


def test_noise_is_independent_of_the_data(seeded: Any) -> None:
    """The same random bytes give the same noise, whatever the counts are."""
    keys = Keys.read(KEYS)
    mechanism = Tables(rho="0.3", keys=keys, tables=["a+b+c", "d"])
    rng = np.random.default_rng(1)
    noises = []
    for counts in (np.zeros(keys.shape, np.int64), rng.integers(0, 10**9, keys.shape)):
        held = KeyedCounts.from_counts(counts, keys=keys)
        noisy = mechanism.release(held, seeded(5)).noisy
        exact = measure_all(held.sum_over((0, 1, 2)))
        for name, table in (("a", (0,)), ("a+c", (0, 2)), ("a+b+c", (0, 1, 2)), ("", ())):
            block = tuple(slice(1, None) if i in table else 0 for i in range(3))
            noises.append((name, (noisy[name] - exact[block].ravel()).tolist()))
    assert noises[:4] == noises[4:]
