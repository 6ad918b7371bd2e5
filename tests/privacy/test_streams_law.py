"""The released counts are one function of a noisy table: `docs/understand/proofs/streams.md`,
Lemma 3.

All neighbouring streams of up to five events over two labels, and of eight in the audit, are run
through `ContinualHistogram` itself, on tables whose entries lie at the threshold or about it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dphist.streams.counters.noise_table import NoiseTable, are_above, round_units
from dphist.streams.state import state as module
from dphist.streams.state.state import Step, StreamState
from tests.support.privacy.scripted_streams import (
    UNIT_BITS,
    Setting,
    ViolationError,
    check,
    play,
    random_table,
)

# Four events: what is asked after 0, 1, ..., 4 of them.
EVERY = ("c", "c", "c", "c", "c")
MIXED = ("cr", "", "ct", "cc", "cr")
SHORT = [
    Setting(4, EVERY),
    Setting(4, EVERY, skips=True),
    Setting(4, MIXED),
    Setting(4, ("", "", "", "", "c")),
    Setting(4, ("", "", "t", "", "ctc"), batches=True),
    Setting(4, ("", "cw", "cw", "cw", "cw"), {"windows": 1}),
    Setting(4, ("", "cw", "cw", "cw", "cw"), {"windows": 2}, skips=True),
    Setting(4, ("", "", "", "w", "cw"), {"windows": 1}, skips=True),
    Setting(4, ("", "w", "", "cw", "w"), {"windows": 1}, batches=True),
    Setting(4, EVERY, {"max_labels": 1}, firsts=(True, False, False, True)),
    Setting(4, EVERY, {"max_labels": 1, "windows": 2}, firsts=(False, True, False, False)),
    Setting(4, ("c", "cw", "cw", "cw", "crw"), {"labels": ["b", "a"], "windows": 2}),
    Setting(4, EVERY, {"labels": ["b"], "max_labels": 1}),
    Setting(4, EVERY, {"max_events_per_user": 2}, users="uvuu"),
    Setting(4, MIXED, {"max_events_per_user": 1, "windows": 1}, users="uuvv"),
    Setting(4, ("", "cw", "", "cw", "cw"), {"max_events_per_user": 2, "windows": 1}, users="uuuv"),
]
LONGER = [
    Setting(5, ("", "c", "", "c", "c", "c")),
    Setting(5, ("", "", "cw", "cw", "", "cw"), {"windows": 1}, skips=True),
    Setting(5, ("", "c", "c", "w", "c", "cw"), {"max_events_per_user": 2, "windows": 1}, "uvuvu"),
]


@pytest.mark.long(every=4)
@pytest.mark.quick("[0]", "[1]", "[3]", "[5]", "[6]", "[9]", "[10]", "[12]")
@pytest.mark.parametrize("number", range(len(SHORT)))
def test_neighbours_release_the_same_unless_a_new_label_is_above(number: int) -> None:
    rng = np.random.default_rng(number)
    found = [check(SHORT[number], random_table(SHORT[number], rng)) for _ in range(3)]
    assert sum(inside for inside, _ in found) > 300
    if "labels" not in SHORT[number].parameters:
        assert sum(outside for _, outside in found) > 5  # and S is not everything


@pytest.mark.long(every=2)
@pytest.mark.parametrize("number", range(len(LONGER)))
def test_streams_of_five_events(number: int) -> None:
    check(LONGER[number], random_table(LONGER[number], np.random.default_rng(50 + number)))


@pytest.mark.audit
@pytest.mark.parametrize("windows", [None, 2])
def test_streams_of_eight_events(windows: int | None) -> None:
    parameters = {} if windows is None else {"windows": windows}
    setting = Setting(8, ("", "", "c", "c", "", "", "c", "", "cw"), parameters)
    check(setting, random_table(setting, np.random.default_rng(8)))


@pytest.mark.verify
def test_all_that_was_seen_and_is_above_is_released() -> None:
    """And in the order of what is released, rounded once."""
    setting = SHORT[0]
    for seed in range(5):
        table = random_table(setting, np.random.default_rng(seed))
        for stream in setting.streams():
            for time, what, found in play(setting, stream, table):
                seen = {label for event in stream[:time] for label in event}
                above = {u: table[u, time] for u in seen if table[u, time] > 10}
                wanted = {u: units + 2 >> UNIT_BITS for u, units in above.items()}
                assert what == "counts"
                assert found == sorted(wanted.items(), key=lambda pair: (-pair[1], pair[0]))


# --- Planted bugs


def reading_through(patch: pytest.MonkeyPatch, change: Callable[..., dict[str, int]]) -> None:
    right = StreamState.reading

    def wrong(self: StreamState, **asked: Any) -> tuple[Step, dict[str, int]]:
        step, counts = right(self, **asked)
        return step, change(self, counts)

    patch.setattr(StreamState, "reading", wrong)


def labels_of_the_last_event(patch: pytest.MonkeyPatch) -> None:
    right, last = StreamState.counting, {}

    def counting(self: StreamState, events: Any, source: Any = None) -> Step:
        step = right(self, events, source)
        last[id(self)] = set(events.vocabulary)
        return step

    patch.setattr(StreamState, "counting", counting)
    reading_through(
        patch, lambda self, counts: {u: n for u, n in counts.items() if u in last.get(id(self), ())}
    )


def order_of_appearance(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(module, "in_order", lambda counts: counts)


def order_of_true_counts(patch: pytest.MonkeyPatch) -> None:
    reading_through(
        patch,
        lambda self, counts: dict(
            sorted(counts.items(), key=lambda pair: -self.counts[self.places[pair[0]]])
        ),
    )


def unchanged_counts_left_out(patch: pytest.MonkeyPatch) -> None:
    before: dict[int, list[int]] = {}

    def change(self: StreamState, counts: dict[str, int]) -> dict[str, int]:
        old, before[id(self)] = before.get(id(self), []), list(self.counts)
        same = {u for u, a, b in zip(self.labels, old, self.counts, strict=False) if a == b}
        return {u: n for u, n in counts.items() if u not in same}

    reading_through(patch, change)


def late_labels_without_noise_at_past_marks(patch: pytest.MonkeyPatch) -> None:
    right = NoiseTable._add_paths

    def wrong(self: NoiseTable, labels: int, source: Any) -> NoiseTable:
        table = right(self, labels, source)
        for units in table.marks.values():
            units[len(self.rows) :] = 0
        return table

    patch.setattr(NoiseTable, "_add_paths", wrong)
    patch.setattr("dphist.streams.counters.noise_table._LEAST_PATHS", 1)


def marks_start_with_the_label(patch: pytest.MonkeyPatch) -> None:
    """Before a label occurred its windows have no noise."""
    right = StreamState._read_mark

    def wrong(self: StreamState, time: int) -> Any:
        exact, units = right(self, time)
        units[len(self.marks[time]) :] = 0
        return exact, units

    patch.setattr(StreamState, "_read_mark", wrong)


def late_label_at_the_marks_time(patch: pytest.MonkeyPatch) -> None:
    """A window's earlier counts are those of now for a label that was not there."""
    right = StreamState._read_mark

    def wrong(self: StreamState, time: int) -> Any:
        exact, units = right(self, time)
        held = len(self.marks[time])
        exact[held:] = np.array(self.counts, np.int64)[held:]
        return exact, units

    patch.setattr(StreamState, "_read_mark", wrong)


