"""Noise that ends: docs/understand/proofs/bounded_noise.md."""

import itertools
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dphist.errors import ParameterError
from dphist.labels.threshold.law import delta_of_one, truncated_delta, truncated_limit
from dphist.noise import geometric
from dphist.noise.finite import FiniteLaw, finite_noise
from dphist.noise.geometric import truncated_geometric
from dphist.noise.optimal import compute_excess, optimal_law, upper_factor
from tests.support.goodness import LEVEL, chi_square_p

# Truncated noise: the sampler.


def test_what_is_drawn_beyond_the_limit_is_drawn_again_in_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scripted = iter([[3, -4, 0, 5], [-9, 2], [-3]])

    def handed_out(_epsilon: object, size: int, _source: object) -> np.ndarray:
        values = np.array(next(scripted))
        assert len(values) == size
        return values

    monkeypatch.setattr(geometric, "two_sided_geometric", handed_out)
    assert truncated_geometric(1, 3, 4).tolist() == [3, -3, 0, 2]


def test_all_that_can_be_drawn_adds_up_to_the_conditional_law(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every sequence of up to six draws of a law with five values, in fractions."""
    law = {x: Fraction(1, 2) ** abs(x) / Fraction(5, 2) for x in range(-2, 3)}
    sequence: Iterator[int]
    monkeypatch.setattr(
        geometric, "two_sided_geometric", lambda *_: np.array([next(sequence)], np.int64)
    )
    found: dict[int, Fraction] = {}
    for drawn in range(1, 7):
        for values in itertools.product((-2, 2), repeat=drawn - 1):
            for last in (-1, 0, 1):
                sequence = iter([*values, last])
                shown = truncated_geometric(1, 1, 1).item()
                chance = math.prod(law[x] for x in [*values, last])
                found[shown] = found.get(shown, Fraction(0)) + chance
    inside = law[-1] + law[0] + law[1]
    reached = 1 - (1 - inside) ** 6
    assert found == {x: law[x] / inside * reached for x in (-1, 0, 1)}


def truncated_tail(epsilon: float, limit: int) -> Any:
    values = np.arange(-limit, limit + 1)
    chances = np.exp(-epsilon * np.abs(values))
    above = np.append(np.cumsum((chances / chances.sum())[::-1])[::-1], 0)

    def tail(z: np.ndarray) -> np.ndarray:
        return above[np.clip(np.asarray(z, int) + limit, 0, 2 * limit + 1)]

    return tail


@pytest.mark.parametrize(("epsilon", "limit"), [("1", 3), ("0.1", 20), ("0.01", 60)])
def test_samples_fit_the_law_and_clipped_ones_do_not(epsilon: str, limit: int) -> None:
    tail = truncated_tail(float(epsilon), limit)
    samples = truncated_geometric(epsilon, limit, 100_000, random.Random(1).randbytes)
    assert chi_square_p(samples, tail) > LEVEL
    whole = geometric.two_sided_geometric(epsilon, 100_000, random.Random(1).randbytes)
    assert chi_square_p(np.clip(whole, -limit, limit), tail) < LEVEL


def test_a_limit_is_a_whole_number() -> None:
    with pytest.raises(ParameterError, match="limit"):
        truncated_geometric(1, -1, 1)
    assert truncated_geometric(1, 0, (2, 3)).tolist() == [[0] * 3] * 2


# Truncated noise: the limit.

rates = st.fractions(min_value=Fraction(1, 10**6), max_value=20, max_denominator=10**7)
small_deltas = st.integers(3, 80).map(lambda n: Fraction(1, 10**n))


def tail_beyond(rate: Fraction, limit: int, count: int) -> mpmath.mpf:
    """Pr[X > limit - count], summed up."""
    a = mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator)
    whole = 1 + 2 * (a - a ** (limit + 1)) / (1 - a)
    return (a ** (limit - count + 1) - a ** (limit + 1)) / (1 - a) / whole


def of_any(chance: mpmath.mpf, labels: int) -> mpmath.mpf:
    return -mpmath.expm1(labels * mpmath.log1p(-chance))


@settings(max_examples=100, deadline=None)
@given(
    rates,
    small_deltas,
    st.one_of(st.integers(1, 20), st.integers(1, 2**40)),
    st.one_of(st.integers(1, 5), st.integers(1, 10**6)),
)
def test_the_limit_is_the_least_that_keeps_delta(
    rate: Fraction, delta: Fraction, labels: int, count: int
) -> None:
    limit = truncated_limit(rate, delta, labels, count)
    with mpmath.workdps(200):
        at = of_any(tail_beyond(rate, limit, count), labels)
        exact = mpmath.mpf(delta.numerator) / delta.denominator
        assert at <= exact
        reached = truncated_delta(rate, limit, delta, labels, count)
        assert at <= mpmath.mpf(reached.numerator) / reached.denominator <= at * (1 + 1e-11)
        if limit > max(count, math.ceil(1 / (8 * rate))):
            assert of_any(tail_beyond(rate, limit - 1, count), labels) > exact


@pytest.mark.parametrize(
    ("rate", "labels", "count", "limit"),
    [("1", 1, 1, 14), ("0.1", 1, 1, 109), ("1e-3", 3, 5, 20_000), ("1e-6", 1, 1, 15_000_000)],
)
def test_a_delta_just_below_that_of_a_limit_needs_the_next_one(
    rate: str, labels: int, count: int, limit: int
) -> None:
    """No float could tell these deltas apart: they differ in the fortieth digit."""
    with mpmath.workdps(200):
        at = of_any(tail_beyond(Fraction(rate), limit, count), labels)
        above, below = (
            Fraction(int(at * 10**120 * (1 + side * mpmath.mpf(10) ** -40)), 10**120)
            for side in (1, -1)
        )
    assert truncated_limit(Fraction(rate), above, labels, count) == limit
    assert truncated_limit(Fraction(rate), below, labels, count) == limit + 1


def test_a_delta_far_above_epsilon_still_leaves_noise_that_is_drawn_quickly() -> None:
    assert truncated_limit(Fraction(1, 10**6), Fraction(9, 10), 1, 1) == 125_000


@pytest.mark.parametrize(("delta", "labels"), [("1e-6", 3), ("0.3", 2), ("1e-30", 2**40)])
def test_the_delta_of_one_label_is_nearly_the_largest(delta: str, labels: int) -> None:
    one = delta_of_one(Fraction(delta), labels)
    with mpmath.workdps(100):
        exact = -mpmath.expm1(mpmath.log1p(-mpmath.mpf(delta)) / labels)
        share = mpmath.mpf(one.numerator) / one.denominator / exact
        assert 1 - mpmath.mpf(10) ** -18 < share <= 1


# Truncated noise: delta, all neighbors enumerated with a = 1/2, so that exp(epsilon) = 2**(m c).


def hockey_stick(p: dict[Any, Fraction], q: dict[Any, Fraction], ratio: Fraction) -> Fraction:
    return sum((max(v - ratio * q.get(y, 0), Fraction(0)) for y, v in p.items()), Fraction(0))


def joint(laws: list[dict[Any, Fraction]]) -> dict[Any, Fraction]:
    found: dict[Any, Fraction] = {}
    for chosen in itertools.product(*(law.items() for law in laws)):
        key = tuple(y for y, _ in chosen)
        found[key] = found.get(key, Fraction(0)) + math.prod(p for _, p in chosen)
    return found


def show(noise: dict[int, Fraction], count: int, threshold: int | None) -> dict[Any, Fraction]:
    """Law of what is released of a label; None: not shown. Listed labels have no threshold.

    A label with a count of 0 that nobody listed is not in the data, and gets no noise.
    """
    if threshold is not None and count == 0:
        return {None: Fraction(1)}
    found: dict[Any, Fraction] = {}
    for x, p in noise.items():
        y = count + x if threshold is None or count + x > threshold else None
        found[y] = found.get(y, Fraction(0)) + p
    return found


def half_law(limit: int) -> dict[int, Fraction]:
    weights = {x: Fraction(1, 2 ** abs(x)) for x in range(-limit, limit + 1)}
    return {x: weight / sum(weights.values()) for x, weight in weights.items()}


def clipped_half_law(limit: int) -> dict[int, Fraction]:
    law = {x: Fraction(1, 3 * 2 ** abs(x)) for x in range(-limit, limit + 1)}
    return {x: p * (2 if abs(x) == limit else 1) for x, p in law.items()}


def worst_delta(
    noise: dict[int, Fraction], labels: int, count: int, limit: int, threshold: int
) -> Fraction:
    """Return the largest delta of all neighbors, both ways, at exp(epsilon) = 2**(m c)."""
    worst, ratio = Fraction(0), Fraction(2) ** (labels * count)
    for shown, most in ((threshold, 2 * limit + count + 1), (None, 0)):
        pairs = [(n, n + t) for n in range(most + 1) for t in range(count + 1)]
        for chosen in itertools.combinations_with_replacement(pairs, labels):
            one, other = (
                joint([show(noise, pair[side], shown) for pair in chosen]) for side in (0, 1)
            )
            worst = max(worst, hockey_stick(one, other, ratio), hockey_stick(other, one, ratio))
    return worst


def claim(labels: int, count: int, limit: int) -> Fraction:
    half = Fraction(1, 2)
    top = half ** (limit - count + 1) * (1 - half**count)
    return 1 - (1 - top / (1 + half - 2 * half ** (limit + 1))) ** labels


SMALL = [(1, 1, 4), (1, 2, 5), (1, 3, 6), (2, 1, 3), (2, 2, 3)]


@pytest.mark.parametrize(("labels", "count", "limit"), SMALL)
@pytest.mark.quick("[1-", "[2-1-3")
def test_delta_of_all_neighbors_is_the_formula(labels: int, count: int, limit: int) -> None:
    found = worst_delta(half_law(limit), labels, count, limit, limit)
    assert found == claim(labels, count, limit)


@pytest.mark.parametrize(("labels", "count", "limit"), SMALL[:3])
def test_a_threshold_one_below_or_clipped_noise_exceeds_it(
    labels: int, count: int, limit: int
) -> None:
    wrong = [
        worst_delta(half_law(limit), labels, count, limit, limit - 1),
        worst_delta(clipped_half_law(limit), labels, count, limit, limit),
    ]
    assert min(wrong) > claim(labels, count, limit)


# Laws with finitely many values.


@pytest.mark.parametrize("bits", [64, 72, 128])
def test_values_are_those_of_exact_comparisons(bits: int) -> None:
    """Bits just below, at and just above each border, and far from all."""
    draw = random.Random(bits)
    weights = [1, draw.getrandbits(bits - 3), 3, 1 << bits - 8, draw.getrandbits(bits - 2)]
    weights.append((1 << bits) - sum(weights))
    law = FiniteLaw(-2, tuple(weights), bits)
    borders = list(itertools.accumulate(weights))
    near = {min(max(b + step, 0), (1 << bits) - 1) for b in borders for step in (-2, -1, 0, 1, 2)}
    for whole in [*near, *(draw.getrandbits(bits) for _ in range(50))]:
        rest = bits - 64
        asked = iter([(whole >> rest).to_bytes(8, "little")])
        more = (whole & (1 << rest) - 1).to_bytes(rest // 8, "big")
        found = finite_noise(law, 1, lambda size: next(asked, more)).item()  # noqa: B023
        assert found == -2 + sum(border <= whole for border in borders)


def test_weights_add_up_to_one() -> None:
    with pytest.raises(ValueError, match="add up"):
        FiniteLaw(0, (1, 2), 64)


# The optimal law.

PAIRS = [
    ("1", "1e-6"),
    ("0.1", "1e-6"),
    ("0.05", "1e-8"),
    ("1/3", "1/77"),
    ("5", "1e-3"),
    ("60", "1e-9"),
    ("1", "0.6"),
    ("0.001", "0.9"),
]


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_labels_are_shown_with_the_optimal_chance_at_this_delta(epsilon: str, delta: str) -> None:
    e, d = Fraction(epsilon), Fraction(delta)
    law = optimal_law(e, d)
    steps = list(law.weights)[::-1]
    with mpmath.workdps(80):
        ratio = mpmath.exp(mpmath.mpf(e.numerator) / e.denominator)
        exact, chance, shown = mpmath.mpf(d.numerator) / d.denominator, mpmath.mpf(0), 0
        for step in steps:
            rest = 1 - (1 - chance - exact) / ratio
            chance = min(ratio * chance + exact, rest, mpmath.mpf(1))
            shown += step
            own = mpmath.mpf(shown) / 2**law.bits
            assert own <= chance * (1 + mpmath.mpf(10) ** -40)
            assert own >= chance * (1 - mpmath.mpf(10) ** -15)
        assert chance > 1 - 1e-15
        below = Fraction(int(ratio * 10**60), 10**60)  # just below exp(epsilon)
    sums = sum((law.first + i) * weight for i, weight in enumerate(law.weights))
    assert abs(2 * sums) <= 1 << law.bits  # the mean is within half a record of 0
    if len(steps) < 500:
        noise = {law.first + i: Fraction(w, 1 << law.bits) for i, w in enumerate(law.weights)}
        for count in {0, 1, len(steps) // 2, len(steps) - 1, 3 * len(steps)}:
            for threshold in (law.last, None):
                one, other = (show(noise, count + t, threshold) for t in (0, 1))
                found = hockey_stick(one, other, below), hockey_stick(other, one, below)
                assert max(found) <= d
                if threshold is None:
                    assert max(found) >= d * (1 - Fraction(1, 10**15))
        assert show(noise, 0, law.last) == {None: 1}


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_the_excess_that_is_checked_is_that_of_the_law(epsilon: str, delta: str) -> None:
    """And a law whose first step is larger by a millionth, or that rises faster, exceeds it."""
    e, d = Fraction(epsilon), Fraction(delta)
    factor, bits = upper_factor(e, d)
    steps = list(optimal_law(e, d).weights)[::-1]
    most = d * (1 << bits)
    assert max(compute_excess(steps, factor, bits)) <= most
    moved = steps[0] // 10**6
    assert compute_excess([steps[0] + moved, *steps[1:-1], steps[-1]], factor, bits)[0] > most
    if len(steps) > 4:
        assert max(compute_excess(steps, factor * 1001 // 1000, bits)) > most
    own, least = Fraction(factor, 1 << bits), Fraction(1, 2**64)
    assert max(exponential(e), least) <= own <= max(exponential(e) * (1 + least), least)


def exponential(e: Fraction) -> Fraction:
    with mpmath.workdps(100):
        exact = mpmath.exp(-mpmath.mpf(e.numerator) / e.denominator)
        return Fraction(int(exact * 10**90), 10**90)


def test_too_many_values_are_refused() -> None:
    with pytest.raises(ParameterError, match="truncated"):
        optimal_law(Fraction(1, 10**5), Fraction(1, 10**6))
