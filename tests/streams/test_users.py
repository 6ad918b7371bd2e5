"""Which events of a user count, whatever is in them: `docs/understand/proofs/streams.md`, Lemma 1.

All streams of a few events, labels and users are run through what a stream does before it counts,
and through copies of it with bugs.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from dphist.streams.events import users as module
from dphist.streams.events.cutting import Events, remove_labels
from dphist.streams.events.reading import one_event, read_events
from dphist.streams.events.users import UserEvents
from dphist.streams.mechanism import ContinualMechanism
from dphist.streams.state.state import StreamState
from tests.support.goodness import LEVEL

Event = tuple[str, tuple[str, ...]]  # user, labels
Stream = tuple[Event, ...]
Kept = tuple[bool, ...]
LABELS: tuple[tuple[str, ...], ...] = ((), ("a",), ("a", "b"))


class ViolationError(AssertionError):
    """A claim that does not hold."""


def batch(events: Sequence[Event]) -> Events:
    """Return a batch as a frame gives it: users in order of appearance."""
    read = read_events([list(labels) for _, labels in events])
    names = list(dict.fromkeys(user for user, _ in events))
    codes = np.array([names.index(user) for user, _ in events], np.int64)
    users = [name.encode() for name in names]
    return Events(read.starts, read.codes, read.vocabulary, users, codes, "text")


def counted(users: UserEvents, parts: Sequence[Sequence[Event]]) -> Kept:
    """Return which events of a stream count, taken in these parts."""
    kept: list[bool] = []
    for part in parts:
        beyond, numbers = users.beyond(batch(part))
        users.add(numbers)
        kept += (~beyond).tolist()
    return tuple(kept)


def parts_of(stream: Stream) -> Iterator[list[Stream]]:
    """All ways to cut a stream into batches."""
    for cuts in itertools.product((False, True), repeat=len(stream) - 1):
        places = [0, *(i for i, cut in enumerate(cuts, 1) if cut), len(stream)]
        yield [stream[a:b] for a, b in itertools.pairwise(places)]


def streams(length: int) -> Iterator[Stream]:
    each = list(itertools.product(("u", "v"), LABELS))
    yield from itertools.product(each, repeat=length)


def without(stream: Stream, who: str) -> Stream:
    return tuple((user, () if user == who else labels) for user, labels in stream)


Count = Callable[[int, list[Stream]], Kept]


def right_count(most: int, parts: list[Stream]) -> Kept:
    return counted(UserEvents(most), parts)


def check(count: Count, most: int, length: int, *, exactly: bool = True) -> None:
    """Check all streams and neighbours: all events of a user, or one event, are empty."""
    found = {stream: count(most, [stream]) for stream in streams(length)}
    for stream, kept in found.items():
        for user in ("u", "v"):
            its = [k for k, event in zip(kept, stream, strict=True) if event[0] == user]
            if sum(its) > most:
                raise ViolationError("more events of a user count than may")
            if exactly and its != [i < most for i in range(len(its))]:
                raise ViolationError("not the first events of a user count")
            if found[without(stream, user)] != kept:
                raise ViolationError("what counts depends on a user's labels")
        for i in range(length):
            if found[(*stream[:i], (stream[i][0], ()), *stream[i + 1 :])] != kept:
                raise ViolationError("what counts depends on the labels of one event")
    for stream in itertools.islice(found, 0, None, 7):
        if any(count(most, parts) != found[stream] for parts in parts_of(stream)):
            raise ViolationError("what counts depends on how the events came")


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.quick("[1]")
def test_the_first_events_of_a_user_count_whatever_is_in_them(most: int) -> None:
    check(right_count, most, 4)


def test_users_of_equal_hash_share_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """It protects both no less; and still nothing depends on labels."""
    monkeypatch.setattr(UserEvents, "_hash", lambda self, user: b"the same")
    check(right_count, 2, 4, exactly=False)
    stream: Stream = (("u", ("a",)), ("v", ("a",)), ("v", ("a",)), ("u", ()))
    assert right_count(2, [stream]) == (True, True, False, False)
    assert all(right_count(2, parts) == (True, True, False, False) for parts in parts_of(stream))


def only_events_with_labels(most: int, parts: list[Stream]) -> Kept:
    numbers: Counter[str] = Counter()
    kept = []
    for user, labels in itertools.chain(*parts):
        numbers[user] += bool(labels)
        kept.append(numbers[user] <= most)
    return tuple(kept)


def off_by_one(most: int, parts: list[Stream]) -> Kept:
    return right_count(most + 1, parts)


def batches_alone(most: int, parts: list[Stream]) -> Kept:
    """Numbers are not carried over from one batch to the next."""
    return sum((right_count(most, [part]) for part in parts), ())


def all_or_nothing_of_a_batch(most: int, parts: list[Stream]) -> Kept:
    """A user's events of a batch count if the first of them does."""
    numbers: Counter[str] = Counter()
    kept: list[bool] = []
    for part in parts:
        kept += [numbers[user] < most for user, _ in part]
        numbers.update(user for user, _ in part)
    return tuple(kept)


def the_last_ones(most: int, parts: list[Stream]) -> Kept:
    stream = tuple(itertools.chain(*parts))[::-1]
    return right_count(most, [stream])[::-1]


