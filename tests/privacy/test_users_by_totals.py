"""How many users have which total, with noise: docs/understand/proofs/sums.md, Lemma 10."""

import json
import math
import random
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.lab.auditing.replay import loss_of_neighbours
from dphist.labels.threshold.checks import Noise
from dphist.labels.threshold.law import grid
from dphist.noise.law import Drawing, NoiseLaw
from dphist.release.users_by_total import UsersByTotal
from tests.support.labels.totals import count_by_totals, sum_totals
from tests.support.mechanisms.cases import signed

SUMS = {"x": dh.Clamp(0, 4, "0.5"), "y": dh.Clamp(-3, 1, 1)}
WORDS = [*"abcd"]
GIVEN: dict[str, Any] = {"label": "word", "user": "who", "max_labels": 3}


def make(noise: Noise = "laplace", **more: Any) -> dh.ThresholdHistogram:
    own: dict[str, Any] = {"epsilon": "1/3", "delta": "1e-3", "max_labels": 3, "sums": SUMS}
    return dh.ThresholdHistogram(noise=noise, users_by_totals=True, **own | more)


def make_neighbors(max_count: int, users_by_labels: int | None, far: float) -> list[dh.LabelCounts]:
    """Users with one label each; then also one with three, whose totals are all outside."""
    others = [(who, word, 2, -1) for who, word in enumerate("abcd" * 400)]
    one = [(-1, word, far, -far) for word in "abc" for _ in range(max_count)]
    return [
        dh.LabelCounts.from_table(
            pd.DataFrame(rows, columns=["who", "word", "x", "y"]),
            **GIVEN,
            max_count=max_count,
            sums=SUMS,
            users_by_totals=True,
            users_by_labels=users_by_labels,
        )
        for rows in (others, others + one)
    ]


CASES = [
    pytest.param(noise, max_count, also, id=f"{noise}-{max_count}-{also}")
    for noise in ("laplace", "gaussian")
    for max_count in (1, 2)
    for also in (None, 7)
]


@pytest.mark.parametrize(("noise", "max_count", "also"), CASES)
def test_a_user_costs_the_guarantee_and_not_more(
    noise: Noise, max_count: int, also: int | None
) -> None:
    """All that is asked of the noise on neighbors, of a user who moves all as far as can be."""
    mechanism = make(noise, max_count=max_count, users_by_labels=also, labels=WORDS, delta=None)
    pair = make_neighbors(max_count, also, 99)
    told: dict[int, Any] = {}
    if noise == "gaussian":
        fine, of_users = grid(mechanism.noise_scale), grid(mechanism._noise_of_users().sigma)
        told[0] = lambda held: fine * np.array(held.counts_of(WORDS))
        told[3] = lambda held: of_users * np.array(held.users or held.numbers_by_totals)
        if also:
            told[4] = lambda held: of_users * np.array(held.numbers_by_totals)
    epsilon, rho = loss_of_neighbours(mechanism.release, *pair, told=told)
    if noise == "gaussian":
        assert Fraction(999, 1000) * mechanism.guarantee.rho < rho <= mechanism.guarantee.rho
    else:
        assert mechanism.epsilon_guarantee is not None
        assert epsilon == mechanism.epsilon_guarantee.epsilon


@pytest.mark.parametrize("noise", ["laplace", "truncated", "optimal", "gaussian"])
def test_each_column_costs_as_much_as_one_label(noise: Noise) -> None:
    """The threshold and its delta stay; an account adds up the same."""
    given: dict[str, Any] = {"epsilon": "1/3", "delta": "1e-3", "max_labels": 3, "sums": SUMS}
    alone, both = dh.ThresholdHistogram(noise=noise, **given), make(noise)
    assert both.threshold == alone.threshold
    assert both.guarantee.delta == alone.guarantee.delta
    each = Fraction(1, 3)
    if noise == "gaussian":
        assert both.guarantee.rho == alone.guarantee.rho + 2 * each**2 / 2
    else:
        assert alone.epsilon_guarantee is not None
        assert both.epsilon_guarantee is not None
        assert both.epsilon_guarantee.epsilon == alone.epsilon_guarantee.epsilon + 2 * each
    total = 1 if noise == "gaussian" else 10
    calibrated = dh.calibrate(
        dh.ThresholdHistogram, noise=noise, users_by_totals=True, **given | {"epsilon": total}
    )
    reached = calibrated.epsilon_at("1e-3")
    assert reached is not None
    assert Fraction(999, 1000) * total < reached <= total


