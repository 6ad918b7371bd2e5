"""The exact layer: laws by enumeration are the true ones, and faults show without a single run."""

import functools
import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist import noise
from dphist.lab.auditing.exact.laws import (
    ONE,
    DrawnLater,
    HiddenRandomnessError,
    Law,
    PathSource,
    TooLongError,
    delta_between,
    enumerate_law,
    find_epsilon,
)
from dphist.lab.auditing.replay.session import ask_for_noise, replace_samplers
from tests.support.privacy.laws import clamped_law

EXACT = ("exact",)


def law_of(run: Callable[[Any], Any], **limits: Any) -> Law:
    def shown(path: PathSource) -> Any:
        with ask_for_noise(path):
            return run(path)

    with replace_samplers():
        return enumerate_law(shown, **limits)


def test_bits_and_bytes_are_enumerated_whole() -> None:
    law = law_of(lambda source: (source.bits(2), source(1)[0] < 64))
    assert law.runs == 4 * 256
    assert law.unreached == 0
    expected = {(k, low): Fraction(1, 16) if low else Fraction(3, 16)
                for k, low in itertools.product(range(4), (True, False))}  # fmt: skip
    assert {shown: law.probability(shown)[0] for shown in law.chances} == expected


def test_paths_may_have_any_length() -> None:
    def until_one(source: Any) -> int:
        count = 0
        while not source.bits(1):
            count += 1
        return count

    law = law_of(until_one, missing=Fraction(1, 2**20))
    assert law.unreached == Fraction(1, 2**20)
    assert all(law.probability(k) == (Fraction(1, 2 ** (k + 1)),) * 2 for k in range(20))


@pytest.mark.parametrize("epsilon", ["1/3", "2"])
def test_geometric_noise_has_the_law_that_it_claims(epsilon: str) -> None:
    rate = Fraction(epsilon)
    law = law_of(lambda _: min(max(int(3 + noise.two_sided_geometric(rate, 1)[0]), 0), 6))
    low = [float(law.probability(k)[0]) for k in range(7)]
    assert low == pytest.approx(clamped_law(3, float(rate), 0, 6), abs=2e-6)
    a = math.exp(-float(rate))
    low_zero, high_zero = law_of(
        lambda _: int(noise.two_sided_geometric(rate, 1)[0]), missing=Fraction(1, 100)
    ).probability(0)
    assert float(low_zero) == pytest.approx((1 - a) / (1 + a), rel=1e-14)
    assert 0 < high_zero - low_zero < Fraction(1, 2**150)


def test_rounded_normal_noise_has_the_law_that_it_claims() -> None:
    sigma = Fraction(3, 2)
    law = law_of(lambda _: int(noise.rounded_gaussian(sigma, 1)[0]), missing=Fraction(1, 10**6))
    for value in (-4, -1, 0, 2, 5):
        ends = [(value + side) / float(sigma) / math.sqrt(2) for side in (-0.5, 0.5)]
        chance = (math.erf(ends[1]) - math.erf(ends[0])) / 2
        assert float(law.probability(value)[0]) == pytest.approx(chance, rel=1e-9)
    assert sum(high for _, high in law.chances.values()) <= ONE + 2 * len(law.chances)


def test_spare_draws_are_not_enumerated() -> None:
    def first_of_many(_: Any) -> int:
        drawn = iter(noise.two_sided_geometric(Fraction(2), 1024).tolist())
        return next(drawn) + next(drawn)

    law = law_of(first_of_many, missing=Fraction(1, 100))
    assert law.runs < 100


