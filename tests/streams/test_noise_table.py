"""Paths of noise have the law that is stated, whenever they are drawn.

Lemma 2 of docs/understand/proofs/streams.md.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from dphist.streams.counters import noise_table as module
from dphist.streams.counters.autoregressive import AutoregressiveCounter, autoregressive_counter
from dphist.streams.counters.binary import BinaryCounter, blocks
from dphist.streams.counters.noise_table import Counter, NoiseTable, Times
from dphist.streams.counters.spectrum import responses
from dphist.streams.counters.toeplitz import ToeplitzCounter, toeplitz_counter
from tests.support.goodness import LEVEL

HORIZON = 64
COUNTERS: list[Counter] = [
    autoregressive_counter(Fraction(7), HORIZON),
    autoregressive_counter(Fraction(1, 50), HORIZON),
    toeplitz_counter(Fraction(7), HORIZON),
    BinaryCounter(Fraction(1), HORIZON),
]
TIMES = (3, 8, 12, 15)  # all of them marked; blocks are shared between the last three
PATHS = 30_000
by_counter = pytest.mark.parametrize(
    "counter", COUNTERS, ids=["autoregressive", "autoregressive, small", "toeplitz", "binary"]
)


class ViolationError(AssertionError):
    """A claim that does not hold."""


def covariance(counter: Counter, one: int, other: int) -> float:
    """Return the covariance of a path at two times, records**2."""
    if isinstance(counter, BinaryCounter):
        return len(set(blocks(one)) & set(blocks(other))) * float(counter.sigma) ** 2
    assert isinstance(counter, AutoregressiveCounter)
    if isinstance(counter, ToeplitzCounter):
        theta = np.array([float(t) for t in counter.decays])
        first = left = np.array([float(m) for m in responses(counter.decays, counter.variances)])
        first, left = first * theta**one, left * theta**other
        missing = float(np.sum(np.outer(first, left) / (1 - np.outer(theta, theta))))
    else:
        missing = 0.0
    pairs = zip(counter.variances, counter.decays, strict=True)
    return sum(float(w) * float(theta) ** abs(one - other) for w, theta in pairs) - missing


def paths_of(counter: Counter, source: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return paths at the times, (times, paths) records: of early labels and of late ones.

    The late ones occur before the third time and after the last.
    """
    table = NoiseTable.empty(counter)
    for labels, time in zip((PATHS, PATHS, 2 * PATHS, 2 * PATHS), TIMES, strict=True):
        table = table.advance_to(time, labels, mark=True, source=source)
    table = table.advance_to(TIMES[-1], 3 * PATHS, source=source)
    found = np.array([table.marks[time] for time in TIMES]) / 2.0**counter.unit_bits
    if table.marks[TIMES[-1]].tolist() != table.total().tolist():
        raise ViolationError("a path at a mark is another one than at its end")
    return found[:, :PATHS], found[:, PATHS : 3 * PATHS]


def check_covariances(counter: Counter, paths: np.ndarray) -> None:
    """Compare means and all pairs of times, the largest of all deviations with its law."""
    number, scores = paths.shape[1], []
    for i, one in enumerate(TIMES):
        own = covariance(counter, one, one)
        scores.append(paths[i].mean() / math.sqrt(own / number))
        for k, other in enumerate(TIMES[: i + 1]):
            both, its = covariance(counter, one, other), covariance(counter, other, other)
            deviation = math.sqrt((own * its + both**2) / number)
            scores.append((np.mean(paths[i] * paths[k]) - both) / deviation)
    worst = float(np.max(np.abs(scores)))
    if 2 * norm.sf(worst) * len(scores) < LEVEL:
        raise ViolationError(f"a covariance is off by {worst:.1f} deviations")


def check_independence(counter: Counter, one: np.ndarray, other: np.ndarray) -> None:
    """Paths that are drawn after one another have nothing to do with each other."""
    number, scores = one.shape[1], []
    for i, early in enumerate(TIMES):
        for k, late in enumerate(TIMES):
            deviation = math.sqrt(
                covariance(counter, early, early) * covariance(counter, late, late) / number
            )
            scores.append(np.mean(one[i] * other[k]) / deviation)
    if 2 * norm.sf(float(np.max(np.abs(scores)))) * len(scores) < LEVEL:
        raise ViolationError("two paths hang together")


