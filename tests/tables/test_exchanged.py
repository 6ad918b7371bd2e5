"""What a record of tables costs that is exchanged: docs/understand/proofs/exchanged.md, Lemma 4."""

import itertools
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.arrays import IntArray
from dphist.tables.contrasts import make_contrasts
from dphist.tables.lattice import MOST_PATTERNED, Lattice

SWAPPED = dh.PrivacyUnit("record", exchanged=True)
KEYS: Mapping[str, Any] = {"a": [1, 2, 3], "b": [1, 2, 3, 4], "c": [0, 1], "d": ["one"]}
CASES: dict[str, Mapping[str, Any]] = {
    "all": {"tables": ["a+b+c"]},
    "pairs": {"tables": ["a+b", "b+c", "a+c"]},
    "one way": {"tables": ["a", "b"]},
    "weights": {"tables": ["a+b", "c"], "weights": {"c": 50}},
    "errors": {"tables": ["a+b", "c", "a+b+c"], "errors": {"c": "0.2"}},
    "nearly the total alone": {"tables": ["c", "d"], "weights": {"d": 10**6, "c": "1e-6"}},
    "total alone": {"tables": ["d"]},
}


def paid(mechanism: dh.Tables, difference: IntArray) -> Fraction:
    """What tables that differ so pay, by each contrast of each table, as noise is drawn."""
    kept, total = mechanism.kept, Fraction(0)
    shape = [mechanism.keys.shape[i] for i in kept]
    moved = difference.reshape(shape).astype(object)
    for table, scale in mechanism.scales.items():
        summed = moved.sum(axis=tuple(i for i in range(len(shape)) if i not in table))
        lengths = [
            {int(row): length for length, rows in make_contrasts(shape[i]).groups() for row in rows}
            for i in table
        ]
        for rows in itertools.product(*lengths):
            exact, own = summed, scale
            for i, row, length in zip(table, rows, lengths, strict=True):
                exact = make_contrasts(shape[i]).rows()[row].astype(object) @ exact.reshape(
                    shape[i], -1
                )
                own *= length[row]
            number = int(np.asarray(exact).sum())
            total += Fraction(number) ** 2 / (2 * own**2)
    return total


def records(shape: tuple[int, ...], most: int, least: int = 0) -> Iterator[IntArray]:
    """All data of at most a number of records."""
    places = list(np.ndindex(shape))
    for many in range(least, most + 1):
        for each in itertools.combinations_with_replacement(places, many):
            counts = np.zeros(shape, np.int64)
            for place in each:
                counts[place] += 1
            yield counts


def made(name: str, **more: Any) -> dh.Tables:
    return dh.Tables(rho="1/2", keys=KEYS, **CASES[name], **more)


@pytest.mark.parametrize("name", CASES)
def test_all_pairs_of_cells_pay_what_is_stated(name: str) -> None:
    """Every record for every other one, and for one in no cell; the worst of them pays it all."""
    mechanism = made(name)
    assert mechanism.exchanged.unit == SWAPPED
    stated, worst = mechanism.exchanged.rho, Fraction(0)
    ones = list(records(mechanism.keys.shape, 1))
    for mine, its in itertools.combinations(ones, 2):
        cost = paid(mechanism, mine - its)
        assert cost <= stated
        worst = max(worst, cost)
    assert worst >= stated * (1 - Fraction(1, 10**9))
    assert stated <= mechanism.guarantee.for_exchange().rho


@pytest.mark.parametrize("name", CASES)
def test_the_largest_of_all_patterns_is_rounded_up_and_by_little(name: str) -> None:
    """Against sums over all pairs of cells, in fractions."""
    mechanism = made(name)
    shape, scales = mechanism.lattice.shape, mechanism.scales
    worst = Fraction(0)
    for pattern in itertools.product((0, 1), repeat=len(shape)):
        cost = Fraction(0)
        for table, scale in scales.items():
            product = mechanism.lattice.share(table)
            agreeing = math.prod(
                (Fraction(pattern[i]) - Fraction(1, shape[i]) for i in table), start=Fraction(1)
            )
            cost += (product - agreeing) / scale**2
        worst = max(worst, cost)
    exact = max(worst, mechanism.rho_of_row)
    stated = mechanism.lattice.exchange_cost(scales, mechanism.rho_of_row)
    assert exact <= stated <= exact * (1 + Fraction(1, 2**60))


