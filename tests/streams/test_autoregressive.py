"""What the rounding of decaying parts costs: `docs/understand/proofs/streams.md`, Lemmas 5 and 6.

The distance of neighbours is computed here from what a counter does, not from what it states: a
step of whole numbers is split between the parts (any split proves a bound), and each part's next
value is taken to be moved as far as any values before can have it.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from dphist.errors import ParameterError
from dphist.streams.counters import autoregressive as module
from dphist.streams.counters.autoregressive import (
    AutoregressiveCounter,
    autoregressive_counter,
    power_below,
    times_factor,
)
from dphist.streams.counters.binary import levels
from dphist.streams.counters.design import design, toeplitz_designs
from dphist.streams.counters.toeplitz import ToeplitzCounter, first_squared_shifts
from dphist.streams.mechanism import ContinualMechanism
from dphist.streams.stream import ContinualHistogram

HORIZONS = (1, 2, 3, 7, 8, 20, 64)
SQUARES = (Fraction(1, 10**4), Fraction(1), Fraction(17), Fraction(60000))


class ViolationError(AssertionError):
    """A claim that does not hold."""


def split(counter: AutoregressiveCounter, start: int, horizon: int) -> np.ndarray:
    """Split the step 2**unit_bits 1[t >= start], t = 1..horizon, into whole parts: (parts, times).

    By least norm, as the proof does, in float64; the first part takes what rounding leaves.
    """
    gaps = np.arange(horizon)
    apart = np.abs(gaps[:, None] - gaps)
    each = [
        float(w * 4**counter.unit_bits) * float(theta) ** apart
        for theta, w in zip(counter.decays, counter.variances, strict=True)
    ]
    step = (gaps + 1 >= start) * float(2**counter.unit_bits)
    solved = np.linalg.solve(sum(each), step)
    parts = np.array([np.rint(covariance @ solved) for covariance in each])
    parts[0] = step - parts[1:].sum(axis=0)
    return parts


def squared_distance(counter: AutoregressiveCounter, parts: np.ndarray, times: list[int]) -> float:
    """Return a bound of the sum over parts and readings of (shift / sigma)**2.

    Given y, the next value of y + F is moved by F' + round(a (y - F)) - round(a y): by at most
    |F' - a F| + 1, and the products' floating point, 2**-53 of 2**46 each.
    """
    total = 0.0
    for j, part in enumerate(parts):
        sigma = float(module.root_above(counter.variances[j] * 4**counter.unit_bits))
        total += (part[times[0] - 1] / sigma) ** 2
        for before, now in itertools.pairwise(times):
            factor, scale = counter._transition(j, now - before)
            moved = abs(part[now - 1] - factor * part[before - 1]) + 1 + 2**-6
            total += (moved / float(scale)) ** 2
    return total


def readings(horizon: int) -> Iterator[list[int]]:
    """All times, the last, every other, and some at random."""
    every = list(range(1, horizon + 1))
    rng = np.random.default_rng(horizon)
    yield every
    yield [horizon]
    yield every[::2]
    yield every[::7]
    for _ in range(3):
        yield [t for t in every if rng.random() < 0.3] or [1]


def check_distance(counter: AutoregressiveCounter, square: Fraction, horizon: int) -> float:
    """Check all places of an event, and return the largest share of what is stated."""
    worst = 0.0
    for start in range(1, horizon + 1):
        parts = split(counter, start, horizon)
        if (
            parts.sum(axis=0) != (np.arange(1, horizon + 1) >= start) * 2.0**counter.unit_bits
        ).any():
            raise ViolationError("the parts do not add up to the step")
        for times in readings(horizon):
            worst = max(worst, squared_distance(counter, parts, times) / float(square))
    if worst > 1:
        raise ViolationError("neighbours are further apart than stated")
    return worst


@pytest.mark.parametrize("horizon", HORIZONS)
@pytest.mark.parametrize("square", SQUARES, ids=str)
@pytest.mark.quick("[1-20]")
def test_the_whole_distance_is_at_most_what_is_stated(square: Fraction, horizon: int) -> None:
    share = check_distance(autoregressive_counter(square, horizon), square, horizon)
    assert share > (0.5 if horizon > 1 else 0.3)  # and little is wasted


@pytest.mark.verify
def test_the_distance_of_a_stream_is_that_of_its_mechanism() -> None:
    """As a mechanism has it: B epsilon**2."""
    for epsilon in (Fraction(1, 10), Fraction(3, 2)):
        square = levels(64) * epsilon**2
        check_distance(autoregressive_counter(square, 64), square, 64)


@pytest.mark.parametrize("most", [1, 5, 20])
@pytest.mark.quick(every=3)
def test_fewer_readings_cost_less_rounding(most: int) -> None:
    """The largest distance over any `most` times, those with the largest shifts among them."""
    square, horizon = Fraction(3), 64
    counter = autoregressive_counter(square, horizon, most)
    rng = np.random.default_rng(most)
    for start in range(1, horizon + 1):
        parts = split(counter, start, horizon)
        for _ in range(20):
            times = sorted({start, *rng.choice(np.arange(1, horizon + 1), most - 1).tolist()})
            assert squared_distance(counter, parts, times) <= square


def changed(counter: AutoregressiveCounter, **fields: Any) -> AutoregressiveCounter:
    held = {name: getattr(counter, name) for name in ("decays", "variances", "unit_bits")}
    return AutoregressiveCounter(**{**held, **fields})


def weak_variance(counter: AutoregressiveCounter) -> AutoregressiveCounter:
    return changed(counter, variances=tuple(v * Fraction(7, 10) for v in counter.variances))


def unscaled_weights(counter: AutoregressiveCounter) -> AutoregressiveCounter:
    return changed(counter, variances=design(64).weights)


def weights_in_another_order(counter: AutoregressiveCounter) -> AutoregressiveCounter:
    return changed(counter, variances=counter.variances[1:] + counter.variances[:1])


def coarse_units(counter: AutoregressiveCounter) -> AutoregressiveCounter:
    return changed(counter, unit_bits=0)


def transition(patch: pytest.MonkeyPatch, wrong: Callable[..., tuple[float, Fraction]]) -> None:
    right = module._transition

    def wrapped(decay: Fraction, variance: Fraction, events: int) -> tuple[float, Fraction]:
        return wrong(right(decay, variance, events), decay, variance, events)

    patch.setattr(module, "_transition", wrapped)


def root(square: Fraction) -> Fraction:
    return module.root_above(square)


STEPS: dict[str, Callable[..., tuple[float, Fraction]]] = {
    "1 - theta": lambda held, t, v, d: (held[0], root(v * (1 - power_below(t, d)))),
    "sigma for one event": lambda held, t, v, d: (held[0], root(v * (1 - t * t))),
    "sigma x 0.7": lambda held, t, v, d: (held[0], held[1] * Fraction(7, 10)),
    "factor x 0.99": lambda held, t, v, d: (held[0] * 0.9, held[1]),
    "factor for one event more": lambda held, t, v, d: (float(t) ** (d + 1), held[1]),
}


@pytest.mark.parametrize(
    "bug", [weak_variance, unscaled_weights, weights_in_another_order, coarse_units]
)
@pytest.mark.quick(every=4)
def test_planted_bugs_in_the_parts_are_caught(bug: Callable[..., AutoregressiveCounter]) -> None:
    square = Fraction(1, 2)
    with pytest.raises(ViolationError):
        check_distance(bug(autoregressive_counter(square, 64)), square, 64)


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.quick(every=5)
def test_planted_bugs_in_the_steps_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    transition(monkeypatch, STEPS[name])
    with pytest.raises(ViolationError):
        check_distance(autoregressive_counter(Fraction(7), 64), Fraction(7), 64)


# --- Lemma 5, step by step


def largest_deviation(
    counter: AutoregressiveCounter, horizon: int, draws: int
) -> tuple[float, ...]:
    """Return by how much the shift of whole numbers is off that of real ones: first part, others.

    Values and splits are random, far larger than any that occur.
    """
    rng = np.random.default_rng(1)
    found = [0.0] * counter.width
    with np.errstate(all="raise"):
        for _ in range(draws):
            reals = rng.normal(size=(counter.width, 2)) * 2.0 ** rng.integers(1, 40)
            step = np.array([0.0, 2.0**counter.unit_bits])[rng.integers(0, 2, 2)]
            reals[0] = step - reals[1:].sum(axis=0)  # F adds up to the step
            whole = np.rint(reals)
            whole[0] = step - whole[1:].sum(axis=0)
            y = np.rint(rng.normal(size=counter.width) * 2.0 ** rng.integers(1, 50))
            events = int(rng.integers(1, horizon))
            for j in range(counter.width):
                factor, _ = counter._transition(j, events)
                shift = (
                    whole[j, 1] + np.rint(factor * (y[j] - whole[j, 0])) - np.rint(factor * y[j])
                )
                exact = Fraction(reals[j, 1]) - counter.decays[j] ** events * Fraction(reals[j, 0])
                found[j] = max(found[j], abs(float(Fraction(shift) - exact)))
    return found[0], max(found[1:], default=0.0)


@pytest.mark.parametrize("horizon", [7, 64, 1000])
@pytest.mark.quick(every=3)
def test_a_shift_of_whole_numbers_is_off_by_no_more_than_stated(horizon: int) -> None:
    counter = autoregressive_counter(Fraction(3), horizon)
    first, others = largest_deviation(counter, horizon, 3000)
    assert first <= counter.width - 1 + float(module._FIRST_SHIFT) == counter.width + 0.25
    assert others <= float(module._SHIFT) == 2.25
    assert others > 1.2  # the bound is not far off


def worst_product(product: Callable[[np.ndarray, float], np.ndarray]) -> float:
    rng = np.random.default_rng(2)
    numbers = [s * (2**k + d) for s in (-1, 1) for k in range(1, 58) for d in (-1, 0, 1, 12345)]
    worst = 0.0
    for factor in (0.0, 0.5, 1 - 2.0**-53, *rng.random(10)):
        for number, found in zip(numbers, product(np.array(numbers), factor), strict=True):
            worst = max(worst, abs(float(Fraction(factor) * number - int(found))))
    return worst


def test_products_are_off_by_little_more_than_half() -> None:
    assert worst_product(times_factor) <= 0.5 + 2**-7
    # Power: in floating point alone they are not.
    plain = worst_product(lambda numbers, factor: np.rint(factor * numbers.astype(float)))
    assert plain > 0.5 + 2**-7


def test_the_rounding_is_added_to_the_distance() -> None:
    """n**2 = S / scale, r = added / s with s the smallest deviation of a part's one step."""
    for horizon in (1, 8, 64, 4096, 2**16, 2**24, 2**40):
        for square, most in itertools.product(SQUARES, (None, 1, min(horizon, 1000))):
            try:
                counter = autoregressive_counter(square, horizon, most)
            except ParameterError:
                assert horizon > 2**16
                continue
            chosen = design(horizon)
            scales = {v / w for v, w in zip(counter.variances, chosen.weights, strict=True)}
            (scale,) = scales
            steps = [counter._transition(j, 1)[1] for j in range(counter.width)]
            others, times = counter.width - 1, horizon if most is None else most
            added = times * ((counter.width + 0.25) ** 2 + others * 2.25**2)
            n, r = (
                math.sqrt(chosen.squared_sensitivity / scale),
                math.sqrt(added) / float(min(steps)),
            )
            assert n + r <= math.sqrt(square) * (1 + 1e-12)
            assert n >= (0.99 if horizon <= 2**16 else 0.87) * math.sqrt(square)
            assert min(steps) >= 2**8
            largest = math.sqrt(max(counter.variances)) * 2**counter.unit_bits
            assert 30 * largest < 2**53 / 8  # float64 holds what occurs