@pytest.mark.parametrize("also", [None, 7])
def test_an_account_has_the_losses_of_every_column(also: int | None) -> None:
    """Three labels, as much for their sums, a number of each of two columns, and one by labels."""
    parts: Any = make(users_by_labels=also).privacy_losses().parts
    paid = sum(part.rate * part.moved * part.times for part in parts)
    assert paid == Fraction(1, 3) * (3 + 3 + 2 + (also is not None))


@pytest.mark.parametrize("also", [None, 7])
@pytest.mark.parametrize("max_count", [1, 5])
@pytest.mark.parametrize("noise", ["laplace", "truncated"])
def test_rho_has_that_of_every_column(noise: Noise, max_count: int, also: int | None) -> None:
    """Geometric noise of rate e on a number that changes by 1 has a rho of e tanh(e/2)."""
    given: dict[str, Any] = {"epsilon": "1/3", "delta": "1e-3", "max_labels": 3, "sums": SUMS}
    alone = dh.ThresholdHistogram(noise=noise, max_count=max_count, **given)
    both = make(noise, max_count=max_count, users_by_labels=also)
    numbers = 2 + (also is not None)
    added = float(both.guarantee.rho - alone.guarantee.rho)
    assert added == pytest.approx(numbers / 3 * math.tanh(1 / 6), rel=1e-9)


def delta_of_gaussian_noise(epsilon: mpmath.mpf, squared: mpmath.mpf) -> mpmath.mpf:
    """Balle and Wang 2018, Theorem 8, of normal laws at a squared distance in variances."""
    mu = mpmath.sqrt(squared)
    above, below = (mpmath.ncdf(sign * mu / 2 - epsilon / mu) for sign in (1, -1))
    return above - mpmath.exp(epsilon) * below


def find_epsilon(squared: mpmath.mpf, delta: mpmath.mpf) -> mpmath.mpf:
    """The smallest epsilon with this delta, by halving."""
    low, high = mpmath.mpf(0), mpmath.mpf(50)
    for _ in range(100):
        middle = (low + high) / 2
        if delta_of_gaussian_noise(middle, squared) > delta:
            low = middle
        else:
            high = middle
    return high


@pytest.mark.parametrize("also", [None, 7])
def test_a_new_label_leaves_the_numbers_of_every_column(also: int | None) -> None:
    """Where the threshold takes nearly all of delta: docs/understand/proofs/threshold.md, Lemma 8.

    One user changes a number of each of ten columns, whether the label is new or shared.
    """
    sums = {f"c{place}": dh.Clamp(0, 1, 1) for place in range(10)}
    own: dict[str, Any] = {"epsilon": "0.1", "delta": "1e-6", "max_labels": 1, "sums": sums}
    mechanism = make("gaussian", **own, sums_share="1/100", users_by_labels=also)
    with mpmath.workdps(40):
        each, threshold, total = (mpmath.mpf(x) for x in ("0.01", "1e-6", "1.001e-6"))
        always = (10 + (also is not None)) * each
        new = find_epsilon(always, (total - threshold) / (1 - threshold))
        shared = find_epsilon(always + each * (1 + mpmath.mpf(1) / 99), total)
        both_deltas = find_epsilon(always + each * (1 + mpmath.mpf(1) / 99), total - threshold)
        assert shared < new < both_deltas
        found = mechanism.epsilon_at("1.001e-6")
        assert found is not None
        assert 0 <= mpmath.mpf(found.numerator) / found.denominator - new < 1e-9


def test_data_must_count_users_by_totals() -> None:
    rows = pd.DataFrame({"who": [1], "word": ["a"], "x": [1], "y": [1]})
    alone = dh.LabelCounts.from_table(rows, **GIVEN, sums=SUMS)
    with pytest.raises(dh.ParameterError, match="users_by_totals"):
        make().release(alone)
    both = dh.LabelCounts.from_table(rows, **GIVEN, sums=SUMS, users_by_totals=True)
    assert dh.ThresholdHistogram(
        epsilon=1, delta="1e-3", max_labels=3, sums=SUMS
    ).release(both).noisy == {}  # fmt: skip


def test_sums_are_needed() -> None:
    for more, said in (({"sums": None}, "sums"), ({"users_by_totals": 1}, "True or False")):
        own: dict[str, Any] = {"epsilon": 1, "delta": "1e-3", "max_labels": 3, "sums": SUMS}
        with pytest.raises(dh.ParameterError, match=said):
            dh.ThresholdHistogram(**own | {"users_by_totals": True} | more)


