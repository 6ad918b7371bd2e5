"""The threshold of a stream, recomputed: `docs/understand/proofs/streams.md`, Lemma 7."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.stats import norm

from dphist.streams.counters import autoregressive
from dphist.streams.counters.autoregressive import AutoregressiveCounter
from dphist.streams.counters.binary import BinaryCounter
from dphist.streams.counters.noise_table import are_above, round_units
from dphist.streams.counters.toeplitz import ToeplitzCounter, first_draw
from dphist.streams.measuring import threshold_units
from dphist.streams.mechanism import ContinualMechanism

METHODS: tuple[Any, ...] = ("toeplitz", "autoregressive", "binary")


class ViolationError(AssertionError):
    """A claim that does not hold."""


def noise_bounds(mechanism: ContinualMechanism, rng: np.random.Generator) -> tuple[float, float]:
    """Return the largest variance of the Gaussian part, and by how much rounding moves it.

    From what the counter does, in records: blocks of a time; or the recursion of the parts, for
    readings at times that are close, far apart, or at random.
    """
    counter = mechanism.counter
    unit = 2.0**-counter.unit_bits
    if isinstance(counter, BinaryCounter):
        times = range(1, min(mechanism.horizon, 1000) + 1)
        blocks = max(max(time.bit_count() for time in times), mechanism.horizon.bit_length())
        return blocks * float(counter.sigma) ** 2, blocks * unit / 2
    assert isinstance(counter, AutoregressiveCounter)
    variance = moved = 0.0
    gaps = [
        [1] * 400,
        [2] * 200,
        [mechanism.horizon // 7 or 1] * 7,
        rng.integers(1, 50, 60).tolist(),
    ]
    for chosen in gaps:
        square, cross, off = first_squares(counter)
        variance = max(variance, sum(square) + float(cross.sum()))
        moved = max(moved, sum(off))
        most = counter.times - 1 if isinstance(counter, ToeplitzCounter) else len(chosen)
        for gap in within(chosen, mechanism.horizon - 1)[:most]:
            steps = [counter._transition(j, gap) for j in range(counter.width)]
            square = [a * a * x + float(s) ** 2 for (a, s), x in zip(steps, square, strict=True)]
            # Of the product, 1/2 and its floating point; of the noise, 1/2.
            off = [a * x + 1 + 2**-7 for (a, _), x in zip(steps, off, strict=True)]
            cross = np.array([a for a, _ in steps])[:, None] * cross * [a for a, _ in steps]
            variance = max(variance, sum(square) + float(cross.sum()))
            moved = max(moved, sum(off))
    return variance * unit**2, moved * unit


def within(gaps: list[int], most: int) -> list[int]:
    """Return the first gaps, of this many events in all: the variance grows with time."""
    sums = itertools.accumulate(gaps)
    return [gap for gap, total in zip(gaps, sums, strict=True) if total <= most]


def first_squares(counter: AutoregressiveCounter) -> tuple[list[float], np.ndarray, list[float]]:
    """Return variances, covariances without them, and rounding errors of parts first drawn at 1."""
    if not isinstance(counter, ToeplitzCounter):
        roots = [autoregressive.root_above(v * 4**counter.unit_bits) for v in counter.variances]
        none = np.zeros((counter.width, counter.width))
        return [float(root) ** 2 for root in roots], none, [0.5] * counter.width
    scale, weights = counter._scaled_weights
    drawn = first_draw(counter.decays, weights, 1)
    mixing, off = np.eye(counter.width), [0.0] * counter.width
    for j, row in enumerate(drawn.coefficients):
        off[j] = 0.5 + sum(0.5 + 2**-7 + abs(b) * off[i] for i, b in enumerate(row))
        for i, b in enumerate(row):
            mixing[j] += b * mixing[i]
    sigmas = [autoregressive.root_above(scale * v * 4**counter.unit_bits) for v in drawn.variances]
    whole = mixing @ np.diag([float(sigma) ** 2 for sigma in sigmas]) @ mixing.T
    square = np.diag(whole).tolist()
    return square, whole - np.diag(square), off


def check(mechanism: ContinualMechanism) -> float:
    """Check what any user may bring; return the largest chance in all, of what delta allows."""
    threshold, delta = mechanism.threshold, mechanism.delta
    assert threshold is not None
    assert delta is not None
    counter, events = mechanism.counter, mechanism.max_events_per_user or 1
    variance, moved = noise_bounds(mechanism, np.random.default_rng(0))
    if not (variance <= counter.variance * (1 + Fraction(1, 10**9)) and moved <= counter.rounding):
        raise ViolationError("the noise is wider than stated")
    each = delta / (mechanism.max_labels * mechanism.most_readings)
    worst = 0.0
    with mpmath.workdps(40):
        root = mpmath.sqrt(fraction(counter.variance))
        for count in {*range(1, min(events, 60) + 1), events // 2 or 1, events}:
            away = fraction(threshold - count - counter.rounding) / root
            chance = mpmath.erfc(away / mpmath.sqrt(2)) / 2
            share = chance / fraction(each * count / events)
            # From 1/2 on a threshold at the count itself would serve, and is what is taken.
            if share > 1:
                raise ViolationError("a new label is released with more than its share of delta")
            worst = max(worst, float(share))
    return worst


def fraction(number: Fraction) -> mpmath.mpf:
    return mpmath.mpf(number.numerator) / number.denominator


def mechanisms(*epsilons: str) -> list[ContinualMechanism]:
    grid = itertools.product(
        METHODS, epsilons, ("1e-3", "1e-9"), (1, 2, 7, 1000, 2**16), (1, 4), (None, 2, 30)
    )
    return [
        ContinualMechanism(
            epsilon=epsilon,
            delta=delta,
            horizon=horizon,
            max_labels=labels,
            method=method,
            max_events_per_user=None if events is None else min(events, horizon),
            readings=None if labels == 1 else min(horizon, 50),
        )
        for method, epsilon, delta, horizon, labels, events in grid
    ]


@pytest.mark.quick("[1]")
@pytest.mark.parametrize("epsilon", ["0.05", "1", "2"])
def test_a_new_label_is_released_with_at_most_delta(epsilon: str) -> None:
    shares = [check(mechanism) for mechanism in mechanisms(epsilon)]
    assert max(shares) > 0.9999  # and the threshold is no higher than it need be
    assert min(shares) > 0.9


def test_large_deltas_and_many_events() -> None:
    for method, delta, events in itertools.product(METHODS, ("0.5", "0.9", "0.999"), (1, 2, 8)):
        check(
            ContinualMechanism(
                epsilon="0.3", delta=delta, horizon=8, method=method, max_events_per_user=events
            )
        )
    for method in METHODS:
        check(
            ContinualMechanism(
                epsilon="0.001", delta="1e-6", horizon=4096, method=method, max_events_per_user=4096
            )
        )


@pytest.mark.parametrize("horizon", [1, 2, 3, 10, 4095, 4096])
@pytest.mark.parametrize("max_labels", [1, 5])
def test_the_published_threshold(horizon: int, max_labels: int) -> None:
    """T = 1 + sigma sqrt(ceil(log2(L + 1)) + 1) Phi^-1(1 - delta / (Delta_0 L)), and rounding."""
    for epsilon in ("0.1", "1", "4"):
        mechanism = ContinualMechanism(
            epsilon=epsilon, delta="1e-6", horizon=horizon, max_labels=max_labels, method="binary"
        )
        levels = math.ceil(math.log2(horizon + 1))
        quantile = norm.isf(1e-6 / (max_labels * horizon))
        published = 1 + math.sqrt(levels + 1) * quantile / float(epsilon)
        unit = 2.0**-mechanism.counter.unit_bits
        assert mechanism.threshold is not None
        above = float(mechanism.threshold) - published
        assert levels / 2 * unit - 1e-9 <= above <= (levels / 2 + 2) * unit
        assert above < float(mechanism.counter.sigma) / 1000


def test_one_unit_lower_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    held = [m for m in mechanisms("0.05", "1", "2") if m.counter.unit_bits < 20]
    lower(Fraction(1), monkeypatch)
    for mechanism in held:
        with pytest.raises(ViolationError, match="share"):
            check(mechanism)


def lower(units: Fraction, patch: pytest.MonkeyPatch) -> None:
    right = ContinualMechanism.threshold.fget

    def wrong(self: ContinualMechanism) -> Fraction:
        return Fraction(right(self) - units / 2**self.counter.unit_bits)

    patch.setattr(ContinualMechanism, "threshold", property(wrong))


BUGS: dict[str, Callable[[Any, Fraction, int, Any], int]] = {
    "one event a user": lambda counter, chance, events, _time: threshold_units(counter, chance, 1),
    "its share for all events": lambda counter, chance, events, _time: threshold_units(
        counter, chance * events, events
    ),
    "one label": lambda counter, chance, events, _time: threshold_units(
        counter, chance * 3, events
    ),
    "one time": lambda counter, chance, events, _time: threshold_units(
        counter, chance * 100, events
    ),
    "without the count": lambda counter, chance, events, _time: (
        threshold_units(counter, chance, events) - (1 << counter.unit_bits)
    ),
    "of the least variance": lambda counter, chance, events, _time: threshold_units(
        BinaryCounter(counter.sigma, 1) if isinstance(counter, BinaryCounter) else counter,
        chance * (1 if isinstance(counter, BinaryCounter) else 2),
        events,
    ),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", BUGS)
def test_planted_bugs_are_caught(method: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = ContinualMechanism(
        epsilon=1, delta="1e-6", horizon=100, max_labels=3, method=method, max_events_per_user=4
    )
    check(mechanism)
    monkeypatch.setattr("dphist.streams.measuring.threshold_units", BUGS[name])
    with pytest.raises(ViolationError, match="share"):
        check(mechanism)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("field", ["variance", "rounding"])
def test_noise_wider_than_stated_is_caught(
    method: Any, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variance of half the levels, and a rounding of half the parts."""
    kind = {"binary": BinaryCounter, "toeplitz": ToeplitzCounter}.get(method, AutoregressiveCounter)
    right = getattr(kind, field).fget
    monkeypatch.setattr(kind, field, property(lambda self: right(self) / 4))
    with pytest.raises(ViolationError, match="wider"):
        check(ContinualMechanism(epsilon=1, delta="1e-6", horizon=1000, method=method))


