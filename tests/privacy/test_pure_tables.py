"""What a record and a unit pay for tables by pure epsilon: proofs/tables.md, Lemmas 7 to 9."""

import itertools
from collections.abc import Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from dphist.arrays import IntArray
from dphist.privacy import PureDP
from dphist.privacy.conversion import geometric_to_rho, pure_to_rho
from dphist.tables import KeyedCounts, Tables, drawing, measuring, pure
from dphist.tables.contrasts import LARGEST_PRODUCT, make_contrasts, measure_all
from dphist.tables.pure import PureLaw, compute_reach, list_paths

CLOSE = 1 - Fraction(1, 10**9)
SIZES = [1, 2, 3, 4, 5, 6, 7, 9, 12, 16, 25, 31, 50, 64]


@pytest.mark.parametrize("size", SIZES)
def test_paths_are_those_of_the_contrasts(size: int) -> None:
    contrasts = make_contrasts(size)
    rows = np.abs(contrasts.rows())
    lengths = {row: length for length, places in contrasts.groups() for row in places.tolist()}
    found = {
        tuple(sorted((lengths[row], int(rows[row, value])) for row in range(1, size) if entry[row]))
        for value, entry in enumerate(rows.T)
    }
    assert {tuple(sorted(path)) for path in list_paths(size)} == found
    most = max(sum((entry / length for length, entry in path), Fraction(0)) for path in found)
    assert most <= compute_reach(size) <= most + Fraction(size, 2**40)


KEYS: Mapping[str, Mapping[str, Any]] = {
    "2x2": {"a": ["x", "y"], "b": [1, 2]},
    "3x2": {"a": ["x", "y", "z"], "b": [1, 2]},
    "5x4x3": {"a": range(5), "b": range(4), "c": range(3)},
    "7": {"a": range(7), "d": [0]},
}
ASKED: dict[str, tuple[str, Mapping[str, Any]]] = {
    "2x2": ("2x2", {"tables": ["a+b"]}),
    "2x2 by sums": ("2x2", {"tables": ["a", "b"], "weights": {"a": 9}}),
    "3x2, two rows": ("3x2", {"tables": ["a+b", "a"], "max_rows": 2}),
    "3x2, weights": ("3x2", {"tables": ["a+b", "b"], "weights": {"b": "0.1"}, "max_rows": 3}),
    "5x4x3": ("5x4x3", {"tables": ["a+b+c"]}),
    "5x4x3, pairs": ("5x4x3", {"tables": ["a+b", "b+c", "a+c"], "max_rows": 2}),
    "5x4x3, errors": ("5x4x3", {"tables": ["a+b", "c"], "errors": {"c": "0.5"}}),
    "7": ("7", {"tables": ["a"]}),
}


class Recorder:
    """Stands in for noise: each number drawn is the index of its rate, times a large number."""

    STEP = 2**40

    def __init__(self) -> None:
        self.rates: list[Fraction] = []
        self.drawn = 0

    def __call__(self, rate: Fraction, size: int, source: Any) -> IntArray:
        self.rates.append(Fraction(rate))
        self.drawn += size
        return np.full(size, len(self.rates) * self.STEP, np.int64)


def on_contrasts(name: str, epsilon: Any, monkeypatch: pytest.MonkeyPatch) -> Tables:
    """Return a mechanism with noise on contrasts, also where cells would have the smaller error."""
    monkeypatch.setattr(pure, "MOST_CELLS", 0)
    pure.choose_noise.cache_clear()
    keys, more = ASKED[name]
    made = Tables(epsilon=epsilon, keys=KEYS[keys], **more)
    assert made.noise_on == "contrasts"
    return made


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    pure.choose_noise.cache_clear()