def threshold_on_rounded_counts(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        module,
        "are_above",
        lambda counts, units, limit, bits: counts + round_units(units, bits) > limit / 2**bits,
    )


def threshold_not_strict(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        module,
        "are_above",
        lambda counts, units, limit, bits: are_above(counts, units, limit - 1, bits),
    )


def released_once_released_for_ever(patch: pytest.MonkeyPatch) -> None:
    """Common labels need no threshold: a label with a true count of 2 is released."""

    def change(self: StreamState, counts: dict[str, int]) -> dict[str, int]:
        return {u: counts.get(u, 0) for u, n in zip(self.labels, self.counts, strict=True) if n > 1}

    reading_through(patch, change)


def true_counts(patch: pytest.MonkeyPatch) -> None:
    reading_through(patch, lambda self, counts: {u: self.counts[self.places[u]] for u in counts})


def windows_of_all_labels(patch: pytest.MonkeyPatch) -> None:
    right = StreamState.window

    def wrong(self: StreamState, start: int, end: int) -> dict[str, int]:
        held, self.released = self.released, [True] * len(self.labels)
        try:
            return right(self, start, end)
        finally:
            self.released = held

    patch.setattr(StreamState, "window", wrong)


def empty_events_take_no_time(patch: pytest.MonkeyPatch) -> None:
    """Nothing is read after an event that is empty."""
    right, last = StreamState.counting, {}

    def counting(self: StreamState, events: Any, source: Any = None) -> Step:
        last[id(self)] = len(events.codes)
        return right(self, events, source)

    patch.setattr(StreamState, "counting", counting)
    reading_through(patch, lambda self, counts: counts if last.get(id(self)) else {})


