"""What rows of a unit that differ on a key cost tables: proofs/tables.md, Lemma 16."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from dphist.errors import BoundsError
from dphist.privacy import ZCDP, PrivacyUnit
from dphist.tables import KeyedCounts, Tables
from dphist.tables.command import _price_exchange
from dphist.tables.lattice import Lattice
from dphist.tables.law import choose_scales, rho_of_first
from tests.support.privacy.tables import pay

Cell = tuple[int, ...]
KEYS: Mapping[str, Any] = {"day": [1, 2, 3], "place": ["a", "b", "c", "d"], "sex": ["f", "m"]}
ALL = ["day+place+sex"]
RHO = Fraction(1, 2)


def entry(scales: Mapping[Cell, Fraction], shape: Cell, one: Cell, other: Cell) -> Fraction:
    """Return G of two cells, in fractions."""
    return sum(
        (
            math.prod((int(one[i] == other[i]) - Fraction(1, shape[i]) for i in table), start=1)
            / Fraction(scales[table]) ** 2
            for table in scales
        ),
        Fraction(0),
    )


def price(scales: Mapping[Cell, Fraction], shape: Cell, rows: Sequence[Cell]) -> Fraction:
    """Return what a unit with these rows costs, by the scales of all tables."""
    pairs = itertools.product(rows, rows)
    return sum((entry(scales, shape, *pair) for pair in pairs), Fraction(0)) / 2


def units(shape: Cell, most: int, axis: int | None) -> Iterator[tuple[Cell, ...]]:
    """Yield the rows of all units with up to `most` rows; on a key they differ, if it is named."""
    cells = list(itertools.product(*map(range, shape)))
    for size in range(1, most + 1):
        for rows in itertools.combinations_with_replacement(cells, size):
            if axis is None or len({row[axis] for row in rows}) == size:
                yield rows


def make(**more: Any) -> Tables:
    given: dict[str, Any] = {
        "rho": RHO,
        "keys": KEYS,
        "tables": ALL,
        "max_rows": 2,
        "one_row_per": "day",
    }
    return Tables(**given | more)


def test_two_rows_that_differ_on_a_key_cost_three_times_one() -> None:
    """All pairs of neighbors: 3.00 instead of 4. With "other" on that key the truth is 4."""
    shape = (3, 4, 2)
    lattice = Lattice(shape, ((0, 1, 2),))
    one = rho_of_first(shape, lattice.tables, RHO, None, None, 2, 0)
    scales = choose_scales(shape, lattice.tables, one, None, None)
    alone = max(price(scales, shape, rows) for rows in units(shape, 1, None))
    for axis in range(3):
        apart = max(price(scales, shape, rows) for rows in units(shape, 2, axis))
        assert abs(apart / alone - 3) < Fraction(1, 10**9)
        stated = lattice.cost_of_rows(scales, RHO, 2, axis)
        assert apart <= stated < apart * (1 + Fraction(1, 10**15))
    alike = max(price(scales, shape, rows) for rows in units(shape, 2, None))
    assert alike == 4 * alone
    # Two values that are not listed are one value "other", the last one.
    with_other = [
        rows
        for rows in units(shape, 2, None)
        if len(rows) == len({row[0] for row in rows}) or {row[0] for row in rows} == {2}
    ]
    assert max(price(scales, shape, rows) for rows in with_other) == 4 * alone


LATTICES: dict[str, tuple[Cell, tuple[Cell, ...], Any, int, int]] = {
    "all, three rows": ((3, 2, 2), ((0, 1, 2),), None, 3, 0),
    "overlapping": ((3, 2, 2), ((0, 1), (1, 2)), None, 3, 0),
    "overlapping, in the middle": ((2, 3, 2), ((0, 1), (1, 2)), None, 3, 1),
    "without the key": ((3, 2, 2), ((1, 2),), None, 2, 0),
    "the key alone": ((5,), ((0,),), None, 5, 0),
    "weights": ((4, 2), ((0,), (0, 1)), (Fraction(50), Fraction(1)), 3, 0),
    "weights of many": ((4, 2), ((1,), (0, 1)), (Fraction(900), Fraction(1)), 3, 0),
    "two values": ((2, 4), ((0, 1),), None, 2, 0),
    "nothing in common": ((2, 2), ((0,), (0, 1)), (Fraction(10**6), Fraction(1)), 2, 0),
}


@pytest.mark.parametrize("name", LATTICES)
def test_no_unit_of_rows_that_differ_pays_more_than_stated(name: str) -> None:
    """All units with up to `rows` rows, in fractions, and nearly all of it is paid."""
    shape, places, weights, rows, axis = LATTICES[name]
    lattice = Lattice(shape, places)
    one = rho_of_first(shape, places, RHO, weights, None, rows, axis)
    scales = choose_scales(shape, places, one, weights, None)
    largest = max(price(scales, shape, unit) for unit in units(shape, rows, axis))
    stated = lattice.cost_of_rows(scales, RHO, rows, axis)
    assert largest <= stated <= RHO
    assert stated > RHO * (1 - Fraction(1, 10**9))
    if name != "weights of many":  # each two cells may be of the largest pattern
        assert largest > stated * (1 - Fraction(1, 10**9))
    assert one >= RHO / rows**2


def test_a_unit_with_fewer_rows_pays_no_more_than_stated() -> None:
    """Two rows whose contrasts cancel cost nothing; one of them alone costs what it does."""
    shape, places = (2, 2), ((0,), (0, 1))
    scales = {(): Fraction(1000), (0,): Fraction(1), (1,): Fraction(1000), (0, 1): Fraction(1000)}
    lattice = Lattice(shape, places)
    assert max(entry(scales, shape, *pair) for pair in (((0, 0), (1, 0)), ((0, 0), (1, 1)))) < 0
    alone, both = (price(scales, shape, [(0, 0), (1, 1)][:rows]) for rows in (1, 2))
    assert both < alone <= lattice.cost_of_rows(scales, alone, 2, 0)


def hold(rows: Sequence[Cell], shape: Cell, **more: Any) -> KeyedCounts:
    counts = np.zeros(shape, np.int64)
    for row in rows:
        counts[row] += 1
    told: dict[str, Any] = {"keys": KEYS, "max_rows": 2, "one_row_per": "day"}
    return KeyedCounts.from_counts(counts, **told | more)


MECHANISMS: dict[str, Mapping[str, Any]] = {
    "all": {},
    "overlapping": {"tables": ["day+place", "place+sex"]},
    "weights": {"weights": {"day+place+sex": 1, "day": 50}, "tables": [*ALL, "day"]},
    "errors": {"errors": {"day": "0.2"}, "tables": [*ALL, "day"]},
    "a total": {"rho": None, "epsilon": 1, "delta": "1e-6"},
}


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.quick("all")
def test_what_is_drawn_costs_what_is_stated(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the scales that each number is drawn at: for all units, and nearly all of it for one."""
    mechanism, paid = make(**MECHANISMS[name]), []
    shape = mechanism.keys.shape
    for rows in units(shape, 2, 0):
        paid.append(pay(mechanism, hold(rows, shape), monkeypatch)[0])
    stated = mechanism.guarantee.rho
    assert stated * (1 - Fraction(1, 10**8)) < max(paid) <= stated
    alike = pay(mechanism, hold([(0, 0, 0)] * 2, shape), monkeypatch)[0]
    assert alike > stated, "rows that are alike cost more, which is why data must not hold them"


