"""Sums and noise of the binary mechanism, by brute force (`docs/understand/proofs/streams.md`)."""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dphist.streams.counters import binary, noise_table
from dphist.streams.counters.binary import BinaryCounter, blocks, levels
from dphist.streams.counters.noise_table import NoiseTable

HORIZONS = range(1, 9)
Block = tuple[int, int]
Blocks = Callable[[int], list[Block]]


class ViolationError(AssertionError):
    """A claim that does not hold."""


def events_of(block: Block) -> list[int]:
    level, number = block
    return list(range((number << level) + 1, (number + 1 << level) + 1))


def check_partition(of: Blocks, time: int) -> None:
    covered = [event for block in of(time) for event in events_of(block)]
    if covered != list(range(1, time + 1)):
        raise ViolationError("blocks do not cover the events, each once and in order")


def sums_of_every_stream(of: Blocks, horizon: int) -> np.ndarray:
    """Return the partial sums of all 4**horizon streams over two labels: [stream, label, block].

    A stream's event i is {a} for 1, {b} for 2, both for 3; streams are numbered by these digits.
    """
    used = sorted({block for time in range(1, horizon + 1) for block in of(time)})
    matrix = np.array(
        [[event in events_of(block) for event in range(1, horizon + 1)] for block in used], int
    )
    digits = np.arange(4**horizon)[:, None] >> 2 * np.arange(horizon) & 3
    return np.stack([(digits >> label & 1) @ matrix.T for label in (0, 1)], axis=1)


def check_sensitivity(of: Blocks, horizon: int, claimed: int) -> int:
    """Check all neighbours: one event empty in one of them. Return the most changed a label."""
    sums = sums_of_every_stream(of, horizon)
    streams, most = np.arange(4**horizon), 0
    for event in range(horizon):
        change = sums - sums[streams & ~(3 << 2 * event)]
        if change.min() < 0 or change.max() > 1:
            raise ViolationError("a partial sum changes by more than one")
        changed = change.sum(axis=2)
        had = np.stack([streams >> 2 * event & 1, streams >> 2 * event + 1 & 1], axis=1)
        if (changed > claimed * had).any():
            raise ViolationError("more partial sums of a label change than stated")
        most = max(most, int(changed.max()))
    return most


def test_the_blocks_of_a_time_hold_each_event_once() -> None:
    for time in range(2001):
        check_partition(blocks, time)
        assert len(blocks(time)) == time.bit_count() <= levels(max(time, 1))


@pytest.mark.parametrize("horizon", HORIZONS)
def test_one_event_changes_at_most_the_stated_number_of_sums_by_one(horizon: int) -> None:
    claimed = int(np.ceil(np.log2(horizon + 1)))
    assert levels(horizon) == BinaryCounter(Fraction(1), horizon).width == claimed
    assert check_sensitivity(blocks, horizon, claimed) <= claimed
    # Of the full tables of 2**k - 1 events the first events reach it.
    if horizon + 1 == 2**claimed:
        assert check_sensitivity(blocks, horizon, claimed) == claimed


def level_too_high(time: int) -> list[Block]:
    return [(level + 1, number) for level, number in blocks(time)]


def number_too_high(time: int) -> list[Block]:
    return [(level, number + 1) for level, number in blocks(time)]


@pytest.mark.parametrize("wrong", [level_too_high, number_too_high])
def test_blocks_off_by_one_are_caught(wrong: Blocks) -> None:
    with pytest.raises(ViolationError, match="cover"):
        for time in range(1, 9):
            check_partition(wrong, time)


def test_a_count_of_levels_off_by_one_is_caught() -> None:
    for horizon in (1, 3, 7):
        with pytest.raises(ViolationError, match="more partial sums"):
            check_sensitivity(blocks, horizon, levels(horizon) - 1)
    with pytest.raises(ViolationError, match="more partial sums"):  # sums of a longer horizon
        check_sensitivity(lambda time: blocks(time) + blocks(time + 1), 7, levels(7))


# --- Which draws make up the noise of a label at a time: each draw is a power of two of its own.


class Powers:
    """Stands in for the sampler: 1, 2, 4, ..., so that a sum tells what it is a sum of."""

    def __init__(self) -> None:
        self.drawn = 0

    def __call__(self, sigma: Fraction, size: int, source: object = None) -> np.ndarray:
        ids = self.drawn + np.arange(size)
        self.drawn += size
        assert self.drawn <= 62
        return np.left_shift(np.int64(1), ids)


def draws_in(total: int) -> list[int]:
    """Return the draws that were added up, each once; a draw that is there twice is another."""
    return [i for i in range(63) if total >> i & 1]


def check_reuse(counter: BinaryCounter, readings: list[tuple[int, int]], marks: set[int]) -> None:
    """Read at times, for some labels: the draws in the totals must be the blocks, one to one.

    So they are if as many draws as blocks are in use at exactly the same labels and times.
    """
    table = NoiseTable.empty(counter)
    totals: dict[tuple[int, int], int] = {}
    for time, labels in readings:
        table = table.advance_to(time, labels, mark=time in marks)
        totals |= {(label, time): n for label, n in enumerate(table.total()[:labels].tolist())}
    for mark, units in table.marks.items():
        for label, total in enumerate(units[:labels].tolist()):
            if totals.setdefault((label, mark), total) != total:
                raise ViolationError("a mark is not what was read")
    draws, sums = defaultdict(set), defaultdict(set)
    for (label, time), total in totals.items():
        for draw in draws_in(total):
            draws[draw].add((label, time))
        for block in blocks(time):
            sums[label, block].add((label, time))
    if sorted(map(sorted, draws.values())) != sorted(map(sorted, sums.values())):
        raise ViolationError("draws are not the blocks, one to one")