# --- Comparing and rounding in units


UNIT_BITS = (0, 1, 2, 16, 30, 46)


def adversarial(bits: int) -> tuple[list[int], list[int]]:
    """Return counts, and units: halves of a record, its neighbours, signs, and the largest."""
    one = 1 << bits
    near = {k * one // 2 + d for k in range(-5, 6) for d in (-1, 0, 1)}
    far = {s * (2**62 + d) for s in (-1, 1) for d in (-one, -1, 0, 1, one, one // 2)}
    return [0, 1, 2, 2**20, 2**40], sorted(near | far)


def check_comparison(above: Callable[..., Any], bits: int) -> None:
    counts, units = adversarial(bits)
    limits = {0, 1, 3 << bits, (3 << bits) + 1, (2**20 << bits) - 1, *(u for u in units if u >= 0)}
    for count, limit in itertools.product(counts, limits):
        found = above(np.full(len(units), count), np.array(units), limit, bits)
        if found.tolist() != [(count << bits) + unit > limit for unit in units]:
            raise ViolationError("not the comparison of exact numbers")


@pytest.mark.parametrize("bits", UNIT_BITS)
def test_comparisons_are_exact(bits: int) -> None:
    check_comparison(are_above, bits)


@pytest.mark.parametrize("bits", UNIT_BITS)
def test_a_comparison_that_is_not_strict_or_of_rounded_numbers_is_caught(bits: int) -> None:
    def not_strict(counts: Any, units: Any, limit: int, bits: int) -> Any:
        return are_above(counts, units, limit - 1, bits)

    def of_rounded(counts: Any, units: Any, limit: int, bits: int) -> Any:
        return counts + round_units(units, bits) > limit / 2**bits

    for wrong in (not_strict, of_rounded)[: 1 if bits == 0 else 2]:
        with pytest.raises(ViolationError):
            check_comparison(wrong, bits)


@pytest.mark.parametrize("bits", UNIT_BITS)
def test_rounding_is_to_the_nearest_with_halves_up(bits: int) -> None:
    _, units = adversarial(bits)
    exact = [math.floor(Fraction(unit, 1 << bits) + Fraction(1, 2)) for unit in units]
    assert round_units(np.array(units), bits).tolist() == exact