def test_users_of_a_table_pay_no_more_than_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a user with up to four rows, alike or not, what counting keeps is what is priced."""
    keys = {"day": [1, 2], "place": ["a", "b"]}
    mechanism = Tables(rho=RHO, keys=keys, tables=["day+place"], max_rows=2, one_row_per="day")
    for size in range(1, 5):
        cells = itertools.product([1, 2], ["a", "b", "elsewhere"])
        for rows in itertools.combinations_with_replacement(list(cells), size):
            days, places = zip(*rows, strict=True)
            table = pa.table({"who": ["u"] * size, "day": days, "place": places})
            told: dict[str, Any] = {"keys": keys, "user": "who", "max_rows": 2}
            counts = KeyedCounts.from_table(table, **told, unlisted="drop", one_row_per="day")
            assert pay(mechanism, counts, monkeypatch)[0] <= mechanism.guarantee.rho


def test_data_that_were_bounded_otherwise_are_refused() -> None:
    mechanism, shape = make(), (3, 4, 2)
    rows = [(0, 0, 0), (1, 0, 0)]
    assert mechanism.release(hold(rows, shape)).value.total is not None
    promised = mechanism.release(np.ones(shape, int))
    assert str(promised.provenance["unit"]) == "one user, as promised by the caller"
    assert promised.guarantee.unit == PrivacyUnit("user"), "not any two records"
    for other in (None, "place", "sex"):
        with pytest.raises(BoundsError, match="one_row_per='day'"):
            mechanism.release(hold(rows, shape, one_row_per=other))
    with pytest.raises(BoundsError, match="max_rows=3"):
        mechanism.release(hold(rows, shape, max_rows=3))
    # Rows that differ may be priced as if they did not.
    assert make(one_row_per=None).release(hold(rows, shape))


def test_scales_that_cost_more_than_stated_draw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where one row alone costs no more than was meant."""
    mechanism = make(tables=["day", "place"])
    lattice, scales, counts = mechanism.lattice, dict(mechanism.scales), hold([], (3, 4, 2))
    # The same cost of one row, but more of it where two rows that differ agree.
    less = {table: scale * 4 if 0 in table else scale for table, scale in scales.items()}
    alone = sum((lattice.share(t) / (2 * s**2) for t, s in less.items()), Fraction(0))
    factor = Fraction(math.isqrt(math.ceil(alone / mechanism.rho_of_row * 10**20)) + 1, 10**10)
    less = {table: scale * factor for table, scale in less.items()}
    assert lattice.costs_at_most(less, mechanism.rho_of_row)
    monkeypatch.setattr("dphist.tables.measuring.choose_scales", lambda *_: less)
    with pytest.raises(RuntimeError, match="more than the release states"):
        mechanism.release(counts)