@pytest.mark.parametrize("base", [Fraction(1, 3), Fraction(9, 34), Fraction(99999, 100001)])
def test_powers_are_rounded_down_by_very_little(base: Fraction) -> None:
    for exponent in (1, 2, 3, 7, 64, 100, 999, 1023):
        exact = base**exponent
        assert exact - Fraction(1, 2**90) <= power_below(base, exponent) <= exact


def test_powers_for_long_gaps() -> None:
    base = Fraction(2**40 - 1, 2**40)
    for exponent in (2**20, 2**40 - 1):
        assert float(power_below(base, exponent)) == pytest.approx(
            math.exp(exponent * math.log1p(-(2.0**-40))), rel=1e-9
        )


@pytest.mark.parametrize("horizon", [2, 64, 2**16])
def test_steps_are_rounded_to_the_safe_side(horizon: int) -> None:
    counter = autoregressive_counter(Fraction(5), horizon)
    for j, (theta, w) in enumerate(zip(counter.decays, counter.variances, strict=True)):
        for events in (1, 2, 3, 17, min(horizon, 1000)):
            factor, sigma = counter._transition(j, events)
            power = theta**events
            assert 0 <= power - Fraction(factor) <= Fraction(1, 2**52)
            variance = w * 4**counter.unit_bits * (1 - power**2)
            assert sigma**2 >= variance
            assert (sigma - Fraction(1, 2**22)) ** 2 <= variance * (1 + Fraction(1, 2**80))


