"""Laws that are products of normal draws: delta is enclosed, and wrong noise of tables is found."""

import functools
import itertools
import math
import time
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import dphist as dh
from dphist.arrays import FloatArray, IntArray
from dphist.document.audited import Pair
from dphist.lab.auditing.exact.laws import ONE
from dphist.lab.auditing.exact.products import (
    ProductLaw,
    TooLargeError,
    compute_law,
    find_moved,
    list_losses,
)
from dphist.lab.auditing.replay.session import replace_samplers
from dphist.lab.auditing.subject import make_subject
from dphist.tables import measuring
from dphist.tables.lattice import Lattice

SHAPES = [(2, 2), (2, 3)]


def tables(shape: tuple[int, ...], **more: Any) -> dh.Tables:
    keys = {name: range(size) for name, size in zip("abc", shape, strict=False)}
    given = {"epsilon": 2, "delta": "0.05", "tables": ["+".join(keys)], **more}
    return dh.Tables(keys=keys, **given)


def neighbors(shape: tuple[int, ...]) -> Iterator[tuple[str, IntArray, IntArray]]:
    """Yield a pair for each cell, from nothing and from counts that are all different."""
    for base in (np.zeros(shape, np.int64), np.arange(math.prod(shape)).reshape(shape) * 1000):
        for cell in itertools.product(*map(range, shape)):
            grown = base.copy()
            grown[cell] += 1
            yield f"{base.sum()}; {cell}", base, grown


def float_delta(moved: Any, epsilon: float) -> float:
    """Sum over all noisy numbers of all draws, in floating point."""
    here: FloatArray = np.ones(1)
    there: FloatArray = np.ones(1)
    for sigma, moves in moved:
        far = math.ceil(7 * float(sigma)) + moves
        z = np.arange(-far, far + 1)
        scale = float(sigma)
        laws = [norm.cdf((x + 0.5) / scale) - norm.cdf((x - 0.5) / scale) for x in (z, z + moves)]
        here, there = (np.outer(a, b).ravel() for a, b in zip((here, there), laws, strict=True))
    return float(np.maximum(here - math.exp(epsilon) * there, 0).sum())


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.3, 2.0, 4.0])
def test_delta_of_a_product_is_enclosed_and_close(epsilon: float) -> None:
    moved = ((Fraction(9, 10), 1), (Fraction(3, 2), 1), (Fraction(5, 3), 2))
    law, exact = compute_law(moved, math.inf), float_delta(moved, epsilon)
    low, high = (f(Fraction(epsilon)) for f in (law.delta_at_least, law.delta_at_most))
    assert low <= exact + 1e-9
    assert high >= exact - 1e-9
    assert high - low < 0.005
    assert law.unreached < Fraction(1, 10**8)
    shown = law.epsilon_at(Fraction(exact))
    assert shown <= epsilon + 1e-6
    assert shown > epsilon - 0.02