def test_persons_of_several_rows_pay_the_square() -> None:
    """All persons of up to two rows, exchanged for all others; the rows may be in no cell."""
    keys = {"a": [1, 2, 3], "b": [0, 1]}
    mechanism = dh.Tables(rho=1, keys=keys, tables=["a+b"], max_rows=2)
    stated, worst = mechanism.exchanged.rho, Fraction(0)
    assert mechanism.exchanged.unit == dh.PrivacyUnit("record", 2, exchanged=True)
    for mine, its in itertools.combinations(records((3, 2), 2), 2):
        cost = paid(mechanism, mine - its)
        assert cost <= stated
        worst = max(worst, cost)
    assert worst >= stated * (1 - Fraction(1, 10**9))


def test_the_numbers_of_the_proof() -> None:
    """3 by 4 by 2, all tables, every cell with the same variance: 1.75 rho, and not 4 rho."""
    exchanged = made("all").exchanged.rho
    assert float(exchanged) == pytest.approx(1.75 / 2, abs=1e-9)
    assert made("total alone").exchanged == dh.ZCDP("1/2", SWAPPED)  # one may be in no cell
    assert float(made("all", max_rows=3).exchanged.rho) == pytest.approx(1.75 / 2, abs=1e-9)
    event = made("all").dp_event(exchanged=True)
    assert event.noise_multiplier == pytest.approx((2 * float(exchanged)) ** -0.5, rel=1e-9)


def test_keys_of_which_there_are_too_many_patterns_pay_four_times() -> None:
    shape = (2,) * (MOST_PATTERNED + 1)
    lattice = Lattice(shape, tuple((i,) for i in range(len(shape))))
    scales = dict.fromkeys(lattice.family, Fraction(9))
    assert lattice.exchange_cost(scales, Fraction(1, 3)) == Fraction(4, 3)
    fewer = Lattice(shape[1:], tuple((i,) for i in range(len(shape) - 1)))
    rho = (1 + Fraction(len(shape) - 1, 2)) / (2 * 81)
    cost = fewer.exchange_cost(dict.fromkeys(fewer.family, Fraction(9)), rho)
    assert cost == max(rho, Fraction(len(shape) - 1, 81))


def test_accounts_and_releases_state_it() -> None:
    mechanism = made("all")
    for unlisted in ("error", "drop"):
        frame = {"a": [1, 2, 9 if unlisted == "drop" else 1], "b": [1, 1, 1], "c": [0, 1, 0]}
        data = dh.KeyedCounts.from_table(
            pd.DataFrame({**frame, "d": ["one"] * 3}), keys=KEYS, unlisted=unlisted
        )
        release = mechanism.release(data)
        assert release.exchanged == mechanism.exchanged


def test_pure_tables_and_found_values_take_two_steps() -> None:
    """Contrasts may fall, and values that are found depend on all records: group privacy alone."""
    for tables in ("a+b+c", "a"):
        pure = dh.Tables(epsilon=1, keys=KEYS, tables=[tables])
        assert pure.exchanged == pure.guarantee.for_exchange()
        assert pure.exchanged.epsilon == 2
        assert pure.dp_event(exchanged=True) is not None
    found = dh.Tables(
        rho="1/10", delta="1e-6", tables=["a"], max_rows=2, keys={"a": dh.DiscoverKeys(share="0.3")}
    )
    assert found.exchanged == found.guarantee.for_exchange()
    assert found.exchanged.delta > 2 * found.guarantee.delta