def test_noise_is_smaller_by_the_root_of_the_price() -> None:
    days: Mapping[str, Any] = {"day": range(31), "place": list("abcdefgh")}
    alike, apart = (
        Tables(epsilon=1, delta="1e-6", keys=days, tables=["day+place"], max_rows=31, **more)
        for more in cast("list[dict[str, Any]]", [{}, {"one_row_per": "day"}])
    )
    assert alike.guarantee.rho == apart.guarantee.rho
    gain = alike.expected_error() / apart.expected_error()
    assert abs(gain - math.sqrt(31**2 / float(apart.rows_cost))) < 1e-6
    assert gain > 1.3


EXCHANGED: dict[str, tuple[dict[str, Any], Any]] = {
    "tight": ({"day": [1, 2, 3, 4], "place": ["a", "b"]}, ["day+place"]),
    "few days": ({"day": [1, 2], "place": ["a", "b"]}, ["day+place"]),
    "overlapping": ({"day": [1, 2], "place": ["a", "b", "c"], "sex": [1, 2]}, ["day+place", "sex"]),
    "without the key": ({"day": [1, 2], "place": ["a", "b", "c"]}, ["place"]),
}


@pytest.mark.parametrize("name", EXCHANGED)
def test_an_exchange_of_units_costs_what_is_stated(name: str) -> None:
    """All pairs of units with up to two rows that differ, or none."""
    keys, tables = EXCHANGED[name]
    mechanism = make(tables=tables, keys=keys)
    shape, scales = tuple(mechanism.keys.shape), mechanism.scales
    stated = mechanism.exchanged
    assert isinstance(stated, ZCDP)
    assert stated.unit == PrivacyUnit("user", exchanged=True)
    cells = list(itertools.product(*map(range, shape)))
    held = {(c, d): entry(scales, shape, c, d) for c in cells for d in cells}
    every = [(), *units(shape, 2, 0)]
    largest = Fraction(0)
    for one, other in itertools.product(every, every):
        both = [(1, row) for row in one] + [(-1, row) for row in other]
        paid = sum(a * b * held[c, d] for a, c in both for b, d in both)
        largest = max(largest, Fraction(paid, 2))
    assert mechanism.guarantee.rho * Fraction(9, 10) < largest <= stated.rho
    assert stated.rho <= 4 * mechanism.guarantee.rho
    if name == "tight":
        assert largest > stated.rho * (1 - Fraction(1, 10**9))


def test_the_command_takes_a_budget_for_an_exchange() -> None:
    """Noise is such that an exchange costs nearly all of it, and no more."""
    budget = make().guarantee
    less = _price_exchange(make, make())
    assert isinstance(less.exchanged, ZCDP)
    assert budget.rho * (1 - Fraction(1, 10**6)) < less.exchanged.rho <= budget.rho
    assert less.guarantee.rho < budget.rho