def far_rows(seed: int, users: int = 300) -> list[tuple[int, str, float]]:
    draw = random.Random(seed)
    some = [-1.0, 0.5, 3.0, 4.5, 5.5, 11.0, 39.0, 900.0]
    return [
        (who, word, draw.choices(some, [2, 9, 9, 3, 2, 1, 1, 0.1])[0])
        for who in range(users)
        for word in draw.sample("abcd", draw.randint(1, 3))
    ]


def change_of_sums(rows: list[tuple[int, str, float]], clamp: dh.Clamp) -> dict[str, float]:
    """What clamping changed of the sum of each label, without users in the cells without an end."""
    ends = clamp.starts[0], clamp.starts[-1]
    found: dict[str, float] = {}
    for own in sum_totals(rows, clamp).values():
        if all(ends[0] <= total < ends[1] for total in own.values()):
            for word, total in own.items():
                lost = total - min(max(total, clamp.least), clamp.most)
                found[word] = found.get(word, 0) + lost * float(clamp.step)
    return found


EXACT = NoiseLaw("two-sided geometric", Fraction(1, 10**6), Drawing.WHOLE)


def test_no_sum_changes_by_more_than_the_cells_say() -> None:
    """Of exact numbers of users; users at the ends of their cells reach it."""
    clamp = SUMS["x"]
    for seed in range(40):
        rows = far_rows(seed)
        users = count_by_totals(sum_totals(rows, clamp), clamp)
        most = float(UsersByTotal(clamp, users, EXACT).change_at_most())
        assert max(map(abs, change_of_sums(rows, clamp).values())) <= most
    ends = [start - 1 for start in clamp.starts if start > clamp.most + 1]
    ends += [start for start in clamp.starts if start < clamp.least]
    for place, end in enumerate(ends):
        users = count_by_totals({1: {"a": end, "b": 1}}, clamp)
        lost = abs(end - min(max(end, clamp.least), clamp.most)) * clamp.step
        assert UsersByTotal(clamp, users, EXACT).change_at_most() == lost, place


@pytest.mark.usefixtures("repeatable")
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("epsilon", ["0.2", "3"])
def test_what_is_said_holds_as_often_as_it_says(noise: Noise, epsilon: str) -> None:
    clamp, rows = SUMS["x"], far_rows(7, 1000)
    frame = pd.DataFrame(rows, columns=["who", "word", "x"])
    counts = dh.LabelCounts.from_table(frame, **GIVEN, sums={"x": clamp}, users_by_totals=True)
    mechanism = make(noise, epsilon=epsilon, sums={"x": clamp})
    totals = sum_totals(rows, clamp)
    clamped = sum(
        any(not clamp.least <= total <= clamp.most for total in own.values())
        for own in totals.values()
    )
    numbers = count_by_totals(totals, clamp)
    beyond = numbers[0] + numbers[-1]
    weights = [*UsersByTotal(clamp, numbers, EXACT)._distances()]
    change = sum(a * b for a, b in zip(weights, numbers, strict=True)) * float(clamp.step)
    held, times = np.zeros(3, np.int64), 300
    for _ in range(times):
        found = mechanism.users_of_totals(mechanism.release(counts).noisy)["x"]
        share = found.share_clamped()
        held[0] += share.low <= clamped / len(totals) <= share.high
        held[1] += beyond <= found.users_beyond()[1]
        held[2] += change <= float(found.change_at_most())
    assert held.min() >= 0.93 * times


@pytest.mark.parametrize("numbers", [None, [], [1] * 12, [1] * 25, [1] * 27])
def test_a_file_without_the_numbers_is_refused(numbers: list[int] | None) -> None:
    (data, _) = make_neighbors(1, None, 9)
    made = make().release(data)
    assert dh.Release.from_json(made.to_json()).mechanism == made.mechanism
    content = json.loads(made.to_json())
    content["noisy"] = {} if numbers is None else {"users_by_totals": numbers}
    with pytest.raises(dh.errors.ReleaseFileError):
        dh.Release.from_json(signed(content))


def test_the_share_is_asked_of_a_release() -> None:
    (_, data) = make_neighbors(1, None, 9)
    release = make(epsilon=100).release(data)
    found = release.mechanism.share_clamped(release)
    assert list(found) == ["x", "y"]
    assert found["x"].low <= 1 / 1601 <= found["x"].high
    alone = dh.ThresholdHistogram(epsilon=1, delta="1e-3", max_labels=3, sums=SUMS).release(data)
    with pytest.raises(dh.ParameterError, match="users_by_totals"):
        alone.mechanism.share_clamped(alone)