def shared(most: int, parts: list[Stream]) -> Kept:
    """The events of all users with labels share one bound."""
    stream = [("u" if labels else user, labels) for user, labels in itertools.chain(*parts)]
    return right_count(most, [tuple(stream)])


BUGS: list[Count] = [
    only_events_with_labels,
    off_by_one,
    batches_alone,
    all_or_nothing_of_a_batch,
    the_last_ones,
    shared,
]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
@pytest.mark.quick(every=3)
def test_planted_bugs_are_caught(bug: Count) -> None:
    with pytest.raises(ViolationError):
        check(bug, 2, 4)


def test_a_wrong_order_within_a_batch_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = module._occurrences
    monkeypatch.setattr(module, "_occurrences", lambda codes: right(codes[::-1])[::-1])
    with pytest.raises(ViolationError):
        check(right_count, 2, 4)


# --- As the state does it: bounded, known labels only, cut


def state(**changed: Any) -> StreamState:
    parameters = {"epsilon": 1, "delta": "1e-6", "horizon": 64, **changed}
    return StreamState(ContinualMechanism(**parameters))


def labels_left(bounded: Events) -> list[list[str]]:
    return [
        [bounded.vocabulary[code] for code in bounded.codes[a:b].tolist()]
        for a, b in itertools.pairwise(bounded.starts.tolist())
    ]


def test_an_event_replaced_by_the_empty_set_changes_no_other_event() -> None:
    """Where no event is cut there is no chance in it: the others have exactly the same labels."""
    for stream in streams(3):
        kept = labels_left(
            state(max_labels=2, max_events_per_user=2)._bound_users(batch(stream), None)[0]
        )
        for i in range(3):
            neighbour = (*stream[:i], (stream[i][0], ()), *stream[i + 1 :])
            bounded = state(max_labels=2, max_events_per_user=2)._bound_users(
                batch(neighbour), None
            )[0]
            found = labels_left(bounded)
            assert len(found) == len(kept) == 3  # the empty event keeps its time step
            assert found[i] == []
            assert [*found[:i], *found[i + 1 :]] == [*kept[:i], *kept[i + 1 :]]


CUT: list[list[str]] = [["a", "b", "c"], ["a", "b"], ["c", "a", "b"]]


def law_of_the_others(events: list[list[str]], source: Any, cut_at_once: Any = None) -> Counter:
    """Count what is left of the second and third event, in 6,000 runs."""
    found: Counter = Counter()
    held = state(max_labels=1)
    read = read_events(events)
    for _ in range(6000):
        bounded = (
            held._bound_users(read, source)[0] if cut_at_once is None else cut_at_once(read, source)
        )
        left = labels_left(bounded)
        found[tuple(left[1]), tuple(left[2])] += 1
    return found


def p_value(one: Counter, other: Counter) -> float:
    cells = sorted(set(one) | set(other))
    a, b = (np.array([counts[cell] for cell in cells], float) for counts in (one, other))
    return float(chi2.sf(float(np.sum((a - b) ** 2 / (a + b))), len(cells) - 1))


def test_cutting_an_event_leaves_the_law_of_the_others(seeded: Any) -> None:
    whole = law_of_the_others(CUT, seeded(1))
    neighbour = law_of_the_others([[], *CUT[1:]], seeded(2))
    assert len(whole) == len(neighbour) == 6
    assert p_value(whole, neighbour) > LEVEL


def test_a_choice_that_follows_the_other_events_is_caught(seeded: Any) -> None:
    """Labels that an earlier event has are kept first, so that there are fewer of them."""

    def wrong(events: Events, source: Any) -> Events:
        left, seen = [], set()
        for labels in labels_left(events):
            known = [label for label in labels if label in seen] or labels
            left.append([known[source(1)[0] % len(known)]] if known else [])
            seen.update(labels[:1])
        return read_events(left)

    whole = law_of_the_others(CUT, seeded(1), wrong)
    neighbour = law_of_the_others([[], *CUT[1:]], seeded(2), wrong)
    assert p_value(whole, neighbour) < LEVEL


def test_listed_labels_are_looked_for_before_the_cut() -> None:
    """Otherwise a cut would leave fewer of the listed ones; it is bounded either way."""
    held = state(delta=None, labels=["b", "d"], max_labels=1, max_events_per_user=1)
    events = batch([("u", ("a", "b", "c")), ("u", ("b",)), ("v", ("d", "x"))])
    assert labels_left(held._bound_users(events, None)[0]) == [["b"], [], ["d"]]


def test_a_user_is_known_by_a_salted_hash_alone() -> None:
    one, other = UserEvents(2), UserEvents(2)
    assert one.salt != other.salt
    event = one_event(["a"], "somebody")
    (held,), (its,) = one.beyond(event)[1], other.beyond(event)[1]
    assert held != its
    assert len(held) == 16
    assert b"somebody" not in held
    assert one.beyond(one_event([], "somebody"))[1] == {held: 1}
    assert one.beyond(one_event(["a"], b"somebody".decode()))[1] == {held: 1}
    assert one.counted == {}  # nothing is counted until it is taken
    assert "somebody" not in repr(one)
    assert repr(one.salt) not in repr(one)


def test_emptied_events_leave_no_label_behind() -> None:
    events = batch([("u", ("a",)), ("u", ("only here",))])
    left = remove_labels(events, np.array([False, True]))
    assert left.vocabulary == ["a"]
    assert labels_left(left) == [["a"], []]