def moved_by(
    mechanism: Tables, counts: IntArray, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[tuple[Fraction, int]], int]:
    """Return the rate of each contrast that counts move, and by how much; and the draws."""
    recorder = Recorder()
    for module in (drawing, measuring):
        monkeypatch.setattr(module, "two_sided_geometric", recorder)
    found = []
    held = KeyedCounts.from_counts(counts, keys=mechanism.keys)
    for name, numbers in mechanism.release(held).noisy.items():
        for number in numbers.tolist():
            index, moved = divmod(number + Recorder.STEP // 2, Recorder.STEP)
            moved -= Recorder.STEP // 2
            assert index or not moved, f"no noise on {name}"
            if moved:
                found.append((recorder.rates[index - 1], abs(moved)))
    return found, recorder.drawn


def units(shape: tuple[int, ...], rows: int) -> Iterator[IntArray]:
    cells = int(np.prod(shape))
    for places in itertools.combinations_with_replacement(range(cells), rows):
        yield np.bincount(places, minlength=cells).reshape(shape)


@pytest.mark.parametrize("name", ASKED)
def test_a_record_pays_at_most_what_is_stated(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell, and every unit of few rows, in exact fractions: at most epsilon, and attained."""
    mechanism = on_contrasts(name, "0.7", monkeypatch)
    lattice, rows = mechanism.lattice, mechanism.max_rows
    stated = mechanism.guarantee
    assert isinstance(stated, PureDP)
    assert stated.epsilon == Fraction(7, 10)
    rho = stated.rho or pure_to_rho(stated.epsilon)
    worst, most = Fraction(0), Fraction(0)
    few = rows if np.prod(mechanism.keys.shape) < 10 else 1
    for counts in units(mechanism.keys.shape, few):
        moved, drawn = moved_by(mechanism, counts, monkeypatch)
        assert drawn == sum(map(lattice.contrasts, lattice.family)), "each is drawn once"
        worst = max(worst, sum((rate * by for rate, by in moved), Fraction(0)))
        scaled = [(rate, by * (rows // few)) for rate, by in moved]
        each = (geometric_to_rho(rate * by, by) for rate, by in scaled)
        most = max(most, sum(each, Fraction(0)))
    assert stated.epsilon * CLOSE < worst * (rows // few) <= stated.epsilon
    assert rho * CLOSE < most <= rho + Fraction(1, 10**11)
    law = mechanism.pure
    assert law is not None
    assert law.costs_at_most(mechanism.epsilon_of_row)
    assert not law.costs_at_most(mechanism.epsilon_of_row * CLOSE)


@pytest.mark.parametrize("name", ASKED)
def test_a_rho_of_many_contrasts_is_never_below_their_sum(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there are too many to add up, it is that of Gaussian noise of as large a scale."""
    mechanism = on_contrasts(name, 3, monkeypatch)
    law = mechanism.pure
    assert law is not None
    exact = law.rho(Fraction(3), mechanism.max_rows)
    monkeypatch.setattr(pure, "_MOST_TERMS", 0)
    assert exact <= law.rho(Fraction(3), mechanism.max_rows) < 2 * exact


@pytest.mark.parametrize(
    ("name", "tables", "rows"), [("2x2", ["a+b"], 3), ("3x2", ["a", "b"], 1), ("7", ["a"], 2)]
)
def test_each_cell_gets_noise_of_its_own(
    name: str, tables: list[str], rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One draw a cell, at epsilon over the rows; all else is a function of noisy cells."""
    mechanism = Tables(epsilon=2, keys=KEYS[name], tables=tables, max_rows=rows)
    assert mechanism.noise_on == "cells"
    calls = []

    def draw(rate: Fraction, size: int, _source: Any) -> IntArray:
        calls.append((rate, size))
        return np.arange(size, dtype=np.int64) * 1000 - 900

    for module in (drawing, measuring):
        monkeypatch.setattr(module, "two_sided_geometric", draw)
    shape = mechanism.keys.shape
    exact = np.arange(np.prod(shape)).reshape(shape)
    found = mechanism.release(exact).value
    (called,) = calls
    assert called == (Fraction(2, rows), exact.size)
    noisy = exact + (np.arange(exact.size) * 1000 - 900).reshape(shape)
    for names in mechanism.tables:
        kept = [mechanism.keys.names.index(each) for each in names]
        away = tuple(i for i in range(len(shape)) if i not in kept)
        assert found.table(*names).counts == pytest.approx(noisy.sum(axis=away), abs=1e-9)
    assert mechanism.guarantee == PureDP(2, mechanism.guarantee.unit)
    assert mechanism.guarantee.to_zcdp().rho == geometric_to_rho(Fraction(2), rows)


def test_rates_that_cost_more_than_stated_draw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = on_contrasts("5x4x3", 1, monkeypatch)
    good = mechanism.pure
    assert good is not None
    with pytest.raises(TypeError):
        good.scales[()] = Fraction(1)  # type: ignore[index]
    smaller = {**good.scales, (1,): good.scales[1,] * (1 - Fraction(1, 2**30))}
    bad = [
        PureLaw(good.lattice, None, MappingProxyType(smaller)),
        PureLaw(good.lattice, (0, 1, 2), {(0, 1, 2): CLOSE}),
    ]
    for law in bad:
        recorder = Recorder()
        monkeypatch.setattr(measuring, "choose_noise", lambda *_, law=law: law)
        for module in (drawing, measuring):
            monkeypatch.setattr(module, "two_sided_geometric", recorder)
        with pytest.raises(RuntimeError, match="cost more"):
            mechanism.release(np.zeros(mechanism.keys.shape, np.int64))
        assert not recorder.drawn


@pytest.mark.parametrize("name", ["2x2", "5x4x3"])
def test_noise_is_independent_of_the_data(
    name: str, seeded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same random bytes give the same noise, whatever the counts are."""
    for cells in (True, False):
        mechanism = Tables(epsilon=1, keys=KEYS[name], tables=["a+b"])
        if not cells:
            mechanism = on_contrasts(name, 1, monkeypatch)
        rng, noises = np.random.default_rng(1), []
        for counts in (np.zeros(mechanism.keys.shape, np.int64), None):
            drawn = rng.integers(0, 10**9, mechanism.keys.shape) if counts is None else counts
            noisy = mechanism.release(drawn, seeded(5)).noisy
            exact = measure_all(drawn.reshape(*mechanism.keys.shape[:2], -1).sum(axis=2))
            noises.append((noisy["a+b"] - exact[1:, 1:].ravel()).tolist())
        assert noises[0] == noises[1]


def test_the_largest_counts_stop_and_do_not_wrap() -> None:
    """Sums of noisy cells beyond int64 are the largest number that is measured."""
    mechanism = Tables(epsilon=50, keys=KEYS["2x2"], tables=["a+b"])
    assert mechanism.noise_on == "cells"
    noisy = mechanism.release(np.full((2, 2), 2**62 - 1)).noisy
    assert noisy[""].tolist() == [LARGEST_PRODUCT]
    assert abs(noisy["a"]).max() < 10
    assert abs(noisy["a+b"]).max() < 10
