"""Parts without a past: their law, what an event costs, and what rounding adds.

Lemmas 4, 5 and 7 of `docs/understand/proofs/streams.md`. The law is computed in two other ways:
from the stationary parts, given that noise was zero for a long time; and as the matrix of the
innovations' series.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from dphist.streams.counters import toeplitz as module
from dphist.streams.counters.autoregressive import autoregressive_counter, times_factor
from dphist.streams.counters.design import Design, design, toeplitz_designs
from dphist.streams.counters.spectrum import factor, responses, squared_sensitivity
from dphist.streams.counters.toeplitz import (
    FirstDraw,
    ToeplitzCounter,
    first_draw,
    toeplitz_counter,
    variance_without_past,
)

HORIZONS = (1, 2, 3, 7, 8, 20, 64)
SQUARES = (Fraction(1, 10**4), Fraction(1), Fraction(17), Fraction(60000))


class ViolationError(AssertionError):
    """A claim that does not hold."""


def toeplitz_design(horizon: int) -> Design:
    """Return the design with the smallest variance at the horizon."""

    def last(chosen: Design) -> Fraction:
        variance = variance_without_past(chosen.decays, chosen.weights, horizon)
        return chosen.squared_sensitivity * variance

    return min(toeplitz_designs(horizon), key=last)


def drawn_covariance(
    decays: tuple[Fraction, ...], weights: tuple[Fraction, ...], time: int
) -> np.ndarray:
    """Return the covariance of parts that are drawn as stated, (parts, parts)."""
    stated = first_draw(decays, weights, time)
    parts = len(decays)
    mixing = np.eye(parts)
    for j in range(parts):
        for i, coefficient in enumerate(stated.coefficients[j]):
            mixing[j] += coefficient * mixing[i]
    return mixing @ np.diag([float(v) for v in stated.variances]) @ mixing.T


def covariances(
    decays: tuple[Fraction, ...], weights: tuple[Fraction, ...], horizon: int
) -> np.ndarray:
    """Return Cov(X_j(t), N(u)), (parts, horizon, horizon), of parts drawn at 1 and then stepped."""
    theta = np.array([float(t) for t in decays])
    held = np.array([float(w) for w in weights])
    now = drawn_covariance(decays, weights, 1)
    found = np.empty((len(theta), horizon, horizon))
    for time in range(horizon):
        sums = now.sum(axis=1)  # of each part with the whole, at this time
        ahead = theta[:, None] ** np.arange(horizon - time)
        found[:, time:, time] = sums[:, None] * ahead
        found[:, time, time:] = now @ ahead
        now = theta[:, None] * now * theta + np.diag(held * (1 - theta**2))
    return found


def given_no_noise_before(
    decays: tuple[Fraction, ...], weights: tuple[Fraction, ...], past: int
) -> np.ndarray:
    """Return the covariance of stationary parts at 1, given that N was 0 at 1 - past, ..., 0."""
    theta = np.array([float(t) for t in decays])
    held = np.array([float(w) for w in weights])
    gaps = np.arange(past)
    column = (held[:, None] * theta[:, None] ** gaps).sum(axis=0)
    known = column[np.abs(gaps[:, None] - gaps)]
    shared = held[:, None] * theta[:, None] ** (past - gaps)
    return np.diag(held) - shared @ np.linalg.solve(known, shared.T)


def check_law(horizon: int, past: int) -> None:
    chosen = toeplitz_design(horizon)
    drawn = drawn_covariance(chosen.decays, chosen.weights, 1)
    told = given_no_noise_before(chosen.decays, chosen.weights, past)
    if not np.allclose(drawn, told, atol=1e-7):
        raise ViolationError("not the law given that there was no noise before")
    whole = covariances(chosen.decays, chosen.weights, horizon).sum(axis=0)
    root = matrix_of_innovations(chosen.decays, chosen.weights, horizon)
    if not np.allclose(whole, root @ root.T, rtol=1e-8):
        raise ViolationError("not that of the Toeplitz matrix")


def matrix_of_innovations(
    decays: tuple[Fraction, ...], weights: tuple[Fraction, ...], horizon: int
) -> np.ndarray:
    """Return the lower triangular matrix of the series of c(z), by polynomial division."""
    found = factor(decays, weights)
    top, bottom = np.ones(1), np.ones(1)
    for zero in found.zeros:
        top = np.convolve(top, [1, -float(zero)])
    for theta in found.thetas:
        bottom = np.convolve(bottom, [1, -float(theta)])
    series = np.zeros(horizon)
    for h in range(horizon):
        series[h] = (top[h] if h < len(top) else 0) - sum(
            bottom[k] * series[h - k] for k in range(1, min(h, len(bottom) - 1) + 1)
        )
    series *= math.sqrt(found.gain)
    gaps = np.arange(horizon)
    return np.where(gaps[:, None] >= gaps, series[np.abs(gaps[:, None] - gaps)], 0.0)


@pytest.mark.parametrize("horizon", [1, 2, 7, 30])
def test_the_law_is_that_of_noise_without_a_past(horizon: int) -> None:
    check_law(horizon, past=600)


@pytest.mark.parametrize("horizon", [2, 20, 300])
def test_a_later_first_draw_has_the_law_of_an_earlier_one_stepped(horizon: int) -> None:
    chosen = toeplitz_design(horizon)
    theta = np.array([float(t) for t in chosen.decays])
    held = np.array([float(w) for w in chosen.weights])
    first = drawn_covariance(chosen.decays, chosen.weights, 1)
    for time in (1, 2, horizon):
        ahead = theta ** (time - 1)
        stepped = ahead[:, None] * first * ahead + np.diag(held * (1 - ahead**2))
        assert np.allclose(drawn_covariance(chosen.decays, chosen.weights, time), stepped)
        stated = variance_without_past(chosen.decays, chosen.weights, time)
        assert float(stated) == pytest.approx(stepped.sum(), rel=1e-9)


@pytest.mark.parametrize("horizon", [1, 2, 7, 20, 64, 200])
def test_the_first_event_costs_most_and_exactly_what_is_stated(horizon: int) -> None:
    chosen = toeplitz_design(horizon)
    whole = covariances(chosen.decays, chosen.weights, horizon).sum(axis=0)
    inverse = np.linalg.inv(np.linalg.cholesky(whole))
    steps = np.tri(horizon)  # column s is 1[t >= s]
    norms = np.square(inverse @ steps).sum(axis=0)
    stated = float(squared_sensitivity(chosen.decays, chosen.weights, horizon))
    assert norms.argmax() == 0
    assert norms[0] == pytest.approx(stated, rel=1e-8)


def test_coefficients_and_deviations_are_within_the_bounds_of_the_proof() -> None:
    """Of Lemma 5: coefficients from -1 to 0, and no draw narrower than a step of one event."""
    for horizon in (1, 2, 5, 64, 2**12, 2**24, 2**40):
        chosen = toeplitz_design(horizon)
        assert all(response > 0 for response in responses(chosen.decays, chosen.weights))
        for time in (1, 2, horizon):
            drawn = first_draw(chosen.decays, chosen.weights, time)
            assert all(-1 <= b <= 0 for row in drawn.coefficients for b in row)
            for theta, weight, variance in zip(
                chosen.decays, chosen.weights, drawn.variances, strict=True
            ):
                assert weight * (1 - theta**2) <= variance <= weight * (1 + Fraction(1, 10**20))


# --- The whole distance, as it is drawn


def split(counter: ToeplitzCounter, start: int, horizon: int) -> np.ndarray:
    """Split the step 2**unit_bits 1[t >= start], t = 1..horizon, into whole parts: (parts, times).

    By least norm, as the proof does, in float64; the first part takes what rounding leaves.
    """
    each = covariances(counter.decays, counter.variances, horizon) * 4.0**counter.unit_bits
    step = (np.arange(1, horizon + 1) >= start) * 2.0**counter.unit_bits
    parts = np.rint(each @ np.linalg.solve(each.sum(axis=0), step))
    parts[0] = step - parts[1:].sum(axis=0)
    return parts


def squared_distance(counter: ToeplitzCounter, parts: np.ndarray, times: list[int]) -> float:
    """Return a bound of the sum over parts and readings of (shift / sigma)**2.

    At the first time a part is moved by F_j - sum_i b_i F_i, and by one for each product.
    """
    scale, weights = counter._scaled_weights
    drawn = first_draw(counter.decays, weights, times[0])
    total = 0.0
    for j, part in enumerate(parts):
        moved = part[times[0] - 1]
        for coefficient, other in zip(drawn.coefficients[j], parts, strict=False):
            moved -= coefficient * other[times[0] - 1]
        sigma = module.root_above(scale * drawn.variances[j] * 4**counter.unit_bits)
        total += ((abs(moved) + j * (1 + 2**-6)) / float(sigma)) ** 2
        for before, now in itertools.pairwise(times):
            factor_, deviation = counter._transition(j, now - before)
            moved = abs(part[now - 1] - factor_ * part[before - 1]) + 1 + 2**-6
            total += (moved / float(deviation)) ** 2
    return total


def readings(horizon: int) -> Iterator[list[int]]:
    every = list(range(1, horizon + 1))
    rng = np.random.default_rng(horizon)
    yield every
    yield [horizon]
    yield every[::2]
    yield every[1::7] or [1]
    for _ in range(2):
        yield [t for t in every if rng.random() < 0.3] or [1]


def check_distance(counter: ToeplitzCounter, square: Fraction, horizon: int) -> float:
    """Check all places of an event, and return the largest share of what is stated."""
    worst = 0.0
    for start in range(1, horizon + 1):
        parts = split(counter, start, horizon)
        for times in readings(horizon):
            worst = max(worst, squared_distance(counter, parts, times) / float(square))
    if worst > 1:
        raise ViolationError("neighbors are farther apart than stated")
    return worst


@pytest.mark.parametrize("horizon", HORIZONS)
@pytest.mark.parametrize("square", SQUARES, ids=str)
@pytest.mark.quick(every=6)
def test_the_whole_distance_is_at_most_what_is_stated(square: Fraction, horizon: int) -> None:
    share = check_distance(toeplitz_counter(square, horizon), square, horizon)
    assert share > 0.9  # and little is wasted


@pytest.mark.verify
@pytest.mark.parametrize("most", [1, 5])
def test_fewer_readings_cost_less_rounding(most: int) -> None:
    square, horizon = Fraction(3), 64
    counter = toeplitz_counter(square, horizon, most)
    assert counter.unit_bits <= toeplitz_counter(square, horizon).unit_bits
    rng = np.random.default_rng(most)
    for start in range(1, horizon + 1):
        parts = split(counter, start, horizon)
        for _ in range(10):
            times = sorted({start, *rng.choice(np.arange(1, horizon + 1), most - 1).tolist()})
            assert squared_distance(counter, parts, times) <= square


def changed_draw(change: Callable[[Any], Any], patch: pytest.MonkeyPatch) -> None:
    right = first_draw

    def wrong(decays: Any, weights: Any, time: int) -> Any:
        return change(right(decays, weights, time))

    patch.setitem(globals(), "first_draw", wrong)


def independent_first_draw(drawn: Any) -> Any:
    none = tuple(tuple(0.0 for _ in row) for row in drawn.coefficients)
    return FirstDraw(none, drawn.variances)


def narrower_first_draw(drawn: Any) -> Any:
    return FirstDraw(drawn.coefficients, tuple(v * Fraction(8, 10) for v in drawn.variances))


def stronger_coefficients(drawn: Any) -> Any:
    more = tuple(tuple(min(0.0, 1.5 * b) for b in row) for row in drawn.coefficients)
    return FirstDraw(more, drawn.variances)


@pytest.mark.parametrize(
    "change", [independent_first_draw, narrower_first_draw, stronger_coefficients]
)
def test_planted_bugs_in_the_first_draw_are_caught(
    change: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    changed_draw(change, monkeypatch)
    with pytest.raises(ViolationError):
        check_law(20, past=600)


# --- Lemma 5 at the first time, step by step


def test_a_first_shift_of_whole_numbers_is_off_by_no_more_than_stated() -> None:
    """Against the bounds that `first_squared_shifts` adds up."""
    rng = np.random.default_rng(1)
    for horizon in (7, 64, 2**16):
        counter = toeplitz_counter(Fraction(3), horizon)
        parts = counter.width
        drawn = first_draw(counter.decays, counter._scaled_weights[1], 1)
        found = [0.0] * parts
        for _ in range(400):
            reals = rng.normal(size=parts) * 2.0 ** rng.integers(1, 36)
            step = float(rng.integers(0, 2) * 2**counter.unit_bits)
            reals[0] = step - reals[1:].sum()
            whole = np.rint(reals)
            whole[0] = step - whole[1:].sum()
            y = np.rint(rng.normal(size=parts) * 2.0 ** rng.integers(1, 44)).astype(np.int64)
            x = y - whole.astype(np.int64)
            for j in range(parts):
                shift, exact = Fraction(whole[j]), Fraction(reals[j])
                for i, b in enumerate(drawn.coefficients[j]):
                    shift += int(times_factor(x[i : i + 1], b)[0])
                    shift -= int(times_factor(y[i : i + 1], b)[0])
                    exact -= Fraction(b) * Fraction(reals[i])
                found[j] = max(found[j], abs(float(shift - exact)))
        # F̂_0 is off by a half for each other part, the others by a half.
        total = sum(square**2 for square in found)
        assert total <= module.first_squared_shifts(parts)
        for j, off in enumerate(found):
            assert off <= (parts - 1) / 2 * (j > 0) + 0.5 + (parts - 1) / 2 + 1.6 * j


def test_the_rounding_is_added_to_the_distance() -> None:
    """n**2 = S / scale, r**2 = (first + (M - 1) later) / s**2, with s the smallest deviation."""
    for horizon in (1, 8, 64, 4096, 2**16, 2**24):
        for square, most in itertools.product(SQUARES, (1, min(horizon, 1000))):
            counter = toeplitz_counter(square, horizon, most)
            scale, weights = counter._scaled_weights
            chosen = next(
                each
                for each in toeplitz_designs(horizon)
                if weights == tuple(w / each.weights[0] for w in each.weights)
                and counter.decays == each.decays
            )
            smallest = min(counter._transition(j, 1)[1] for j in range(counter.width))
            parts = counter.width
            added = (most - 1) * ((parts + 0.25) ** 2 + (parts - 1) * 2.25**2)
            offs = [(parts - 1) / 2]
            offs += [parts / 2 + (j - 1) / 2 + j * (1.04 + 1 / 64) for j in range(1, parts)]
            added += sum(off**2 for off in offs)
            n = math.sqrt(chosen.squared_sensitivity / scale * chosen.weights[0])
            r = math.sqrt(added) / float(smallest)
            assert n + r <= math.sqrt(square) * (1 + 1e-12)
            assert n >= 0.87 * math.sqrt(square)
            assert smallest >= 2**8


@pytest.mark.parametrize("horizon", [1, 64, 2**16])
@pytest.mark.parametrize("most", [1, 1000])
def test_the_stated_rounding_is_that_of_the_proof(horizon: int, most: int) -> None:
    """Lemma 7: of the first draw 0.52 (i + 1) units of part i in each part from i on, then 1.01."""
    counter = toeplitz_counter(Fraction(1), horizon, min(most, horizon))
    units = sum(Fraction(52, 100) * (i + 1) for j in range(counter.width) for i in range(j + 1))
    for decay in counter.decays:
        units += Fraction(101, 100) * min(Fraction(counter.times), 1 / (1 - decay))
    assert counter.rounding == units / 2**counter.unit_bits


# --- Lemma 7: the variance that is stated


def test_the_variance_is_that_of_what_is_drawn_rounded_up() -> None:
    for horizon, square in itertools.product((1, 8, 64, 2**16), (Fraction(1, 50), Fraction(60))):
        counter = toeplitz_counter(square, horizon)
        scale, weights = counter._scaled_weights
        for time in {1, 2, horizon // 2 or 1, horizon} - {2} | {min(2, horizon)}:
            drawn = first_draw(counter.decays, weights, time)
            with mpmath.workdps(50):
                mixing = [
                    [mpmath.mpf(i == j) for i in range(counter.width)] for j in range(counter.width)
                ]
                for j in range(counter.width):
                    for i, b in enumerate(drawn.coefficients[j]):
                        mixing[j] = [
                            x + mpmath.mpf(b) * y for x, y in zip(mixing[j], mixing[i], strict=True)
                        ]
                total = mpmath.mpf(0)
                for i, variance in enumerate(drawn.variances):
                    sigma = module.root_above(scale * variance * 4**counter.unit_bits)
                    whole = mpmath.fsum(row[i] for row in mixing)
                    total += (whole * mpmath.mpf(sigma.numerator) / sigma.denominator) ** 2
                total /= mpmath.mpf(4) ** counter.unit_bits
                stated = counter.variance_at(time)
                ratio = mpmath.mpf(stated.numerator) / stated.denominator / total
                assert 1 <= ratio < 1 + mpmath.mpf(2) ** -19
        assert counter.variance == counter.variance_at(horizon)


# --- Better than stationary parts at every horizon


def mean_and_largest(horizon: int) -> tuple[float, float]:
    """Return the mean and the largest variance at a distance of 1."""
    chosen = toeplitz_design(horizon)
    theta = np.array([float(t) for t in chosen.decays])
    held = np.array([float(r) for r in responses(chosen.decays, chosen.weights)])
    near = np.outer(held, held) / (1 - np.outer(theta, theta))
    product = np.outer(theta, theta)
    means = product * (1 - product**horizon) / (1 - product) / horizon
    whole = float(sum(chosen.weights))
    cost = float(chosen.squared_sensitivity)
    return cost * (whole - float((near * means).sum())), cost * (
        whole - float((near * product**horizon).sum())
    )


def test_the_mean_and_the_largest_variance_are_those_that_were_asked_for() -> None:
    mean, largest = mean_and_largest(2**16)
    assert mean <= 19.8
    assert largest <= 21.25
    assert len(toeplitz_design(2**16).decays) == 5


@pytest.mark.parametrize("horizon", [*range(1, 40), 100, 1000, *(2**k for k in range(8, 25, 2))])
@pytest.mark.quick(every=3)
def test_neither_is_above_that_of_stationary_parts(horizon: int) -> None:
    mean, largest = mean_and_largest(horizon)
    assert mean <= largest <= float(design(horizon).cost) * (1 + 1e-9)
    assert len(toeplitz_design(horizon).decays) == len(design(horizon).decays)


@pytest.mark.parametrize("square", [Fraction(1, 400), Fraction(17)], ids=str)
def test_a_counter_is_no_worse_than_the_stationary_one_of_the_same_cost(square: Fraction) -> None:
    """With rounding, and with few readings."""
    for horizon, times in itertools.product((1, 2, 3, 10, 100, 2**12, 2**20), (1, 100, None)):
        asked = (square, horizon, None if times is None else min(times, horizon))
        ours, other = toeplitz_counter(*asked), autoregressive_counter(*asked)
        assert ours.variance <= other.variance * (1 + Fraction(1, 2**16))