def check(counter: Counter, source: Any) -> None:
    early, late = paths_of(counter, source)
    check_covariances(counter, early)
    check_covariances(counter, late[:, :PATHS])
    check_covariances(counter, late[:, PATHS:])
    check_independence(counter, early, late[:, :PATHS])
    check_independence(counter, late[:, :PATHS], late[:, PATHS:])
    check_independence(counter, early[:, 1:], early[:, :-1])
    check_independence(counter, late[:, 1:], late[:, :-1])


@by_counter
def test_early_and_late_paths_have_the_stated_law(counter: Counter, seeded: Any) -> None:
    check(counter, seeded(5))


@by_counter
def test_tables_without_marks_have_the_same_law_at_the_end(counter: Counter, seeded: Any) -> None:
    """Where blocks are forgotten, too."""
    source = seeded(6)
    ends = []
    for late in (False, True):
        table = NoiseTable.empty(counter)
        for labels, time in zip((1, 1, 1 if late else PATHS, PATHS), TIMES, strict=True):
            table = table.advance_to(time, labels, source=source)
        if counter.skips:
            assert table.times == TIMES[-1:]
        else:
            assert table.times == TIMES
        ends.append(table.total()[:PATHS] / 2.0**counter.unit_bits)
    own = covariance(counter, TIMES[-1], TIMES[-1])
    for end in ends:
        assert abs(np.mean(end**2) - own) < 5.5 * own * math.sqrt(2 / PATHS)
    assert not np.array_equal(*ends)  # type: ignore[arg-type]


def late_paths_start_at_the_last_time(patch: pytest.MonkeyPatch) -> None:
    """At each mark a late path is another one."""

    def wrong(self: NoiseTable, labels: int, source: Any) -> NoiseTable:
        more = labels - len(self.rows)
        start, total = self.counter.start, self.counter.total
        marks = {
            time: np.append(held, total(start(more, time, source)))
            for time, held in self.marks.items()
        }
        rows = start(more, self.times[-1] if self.times else 1, source)
        return replace(self, rows=np.concatenate([self.rows, rows]), marks=marks)

    patch.setattr(NoiseTable, "_add_paths", wrong)


def late_paths_without_past(patch: pytest.MonkeyPatch) -> None:
    """At marks before it occurred a late label has no noise."""
    right = NoiseTable._add_paths

    def wrong(self: NoiseTable, labels: int, source: Any) -> NoiseTable:
        table = right(self, labels, source)
        for units in table.marks.values():
            units[len(self.rows) :] = 0
        return table

    patch.setattr(NoiseTable, "_add_paths", wrong)


def late_paths_are_copies(patch: pytest.MonkeyPatch) -> None:
    """Spare rows are shared between labels."""
    right = NoiseTable._add_paths

    def wrong(self: NoiseTable, labels: int, source: Any) -> NoiseTable:
        table = right(self, labels, source)
        old, new = len(self.rows), len(table.rows)
        if old:
            table.rows[old:] = np.resize(table.rows[:old], (new - old, table.rows.shape[1]))
            for units in table.marks.values():
                units[old:] = np.resize(units[:old], new - old)
        return table

    patch.setattr(NoiseTable, "_add_paths", wrong)


def paths_share_with_the_next(patch: pytest.MonkeyPatch) -> None:
    right = module.NoiseTable._add_paths

    def wrong(self: NoiseTable, labels: int, source: Any) -> NoiseTable:
        table = right(self, labels, source)
        if not self.times:
            return table
        old = len(self.rows)
        table.rows[old + 1 :: 2] = table.rows[old::2][: len(table.rows[old + 1 :: 2])]
        return table

    patch.setattr(NoiseTable, "_add_paths", wrong)


