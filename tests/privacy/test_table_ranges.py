"""What a record pays where ranges of a key are asked: proofs/tables.md, Lemma 15."""

import itertools
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.tables import KeyedCounts, Tables, drawing, measuring
from dphist.tables.contrasts import make_contrasts
from dphist.tables.key_noise import compute_cost, list_levels, list_paths, make_noise
from tests.support.privacy.tables import Recorder, cells_of, pay

SIZES = [*range(2, 40), 63, 64, 65, 84, 85, 100, 127]
NEARLY = 1 - Fraction(1, 10**9)

CASES: dict[str, Mapping[str, Any]] = {
    "5 by 4, the first": {"keys": {"a": range(5), "b": range(4)}, "ranges": ["a"]},
    "5 by 4, the second": {"keys": {"a": range(5), "b": range(4)}, "ranges": ["b"]},
    "5 by 4, both": {"keys": {"a": range(5), "b": range(4)}, "ranges": ["a", "b"]},
    "7 by 3 by 2": {"keys": {"a": range(7), "b": range(3), "c": range(2)}, "ranges": ["a"]},
    "7 by 3 by 2, two": {"keys": {"a": range(7), "b": range(3), "c": range(2)}, "ranges": "ac"},
    "85": {"keys": {"a": range(85), "b": ["one"]}, "ranges": ["a"]},
    "22": {"keys": {"a": range(22)}, "ranges": ["a"]},
}
TABLES: Mapping[int, Mapping[str, Any]] = {
    1: {"tables": ["a"]},
    2: {"tables": ["a+b"]},
    3: {"tables": ["a+b+c"]},
}


def made(name: str, **more: Any) -> Tables:
    asked = CASES[name]
    keys = {key: [*values] for key, values in asked["keys"].items()}
    ranges = list(asked["ranges"])
    return Tables(**{"rho": "0.3", **TABLES[len(keys)], **more}, keys=keys, ranges=ranges)


@pytest.mark.parametrize("size", SIZES)
def test_no_value_pays_more_than_a_key_costs(size: int) -> None:
    """All values in fractions; one of them pays it, and each contrast is in one group."""
    noise, rows = make_noise(size, True), make_contrasts(size).rows()
    lengths = {row: length for length, places in noise.groups for row in places.tolist()}
    assert sorted(lengths) == [*range(1, size)]
    paid = [
        sum(Fraction(int(rows[row, value])) ** 2 / lengths[row] ** 2 for row in lengths)
        for value in range(size)
    ]
    assert noise.cost * (1 - Fraction(1, 2**50)) < max(paid) <= noise.cost
    entries = {row: {abs(entry) for entry in rows[row].tolist() if entry} for row in range(1, size)}
    for length, places in noise.groups:  # one scale a level, times the largest entry
        assert len({length / max(entries[row]) for row in places.tolist()}) == 1


OTHERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "one way": ("5 by 4, both", {"tables": ["a", "b"]}),
    "weights": ("5 by 4, the second", {"tables": ["a+b", "b"], "weights": {"b": 3}}),
    "overlapping": ("7 by 3 by 2, two", {"tables": ["a+c", "b+c"], "weights": {"b+c": 3}}),
}


@pytest.mark.parametrize(
    ("name", "more"), [*((name, {}) for name in CASES), *OTHERS.values()], ids=[*CASES, *OTHERS]
)
def test_a_release_costs_what_it_states(
    name: str, more: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every cell, by the noise that is drawn: never above rho, and one of them pays it."""
    mechanism = made(name, **more)
    lattice, stated, worst = mechanism.lattice, Fraction(3, 10), Fraction(0)
    for _, counts in cells_of(mechanism.keys.shape):
        paid, drawn = pay(
            mechanism, KeyedCounts.from_counts(counts, keys=mechanism.keys), monkeypatch
        )
        assert drawn == sum(map(lattice.contrasts, lattice.family)), "each is drawn once"
        assert paid <= stated
        worst = max(worst, paid)
    assert worst > stated * NEARLY
    assert lattice.costs_at_most(mechanism.scales, stated)
    assert not lattice.costs_at_most(mechanism.scales, stated * NEARLY)


def test_scales_that_cost_more_than_stated_draw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = made("7 by 3 by 2")
    smaller = {**mechanism.scales, (0,): mechanism.scales[0,] * (1 - Fraction(1, 2**30))}
    monkeypatch.setattr(measuring, "choose_scales", lambda *_: smaller)
    recorder = Recorder()
    monkeypatch.setattr(drawing, "rounded_gaussian", recorder)
    with pytest.raises(RuntimeError, match="cost more"):
        mechanism.release(np.zeros(mechanism.keys.shape, np.int64))
    assert not recorder.drawn


def test_a_unit_of_several_rows_pays_the_square(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {"a": [1, 2, 3], "b": [True, False]}
    mechanism = Tables(rho="0.3", keys=keys, tables=["a+b", "b"], max_rows=3, ranges=["a"])
    worst = Fraction(0)
    for places in itertools.combinations_with_replacement(range(6), 3):
        counts = np.bincount(places, minlength=6).reshape(3, 2)
        held = KeyedCounts.from_counts(counts, keys=keys)
        worst = max(worst, pay(mechanism, held, monkeypatch)[0])
    assert Fraction(3, 10) * NEARLY < worst <= Fraction(3, 10)


@pytest.mark.parametrize("name", ["5 by 4, the first", "5 by 4, both", "7 by 3 by 2"])
def test_an_exchange_costs_at_most_two_steps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All pairs of cells; what is stated holds for each, and is not that of patterns."""
    mechanism = made(name)
    assert mechanism.exchanged == dh.ZCDP("1.2", dh.PrivacyUnit("record", exchanged=True))
    moved = [counts for _, counts in cells_of(mechanism.keys.shape)]
    recorder = Recorder()
    monkeypatch.setattr(drawing, "rounded_gaussian", recorder)
    vectors = []
    for counts in moved:
        noisy = mechanism.release(counts).noisy
        flat = np.concatenate([noisy[name] for name in sorted(noisy)]).astype(object)
        index = (flat + Recorder.STEP // 2) // Recorder.STEP
        scales = [float(recorder.scales[i - 1]) for i in index]
        vectors.append((flat - index * Recorder.STEP).astype(float) / scales)
        recorder.scales.clear()
    found = np.array(vectors)
    inner = found @ found.T
    costs = (np.diag(inner)[:, None] + np.diag(inner)[None, :] - 2 * inner) / 2
    assert costs.max() <= 1.2
    assert made(name, max_rows=2).exchanged.rho == Fraction(12, 10)


def test_kinds_of_values_are_those_of_the_tree() -> None:
    for size in SIZES:
        levels, held = list_levels(size), make_contrasts(size)
        assert len(levels) == held.levels.max() + 1
        for depth, level in enumerate(levels):
            nodes = np.flatnonzero(held.levels == depth)
            assert len(nodes) == level.nodes
            assert {*held.left[nodes].tolist()} == {level.left}
            assert {*held.right[nodes].tolist()} == {level.right}
        rows = held.rows()[1:]
        kinds = set()
        for value in range(size):
            here = np.flatnonzero(rows[:, value])
            places = here[np.argsort(held.levels[here])]
            path = tuple(
                Fraction(int(rows[row, value]), int(abs(rows[row]).max())) ** 2 for row in places
            )
            kinds.add(path)
        assert kinds <= {*map(tuple, list_paths(levels))}
        ones = [Fraction(1)] * len(levels)
        assert compute_cost(levels, ones) == pytest.approx(max(map(sum, kinds)), abs=1e-15)