PLAIN = [
    labels_of_the_last_event,
    order_of_appearance,
    order_of_true_counts,
    unchanged_counts_left_out,
    threshold_on_rounded_counts,
    threshold_not_strict,
    released_once_released_for_ever,
    true_counts,
    empty_events_take_no_time,
]
OF_WINDOWS = [
    late_labels_without_noise_at_past_marks,
    marks_start_with_the_label,
    late_label_at_the_marks_time,
    windows_of_all_labels,
]


@pytest.mark.long(every=2)
@pytest.mark.parametrize("bug", PLAIN + OF_WINDOWS, ids=lambda bug: bug.__name__)
@pytest.mark.quick(every=7)
def test_planted_bugs_are_caught(bug: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    setting = SHORT[5] if bug in OF_WINDOWS else SHORT[0]
    rng = np.random.default_rng(1)
    bug(monkeypatch)
    with pytest.raises(ViolationError):
        for _ in range(4):
            check(setting, random_table(setting, rng))


def one_hash(patch: pytest.MonkeyPatch, bounded: Callable[..., Any]) -> None:
    """All users have one hash; what is to count is computed by the function given."""
    patch.setattr("dphist.streams.events.users.UserEvents._hash", lambda self, user: b"")
    patch.setattr(Setting, "bounded", lambda self, stream: bounded(stream))


COLLIDING = Setting(4, ("", "c", "cw", "c", "cw"), {"max_events_per_user": 2, "windows": 1}, "uvuv")


def test_users_of_equal_hash_share_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    one_hash(monkeypatch, lambda stream: (*stream[:2], (), ()))
    for seed in range(3):
        check(COLLIDING, random_table(COLLIDING, np.random.default_rng(seed)))


@pytest.mark.verify
def test_empty_events_that_do_not_count_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two users of equal hash one's labels would then move the other's bound."""
    right = StreamState._bound_users

    def wrong(self: StreamState, events: Any, source: Any) -> Any:
        bounded, users = right(self, events, source)
        return bounded, users if len(events.codes) else {}

    def bounded(stream: Any) -> Any:
        numbers = np.cumsum([bool(event) for event in stream])
        return tuple(event if n <= 2 else () for event, n in zip(stream, numbers, strict=True))

    monkeypatch.setattr(StreamState, "_bound_users", wrong)
    one_hash(monkeypatch, bounded)
    with pytest.raises(ViolationError):
        for seed in range(3):
            check(COLLIDING, random_table(COLLIDING, np.random.default_rng(seed)))