def scaled(by: float) -> Callable[[pytest.MonkeyPatch], None]:
    def plant(patch: pytest.MonkeyPatch) -> None:
        for name in ("binary", "autoregressive", "toeplitz"):
            place = f"dphist.streams.counters.{name}.rounded_gaussian"
            right = __import__("dphist.noise", fromlist=["rounded_gaussian"]).rounded_gaussian
            patch.setattr(
                place,
                lambda sigma, size, source, right=right: right(sigma * Fraction(by), size, source),
            )

    plant.__name__ = f"noise x {by}"
    return plant


def noise_drawn_anew_at_each_time(patch: pytest.MonkeyPatch) -> None:
    for kind in (BinaryCounter, AutoregressiveCounter):
        patch.setattr(
            kind, "step", lambda self, rows, before, now, source: self.start(len(rows), now, source)
        )


def gaps_taken_for_one_event(patch: pytest.MonkeyPatch) -> None:
    right = AutoregressiveCounter.step
    patch.setattr(
        AutoregressiveCounter,
        "step",
        lambda self, rows, before, now, source: right(self, rows, now - 1, now, source),
    )


BUGS = [
    late_paths_start_at_the_last_time,
    late_paths_without_past,
    late_paths_are_copies,
    paths_share_with_the_next,
    noise_drawn_anew_at_each_time,
    scaled(0.7),
    scaled(1.3),
    scaled(0.95),
]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
@pytest.mark.parametrize("counter", COUNTERS[1:], ids=["autoregressive", "toeplitz", "binary"])
@pytest.mark.quick(every=6)
def test_planted_bugs_are_caught(
    counter: Counter, bug: Callable[..., None], seeded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bug(monkeypatch)
    with pytest.raises(ViolationError):
        check(counter, seeded(5))


def test_gaps_that_do_not_count_are_caught(seeded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gaps_taken_for_one_event(monkeypatch)
    with pytest.raises(ViolationError):
        check(COUNTERS[0], seeded(5))


# --- What is drawn once stays


@by_counter
def test_a_number_that_was_drawn_is_never_drawn_again(counter: Counter, seeded: Any) -> None:
    source = seeded(7)
    table = NoiseTable.empty(counter)
    for labels, time in ((0, 1), (1, 1), (3, 2), (200, 2), (200, 5), (301, 5), (1000, 5)):
        later = table.advance_to(time, labels, mark=time == 2, source=source)
        if table.times and table.times[-1] == time:
            assert later.rows[: len(table.rows)].tolist() == table.rows.tolist()
        for mark, units in table.marks.items():
            assert later.marks[mark][: len(units)].tolist() == units.tolist()
        assert later.advance_to(time, labels, source=None) is later  # and nothing is drawn
        assert all(len(units) == len(later.rows) for units in later.marks.values())
        table = later


def test_a_table_never_changes(seeded: Any) -> None:
    for counter in COUNTERS:
        first = NoiseTable.empty(counter).advance_to(1, 5, mark=True, source=seeded(1))
        rows, marks = first.rows.copy(), dict(first.marks)
        first.advance_to(9, 500, mark=True, source=seeded(2))
        assert np.array_equal(first.rows, rows)
        assert first.times == (1,)
        assert first.marks.keys() == marks.keys()
        assert "array" not in repr(first)


def test_times_must_ascend() -> None:
    assert Times([1, 2, 9]) == (1, 2, 9)
    for times in ([0], [2, 2], [3, 1]):
        with pytest.raises(ValueError, match="ascend"):
            Times(times)


def test_times_never_change_and_are_not_copied() -> None:
    times = Times()
    for time in range(1, 200):
        before, times = times, times.append_time(time)
        assert times._items is before._items
    assert times == tuple(range(1, 200))
    other = before.append_time(500)  # as after a step that could not be written
    assert (before[-1], times[-1], other[-1]) == (198, 199, 500)
    assert other.append_time(501)[-3:] == (198, 500, 501)
    assert (len(before), len(times), other[0], list(before[2:4])) == (198, 199, 1, [3, 4])
    for bad in (198, 0):
        with pytest.raises(ValueError, match="ascend"):
            before.append_time(bad)
    with pytest.raises(IndexError):
        before[198]
    with pytest.raises(ValueError, match="ascend"):
        Times([2, 2])