def schedules() -> Iterator[tuple[list[tuple[int, int]], set[int]]]:
    """All sets of times up to 8, with the second label there at the first, second or third."""
    for chosen in itertools.product((False, True), repeat=8):
        times = [time for time, read in enumerate(chosen, 1) if read]
        for late in range(min(len(times), 3)):
            readings = [(time, 1 + (i >= late)) for i, time in enumerate(times)]
            for marks in (set(), set(times[::2]), set(times)):
                yield readings, marks


def check_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise_table, "_LEAST_PATHS", 1)
    for readings, marks in schedules():
        monkeypatch.setattr(binary, "rounded_gaussian", Powers())
        check_reuse(BinaryCounter(Fraction(1), 8), readings, marks)


def test_noise_is_reused_for_a_block_and_never_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    check_all(monkeypatch)


@pytest.mark.verify
def test_spare_paths_are_labels_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two paths are made at once for one label; the second goes to the next label."""
    monkeypatch.setattr(noise_table, "_LEAST_PATHS", 2)
    for readings, marks in schedules():
        monkeypatch.setattr(binary, "rounded_gaussian", Powers())
        check_reuse(BinaryCounter(Fraction(1), 8), readings, marks)


def redrawn_at_read(patch: pytest.MonkeyPatch) -> None:
    def step(self: Any, rows: Any, before: int, now: int, source: Any) -> Any:
        return self.start(len(rows), now, source)

    patch.setattr(BinaryCounter, "step", step)


def kept_by_level_alone(patch: pytest.MonkeyPatch) -> None:
    def step(self: Any, rows: Any, before: int, now: int, source: Any) -> Any:
        kept = {level for level, _ in blocks(before)} & {level for level, _ in blocks(now)}
        following = np.zeros_like(rows)
        following[:, list(kept)] = rows[:, list(kept)]
        return self._draw_blocks(following, [b for b in blocks(now) if b[0] not in kept], source)

    patch.setattr(BinaryCounter, "step", step)


def old_blocks_left_in(patch: pytest.MonkeyPatch) -> None:
    def step(self: Any, rows: Any, before: int, now: int, source: Any) -> Any:
        kept = set(blocks(before))
        return self._draw_blocks(rows.copy(), [b for b in blocks(now) if b not in kept], source)

    patch.setattr(BinaryCounter, "step", step)


def late_label_without_past_noise(patch: pytest.MonkeyPatch) -> None:
    right = NoiseTable._add_paths

    def with_paths(self: NoiseTable, labels: int, source: Any) -> NoiseTable:
        table = right(self, labels, source)
        table.rows[len(self.rows) :] = 0
        return table

    patch.setattr(NoiseTable, "_add_paths", with_paths)


def late_label_with_fresh_noise_at_marks(patch: pytest.MonkeyPatch) -> None:
    """Marks of a late path are drawn apart from its rows."""

    def with_paths(self: NoiseTable, labels: int, source: Any) -> NoiseTable:
        more = labels - len(self.rows)
        marks = {
            time: np.append(old, self.counter.total(self.counter.start(more, time, source)))
            for time, old in self.marks.items()
        }
        rows = np.empty((more, self.counter.width), np.int64)
        if self.times:
            rows = self.counter.start(more, self.times[-1], source)
        return noise_table.replace(self, rows=np.concatenate([self.rows, rows]), marks=marks)

    patch.setattr(NoiseTable, "_add_paths", with_paths)


def one_noise_for_two_labels(patch: pytest.MonkeyPatch) -> None:
    right = BinaryCounter._draw_blocks

    def drawn(self: Any, rows: Any, new: Any, source: Any) -> Any:
        return np.repeat(right(self, rows[:1], new, source), len(rows), axis=0)

    patch.setattr(BinaryCounter, "_draw_blocks", drawn)


def one_noise_for_two_levels(patch: pytest.MonkeyPatch) -> None:
    right = BinaryCounter._draw_blocks

    def drawn(self: Any, rows: Any, new: Any, source: Any) -> Any:
        rows = right(self, rows, new[:1], source)
        for level, _ in new[1:]:
            rows[:, level] = rows[:, new[0][0]]
        return rows

    patch.setattr(BinaryCounter, "_draw_blocks", drawn)


BUGS = [
    redrawn_at_read,
    kept_by_level_alone,
    old_blocks_left_in,
    late_label_without_past_noise,
    late_label_with_fresh_noise_at_marks,
    one_noise_for_two_labels,
    one_noise_for_two_levels,
]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_planted_bugs_in_the_noise_are_caught(
    bug: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    bug(monkeypatch)
    with pytest.raises(ViolationError):
        check_all(monkeypatch)


@pytest.mark.parametrize("sigma", [Fraction(1, 3), Fraction(1), Fraction(1000), Fraction(10) ** 9])
def test_every_block_is_asked_for_with_the_stated_scale(
    sigma: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Fraction] = []

    def record(scale: Fraction, size: int, source: object = None) -> np.ndarray:
        asked.append(scale)
        return np.zeros(size, np.int64)

    monkeypatch.setattr(binary, "rounded_gaussian", record)
    counter = BinaryCounter(sigma, 1000)
    rows = counter.start(3, 511, None)
    counter.step(rows, 511, 1000, None)
    assert len(asked) == 9 + len(set(blocks(1000)) - set(blocks(511)))
    assert set(asked) == {sigma * 2**counter.unit_bits}
    # Units are small next to the noise, and the rounding of all blocks is what is stated.
    assert asked[0] >= 2**16 or counter.unit_bits == 0
    assert counter.rounding == Fraction(levels(1000), 2) / 2**counter.unit_bits
    for time in (1, 511, 512, 1000):
        assert counter.variance_at(time) == len(blocks(time)) * sigma**2 <= counter.variance