def test_what_is_left_out_counts_against_the_claim() -> None:
    """The probability of draws far out, and none of a law that lists nothing."""
    step = Fraction(1, 8)
    law = ProductLaw(step, {0: ONE // 2}, {0: ONE // 2 + 1}, 1)
    assert law.unreached == Fraction(1, 2)
    assert law.delta_at_least(Fraction(1)) == 0
    assert law.delta_at_most(Fraction(1)) == Fraction(1, 2)
    assert law.delta_at_most(Fraction(0)) >= Fraction(1, 2)
    certain = ProductLaw(step, {80: ONE}, {80: ONE}, 1)
    for bound in (certain.delta_at_least, certain.delta_at_most):
        assert float(bound(Fraction(9))) == pytest.approx(1 - math.exp(-1), abs=1e-12)
        assert bound(Fraction(10)) == 0


def test_losses_of_a_draw_are_enclosed() -> None:
    for sigma, moves in ((Fraction(2, 3), 1), (Fraction(7), 3)):
        for (low, high), (below, above) in list_losses(sigma, moves)[:9]:
            assert low <= high
            assert 0 < above - below < Fraction(1, 10**30)
    z = 0
    chances = [norm.cdf((x + 0.5) / 7) - norm.cdf((x - 0.5) / 7) for x in (z, z + 3)]
    assert float(list_losses(Fraction(7), 3)[0][1][0]) == pytest.approx(
        math.log(chances[0] / chances[1]), abs=1e-9
    )


def test_laws_that_take_too_long_are_given_up() -> None:
    with pytest.raises(TooLargeError):
        compute_law(((Fraction(1), 1),) * 9, math.inf)
    with pytest.raises(TooLargeError):
        compute_law(((Fraction(1000), 1),), math.inf)
    with pytest.raises(TooLargeError):
        compute_law(((Fraction(2), 1),) * 3, time.monotonic() - 1)


@pytest.mark.parametrize("shape", SHAPES)
def test_tables_hold_on_all_neighbors(shape: tuple[int, ...]) -> None:
    """The law is that of one draw a contrast, with a delta within the claim, for each cell."""
    mechanism = tables(shape)
    pairs = [*neighbors(shape)]
    found = dh.audit(mechanism, pairs, seconds=100, layers=["exact"])
    assert found.layers[0].verdict == "holds"
    assert f"The laws of {len(pairs)} of {len(pairs)} pairs are products" in found.layers[0].covered
    assert f"{math.prod(shape)} draws" in found.layers[0].covered
    assert 1.7 < found.epsilon_lower < 2
    with replace_samplers():
        laws = {
            find_moved(make_subject(mechanism), Pair(name, one, other))
            for name, one, other in pairs
        }
    assert None not in laws
    assert {len(moved) for moved in laws} == ({4} if shape == (2, 2) else {4, 6})  # some weigh 0
    assert max(float_delta(moved, 2.0) for moved in laws if len(moved) == 4) <= 0.05


def plant(monkeypatch: pytest.MonkeyPatch, factor: Fraction, contrasts: Any) -> None:
    """Let some contrasts have another standard deviation than was paid for."""
    real = measuring.add_noise

    def wrong(
        exact: IntArray, lattice: Lattice, table: Any, scale: Fraction, *rest: Any
    ) -> IntArray:
        changed = scale * factor if contrasts in (None, table) else scale
        return real(exact, lattice, table, changed, *rest)

    monkeypatch.setattr(measuring, "add_noise", wrong)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("factor", "contrasts"),
    [
        (Fraction(7, 10), None),  # half of the variance
        (Fraction(1, 2), ()),  # the total is hardly paid
        (Fraction(1, 2), (0, 1)),
    ],
)
def test_wrong_noise_of_tables_is_refuted(
    shape: tuple[int, ...],
    factor: Fraction,
    contrasts: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch, factor, contrasts)
    found = dh.audit(tables(shape), seconds=100, layers=["exact"])
    assert found.refuted
    assert found.certain
    assert found.layer == "exact"
    assert found.epsilon_lower > 2.1
    assert "the noisy numbers of the release are likelier" in found.event.lower()


def test_more_noise_than_paid_is_not_accused(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, Fraction(11, 10), None)
    found = dh.audit(tables((2, 2)), seconds=60, layers=["exact"])
    assert found.layers[0].verdict == "holds"
    assert found.epsilon_lower < 1.9


def test_what_is_no_product_is_not_taken_for_one() -> None:
    """Geometric noise is enumerated; a subclass, or another mechanism, states nothing."""
    pair = Pair("one", np.zeros((2, 2), np.int64), np.eye(2, dtype=np.int64)[:1] * [[1], [0]])

    class Other(dh.LeafCounts):
        pass

    one, other = np.zeros(2, np.int64), np.array([1, 0])
    for mechanism in (dh.LeafCounts(epsilon=1, bins=2), Other(rho=1, bins=2)):
        with replace_samplers():
            assert find_moved(make_subject(mechanism), Pair("one", one, other)) is None
    pure = dh.Tables(epsilon=1, keys={"a": range(2)}, tables=["a"])
    with replace_samplers():
        assert find_moved(make_subject(pure), Pair("one", one, other)) is None
    assert find_moved(make_subject(functools.partial(tables, (2, 2))), pair) is None