def test_a_distance_that_is_not_covered_is_refused() -> None:
    for square in (Fraction(257**2), Fraction(0)):
        with pytest.raises(ParameterError, match="epsilon"):
            autoregressive_counter(square, 8)


# --- Lemmas 5 and 6, for a stream: what is drawn is what was budgeted


def stated_and_used(
    mechanism: ContinualMechanism, counter: AutoregressiveCounter, drawn: int
) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Return the distance that is stated for a label, and n + r with noise drawn `drawn` times."""
    chosen = next(
        each
        for each in toeplitz_designs(mechanism.horizon)  # the first is the stationary one
        if each.decays == counter.decays
    )
    scale = counter.variances[0] / chosen.weights[0]
    smallest = min(counter._transition(part, 1)[1] for part in range(counter.width))
    shifts = (counter.width + Fraction(1, 4)) ** 2 + (counter.width - 1) * Fraction(9, 4) ** 2
    total = drawn * shifts
    if isinstance(counter, ToeplitzCounter):
        total += first_squared_shifts(counter.width) - shifts
    with mpmath.workdps(60):

        def root_of(square: Fraction) -> mpmath.mpf:
            return mpmath.sqrt(mpmath.mpf(square.numerator) / square.denominator)

        claimed = root_of(levels(mechanism.horizon) * mechanism.epsilon**2)
        used = root_of(chosen.squared_sensitivity / scale) + root_of(total / smallest**2)
    return claimed, used


@pytest.mark.parametrize(
    ("horizon", "windows", "most", "times"),
    [
        (60, None, 5, 5),
        (60, 1, 1, 60),
        (60, 2, 7, 37),
        (60, 7, 3, 11),
        (60, 60, 1, 2),
        (60, 4, None, 60),
        (200, 1, 1, 200),
    ],
)
@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(1)], ids=str)
@pytest.mark.parametrize("method", ["toeplitz", "autoregressive"])
def test_all_times_at_which_a_stream_draws_noise_are_budgeted(
    method: Any,
    horizon: int,
    windows: int | None,
    most: int | None,
    times: int,
    epsilon: Fraction,
) -> None:
    """Readings and marks of windows: at each, rounding adds to the distance (M in Lemma 5)."""
    stream = ContinualHistogram(
        epsilon=epsilon,
        delta="1e-6",
        horizon=horizon,
        windows=windows,
        readings=most,
        method=method,
    )
    for time in range(1, horizon + 1):
        stream.update(["a"])
        # Not at a mark, as long as there are others: that is most times in all.
        left = (most or horizon) - stream._state.reads[0]
        if left and (windows is None or time % windows or left > horizon - time):
            stream.counts()
    drawn = len(stream._state.noise.times)
    assert drawn == times
    counter = stream._state.noise.counter
    assert isinstance(counter, AutoregressiveCounter)
    claimed, used = stated_and_used(stream.mechanism, counter, drawn)
    assert 0.99 * claimed < used <= claimed


def test_a_budget_without_the_marks_is_caught() -> None:
    mechanism = ContinualMechanism(
        epsilon=1, delta="1e-6", horizon=200, windows=1, readings=1, method="autoregressive"
    )
    counter = autoregressive_counter(levels(200) * Fraction(1), 200, 1)
    claimed, used = stated_and_used(mechanism, counter, 200)
    assert used > claimed