def test_draws_that_come_later_are_arrays_to_numpy() -> None:
    numbers = itertools.count(1)
    later = DrawnLater(lambda: next(numbers), (2, 3))
    counts = np.zeros((2, 3), np.int64)
    counts += later
    assert counts.tolist() == later.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert (10 + later)[1, 2] == 16
    assert (later * 2 - later // 3)[0].tolist() == [2, 4, 5]
    assert np.clip(later, 2, 4).max() == 4
    assert len(later) == 2
    assert later[1].tolist() == [4, 5, 6]


def test_delta_is_bounded_from_both_sides() -> None:
    """Of randomized response with odds 3 to 1, delta(epsilon) is 3/4 - e**epsilon / 4."""
    one, other = (law_of(functools.partial(response(64), bit)) for bit in (0, 1))
    for epsilon in (Fraction(0), Fraction(1, 2), Fraction(1)):
        bounds = delta_between(one, other, epsilon)
        expected = 0.75 - math.exp(epsilon) / 4
        assert float(bounds.low) == pytest.approx(expected, abs=1e-12)
        assert 0 <= bounds.high - bounds.low < Fraction(1, 10**30)
        assert bounds.event == {0}
    assert float(find_epsilon(one, other, Fraction(0))) == pytest.approx(math.log(3), abs=2e-6)
    assert float(find_epsilon(one, other, Fraction(1, 4))) == pytest.approx(math.log(2), abs=2e-6)
    assert delta_between(one, other, Fraction(11, 10)).high == 0


def test_what_is_not_reached_counts_against_either_side() -> None:
    def noisy(count: int, _: Any) -> int:
        return count + int(noise.two_sided_geometric(Fraction(1), 1)[0])

    one, other = (
        law_of(functools.partial(noisy, count), missing=Fraction(1, 1000)) for count in (0, 1)
    )
    bounds = delta_between(one, other, Fraction(1))
    assert bounds.low == 0  # e**1 exactly: never shown to be more
    assert 0 < bounds.high <= Fraction(1, 200)
    assert 0.9 < float(find_epsilon(one, other, Fraction(0))) <= 1


# --- Faults, with no other layer


def response(odds: int) -> Callable[..., int]:
    """Randomized response that lies with a probability of odds / 256."""

    def run(bit: int, source: Any) -> int:
        return int(bit ^ (source(1)[0] < odds))

    return run


def cut_off(count: int, source: Any) -> int:
    """Noise of -1, 0, 1: what is out of reach tells."""
    return int(count + source(1)[0] % 3 - 1)


def tells_seldom(count: int, source: Any) -> Any:
    """Once in 1,024 runs the truth."""
    return ("truth", count) if source.bits(10) == 77 else "nothing"


@pytest.mark.parametrize(
    ("run", "epsilon", "lower"),
    [(response(64), 1, math.log(3)), (cut_off, 3, 100), (tells_seldom, 5, 100)],
)
def test_planted_faults_are_refuted(run: Any, epsilon: int, lower: float) -> None:
    result = dh.audit(run, [(0, 1)], epsilon=epsilon, seconds=60, layers=EXACT)
    assert result.refuted
    assert result.layer == "exact"
    assert result.epsilon_lower == pytest.approx(lower, abs=1e-5)
    assert result.stopped == "refuted"
    assert "its probability is at least" in result.event
    assert "of as many on the other" not in " ".join(str(result).split())


def test_delta_is_told_from_no_delta() -> None:
    pair = [(0, 1)]
    delta = Fraction(1, 2**10)
    covered = dh.audit(tells_seldom, pair, epsilon=1, delta=delta, seconds=60, layers=EXACT)
    assert not covered.refuted
    less = dh.audit(tells_seldom, pair, epsilon=1, delta=delta / 2, seconds=60, layers=EXACT)
    assert less.refuted


def test_what_is_right_holds() -> None:
    result = dh.audit(response(64), [(0, 1)], epsilon=1.0987, seconds=60, layers=EXACT)
    assert not result.refuted
    assert [each.verdict for each in result.layers] == ["holds"]
    assert "delta is at most 0 there" in result.layers[0].covered
    assert result.epsilon_lower == pytest.approx(math.log(3), abs=1e-5)


class HalfTheNoise(dh.LeafCounts):
    __slots__ = ()

    @property
    def budget(self):
        return dh.LeafCounts(epsilon=2 * self.epsilon, bins=self.bins).budget


def test_mechanisms_of_dphist_are_enumerated() -> None:
    pairs = [("none, and one", np.array([0]), np.array([1]))]
    right = dh.audit(dh.LeafCounts(epsilon=3, bins=1), pairs, seconds=20, layers=EXACT)
    assert [each.verdict for each in right.layers] == ["holds"]
    assert 2.9 < right.epsilon_lower <= 3
    wrong = dh.audit(HalfTheNoise(epsilon=3, bins=1), pairs, seconds=20, layers=EXACT)
    assert wrong.refuted
    assert 5 < wrong.epsilon_lower <= 6


def test_what_cannot_be_enumerated_is_said() -> None:
    def hidden(count: int, source: Any) -> int:
        return count + source.bits(1) + random.randrange(1000)

    def endless(count: int, source: Any) -> int:
        return count + sum(source(5000))

    def wide(count: int, source: Any) -> int:
        return count + int.from_bytes(source(8), "big") % 3

    for run, said in (
        (hidden, "The laws cannot be enumerated: the same randomness shows something else"),
        (endless, "Laws on the neighbors are too large"),
        (wide, "Laws on the neighbors are too large"),
        (lambda count: count + 1, "It takes no source of randomness"),
    ):
        result = dh.audit(run, [(0, 1)], epsilon=9, seconds=1, layers=EXACT)
        assert [each.verdict for each in result.layers] == ["does not apply"]
        assert result.layers[0].covered.startswith(said)
        assert not result.refuted


@pytest.mark.verify
def test_errors_that_a_run_catches_still_end_the_enumeration() -> None:
    def catches(source: PathSource) -> str:
        try:
            return source(10**6).hex()
        except TooLongError:
            return "caught"

    with pytest.raises(TooLongError):
        enumerate_law(catches)


def test_a_state_is_noticed() -> None:
    calls = itertools.count()
    with pytest.raises(HiddenRandomnessError):
        enumerate_law(lambda source: source.bits(1) + next(calls))
