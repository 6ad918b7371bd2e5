"""The pure counter: its blocks by brute force, and what its noise costs.

Lemma 9 of docs/understand/proofs/streams.md.
"""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.noise.magnitude import geometric_standard_deviation
from dphist.streams.counters import laplace as module
from dphist.streams.counters.laplace import (
    LaplaceCounter,
    digits,
    laplace_counter,
    laplace_half_width,
    most_blocks,
    sum_of_blocks,
)

BASES = (3, 5, 7)
Block = tuple[int, int]


class ViolationError(AssertionError):
    """A claim that does not hold."""


def levels_of(base: int, horizon: int) -> int:
    return next(n for n in itertools.count(1) if (base**n - 1) // 2 >= horizon)


def signed_blocks(time: int, base: int, levels: int) -> dict[Block, int]:
    """Return the blocks of a time, (level, number), and their signs.

    Block (level, number) has the events number * base**level + 1 to (number + 1) * base**level.
    """
    found, reached = {}, 0
    for level, digit in reversed(list(enumerate(digits(time, base, levels)))):
        size = base**level
        assert reached % size == 0
        first = reached // size
        for i in range(abs(digit)):
            found[(level, first + i if digit > 0 else first - 1 - i)] = 1 if digit > 0 else -1
        reached += digit * size
    return found


@pytest.mark.parametrize("base", BASES)
def test_the_blocks_of_a_time_add_up_to_its_events(base: int) -> None:
    levels = levels_of(base, 200)
    for time in range(1, 201):
        held = np.zeros(base**levels, int)
        for (level, number), sign in signed_blocks(time, base, levels).items():
            assert number >= 0
            held[number * base**level : (number + 1) * base**level] += sign
        assert held.tolist() == [1] * time + [0] * (len(held) - time)


def check_levels(base: int, horizon: int, claimed: int) -> None:
    """An event is in at most one block for each level, of all that are ever used."""
    used = {
        block
        for t in range(1, horizon + 1)
        for block in signed_blocks(t, base, levels_of(base, horizon))
    }
    for event in range(1, horizon + 1):
        blocks = [(k, n) for k, n in used if n * base**k < event <= (n + 1) * base**k]
        if len(blocks) > claimed or len({level for level, _ in blocks}) < len(blocks):
            raise ViolationError("an event is in more blocks than are paid for")


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("horizon", [1, 2, 4, 13, 24, 40, 60])
def test_an_event_is_in_one_block_for_each_level(base: int, horizon: int) -> None:
    levels = levels_of(base, horizon)
    check_levels(base, horizon, levels)
    if (base**levels - 1) // 2 == horizon and levels > 1:
        with pytest.raises(ViolationError):
            check_levels(base, horizon, levels - 1)


class Numbers:
    """Stands in for the sampler: 1, 2, 3, ..., so that each draw is known again."""

    def __init__(self) -> None:
        self.drawn = 0

    def __call__(self, rate: Fraction, size: tuple[int, int], source: object = None) -> np.ndarray:
        found = self.drawn + 1 + np.arange(math.prod(size)).reshape(size)
        self.drawn += math.prod(size)
        return found


def check_reuse(counter: LaplaceCounter, times: tuple[int, ...]) -> None:
    """At all times, each block has its own draw for each label, and no draw is used twice."""
    of: dict[tuple[int, Block], int] = {}
    half, rows, before = counter.base // 2, np.empty((2, counter.width), np.int64), None
    for time in times:
        rows = (
            counter.start(2, time, None)
            if before is None
            else counter.step(rows, before, time, None)
        )
        wanted = signed_blocks(time, counter.base, counter.levels)
        seen: dict[int, int] = {}
        for level, number in wanted:
            place = level * half + seen.get(level, 0)
            seen[level] = seen.get(level, 0) + 1
            for label in (0, 1):
                draw = int(rows[label, place])
                if of.setdefault((label, (level, number)), draw) != draw or draw == 0:
                    raise ViolationError("a block has two draws, or none")
        if np.count_nonzero(rows) != 2 * len(wanted):
            raise ViolationError("a draw that belongs to no block")
        before = time
    if len(set(of.values())) < len(of):
        raise ViolationError("two blocks have one draw")


def all_readings(horizon: int) -> list[tuple[int, ...]]:
    rng = np.random.default_rng(horizon)
    every = tuple(range(1, horizon + 1))
    chosen = [tuple(t for t in every if rng.random() < 0.3) or (1,) for _ in range(100)]
    small = [
        s for n in range(1, 9) for s in itertools.combinations(range(1, min(horizon, 8) + 1), n)
    ]
    return [every, *small, *chosen]


@pytest.mark.parametrize(("base", "horizon"), [(3, 13), (3, 40), (5, 12), (5, 62), (7, 24)])
def test_noise_is_reused_for_a_block_and_never_for_another(
    base: int, horizon: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = LaplaceCounter(Fraction(1), base, levels_of(base, horizon), horizon)
    for times in all_readings(horizon):
        monkeypatch.setattr(module, "two_sided_geometric", Numbers())
        check_reuse(counter, times)


def redrawn(self: LaplaceCounter, rows: Any, before: Any, now: int, source: Any) -> Any:
    return self.start(len(rows), now, source)


def kept_by_level(self: LaplaceCounter, rows: Any, before: Any, now: int, source: Any) -> Any:
    fresh = self.start(len(rows), now, source)
    return np.where((rows != 0) & (fresh != 0), rows, fresh)


@pytest.mark.parametrize("bug", [redrawn, kept_by_level])
def test_planted_bugs_in_the_noise_are_caught(bug: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = LaplaceCounter(Fraction(1), 3, 4, 40)
    monkeypatch.setattr(LaplaceCounter, "step", bug)
    monkeypatch.setattr(module, "two_sided_geometric", Numbers())
    with pytest.raises(ViolationError):
        check_reuse(counter, tuple(range(1, 41)))


# --- What it costs


def exact_cost(mechanism: dh.ContinualMechanism) -> Fraction:
    """Return the epsilon of the most that a unit changes: blocks, each by one, times their rate."""
    counter = mechanism.counter
    assert isinstance(counter, LaplaceCounter)
    labels = min(mechanism.max_labels, len(mechanism.labels or ()))
    return (mechanism.max_events_per_user or 1) * labels * counter.levels * counter.rate


def test_the_guarantee_is_the_sum_over_blocks() -> None:
    for horizon, labels, events in itertools.product((1, 7, 1000, 2**20), (1, 3, 9), (None, 1, 5)):
        made = dh.ContinualMechanism(
            epsilon="0.7",
            delta=0,
            horizon=horizon,
            max_labels=labels,
            labels=["a", "b", "c", "d"],
            max_events_per_user=None if events is None else min(events, horizon),
        )
        assert made.method == "laplace"
        assert isinstance(made.guarantee, dh.PureDP)
        assert made.guarantee.epsilon == exact_cost(made) == Fraction(7, 10)
        assert isinstance(made.counter, LaplaceCounter)
        assert made.counter.levels == levels_of(made.counter.base, horizon)
        assert made.epsilon_at("1e-6") <= made.epsilon_at(0) == Fraction(7, 10)
        assert made.threshold is None


def test_calibrating_to_a_pure_total() -> None:
    made = dh.calibrate(
        dh.ContinualMechanism, epsilon=1, delta=0, horizon=100, labels=["a"], method="laplace"
    )
    assert Fraction(999, 1000) < made.epsilon <= 1
    assert isinstance(made.target.guarantee, dh.PureDP)
    assert made.target.guarantee.epsilon == 1


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"method": "laplace", "delta": "1e-6"}, "labels must be listed"),
        ({"method": "laplace", "delta": 0}, "labels must be listed"),
        ({"delta": 0}, "delta"),
        ({"labels": ["a"], "method": "laplace", "delta": "1e-6"}, "delta must be left out"),
        ({"labels": ["a"], "delta": 0, "epsilon": "1e-9"}, "too small"),
    ],
)
def test_what_is_not_pure_is_refused(parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(dh.ParameterError, match=said):
        dh.ContinualMechanism(**{"epsilon": 1, "horizon": 100, **parameters})


def test_a_pure_stream_is_read_saved_and_continued(tmp_path: Any, seeded: Any) -> None:
    path = tmp_path / "pure.state"
    stream = dh.ContinualHistogram(epsilon=4, delta=0, horizon=500, labels=["a", "b"], windows=50)
    source = seeded(3)
    stream.update_many([["a"], ["b"], ["c"]] * 50, source=source)
    counts = stream.counts(source=source)
    assert set(counts) == {"a", "b"}
    assert all(abs(count - 50) < 200 for count in counts.values())
    stream.save(path)
    loaded = dh.ContinualHistogram.load(path)
    assert loaded.counts() == counts
    assert set(loaded.window(51, 100)) == {"a", "b"}
    release = loaded.release()
    assert dh.Release.from_json(release.to_json()) == release
    assert str(release.guarantee).startswith("4-differential privacy (pure)")


# --- What it is worth


def test_numbers_of_blocks_are_those_of_all_times() -> None:
    for base, horizon in itertools.product((3, 5, 9), (1, 2, 3, 5, 13, 40, 100, 341)):
        numbers = [
            sum(map(abs, digits(t, base, levels_of(base, horizon)))) for t in range(1, horizon + 1)
        ]
        assert sum_of_blocks(base, levels_of(base, horizon), horizon) == sum(numbers)
        assert most_blocks(base, horizon) == max(numbers)


def test_the_variance_is_far_below_that_of_the_binary_tree() -> None:
    """Of Laplace noise on dyadic blocks: 2 (bits + 1)**2 for each of bits / 2 blocks."""
    for bits, least in ((8, 7), (16, 7.4), (20, 7.6)):
        counter = laplace_counter(Fraction(1), 2**bits)
        blocks = sum_of_blocks(counter.base, counter.levels, 2**bits) / 2**bits
        mean = blocks * geometric_standard_deviation(counter.rate) ** 2
        assert least * mean < bits * (bits + 1) ** 2


@pytest.mark.parametrize(("rate", "blocks"), [(Fraction(1, 3), 1), (Fraction(1, 10), 7), (2, 20)])
def test_a_half_width_holds_the_noise(rate: Fraction, blocks: int) -> None:
    a, reach = math.exp(-float(rate)), math.ceil(60 / float(rate))
    one = (1 - a) / (1 + a) * a ** np.abs(np.arange(-reach, reach + 1))
    law = np.ones(1)
    for _ in range(blocks):
        law = np.convolve(law, one)
    middle = len(law) // 2
    for level in (0.5, 0.95, 0.999):
        q = laplace_half_width(Fraction(rate), blocks, level)
        held = law[middle - q : middle + q + 1].sum()
        assert held >= level - 0.002
        if q > 3:
            assert law[middle - q + 2 : middle + q - 1].sum() < level


def test_drawn_noise_has_the_stated_variance(seeded: Any) -> None:
    counter = laplace_counter(Fraction(1), 1000)
    rows = counter.start(20_000, 5, seeded(1))
    for before, now in ((5, 6), (6, 100), (100, 777)):
        rows = counter.step(rows, before, now, seeded(now))
        found = counter.total(rows).var() / float(counter.variance_at(now))
        assert 0.93 < found < 1.07
