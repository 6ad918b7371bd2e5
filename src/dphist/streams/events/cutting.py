"""A batch of events, and the removal of labels from it: at random, or all unlisted labels.

Events are sets of labels. If labels are dropped, the events stay, because each event is one time
step of the stream.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dphist.arrays import BoolArray, IntArray
from dphist.counting.reading.columns import UserType
from dphist.data.choosing import choose_labels, compute_starts
from dphist.noise.inversion import Source


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Events:
    """A batch of events in time order. Secret.

    Attributes
    ----------
    starts : (events + 1,) int64
        Event i has the labels codes[starts[i]:starts[i + 1]].
    codes : (labels of all events,) int64
        Positions in `vocabulary`; within an event they are ascending and distinct.
    vocabulary : list of str
        The distinct labels of all events.
    users : list of bytes, or None if no users were asked for
        The distinct users of all events: a letter for the type, and the value.
    user_type : one of `USER_TYPES`, or None if no users were asked for
        The type of all users.
    user_codes : (events,) int64, or None
        Positions in `users`.
    """

    starts: IntArray
    codes: IntArray
    vocabulary: list[str]
    users: list[bytes] | None = None
    user_codes: IntArray | None = None
    user_type: UserType | None = None

    def __repr__(self) -> str:
        return "Events(not shown)"

    def __len__(self) -> int:
        """Return the number of events, which is public."""
        return len(self.starts) - 1


def keep_known(events: Events, places: Mapping[str, int]) -> Events:
    """Drop the labels that are not in `places`; every event keeps its time step."""
    if all(label in places for label in events.vocabulary):
        return events
    known = np.fromiter((label in places for label in events.vocabulary), np.bool_)
    return _keep_labels(events, known[events.codes])


def cut(events: Events, max_labels: int, source: Source | None = None) -> Events:
    """Cut each event to `max_labels` labels, 1 or more, chosen uniformly at random.

    The choice in an event is independent of all other events, and of the labels themselves.
    `source(n)` returns n random bytes, for tests only (default: the operating system's randomness).
    """
    if len(events.codes) <= max_labels:
        return events
    keep = choose_labels(events.starts, max_labels, source)
    return events if keep.all() else _keep_labels(events, keep)


def remove_labels(events: Events, cut_away: BoolArray) -> Events:
    """Remove all labels from the events for which `cut_away`, (events,) bool, is true."""
    if not cut_away.any():
        return events
    return _keep_labels(events, np.repeat(~cut_away, np.diff(events.starts)))


def slice_events(events: Events, start: int, end: int) -> Events:
    """Return the events from index `start` up to, but excluding, `end`."""
    if start == 0 and end == len(events):
        return events
    here = np.zeros(len(events), np.bool_)
    here[start:end] = True
    part = remove_labels(events, ~here)
    codes = events.user_codes
    if codes is None:
        return replace(part, starts=part.starts[start : end + 1])
    used, codes = np.unique(codes[start:end], return_inverse=True)
    users = [(events.users or [])[place] for place in used.tolist()]
    return replace(part, starts=part.starts[start : end + 1], users=users, user_codes=codes)


def _keep_labels(events: Events, keep: BoolArray) -> Events:
    """Keep the labels for which `keep` is true, and remove all others, also from the vocabulary.

    A label that is dropped from all events must have no effect, so the vocabulary drops it too.
    """
    kept = np.append(0, np.cumsum(keep))
    codes = events.codes[keep]
    used = np.bincount(codes, minlength=len(events.vocabulary)) > 0
    vocabulary = [events.vocabulary[place] for place in np.flatnonzero(used).tolist()]
    codes = (np.cumsum(used) - 1)[codes]
    return replace(events, starts=kept[events.starts], codes=codes, vocabulary=vocabulary)


def deduplicate(starts: IntArray, codes: IntArray) -> tuple[IntArray, IntArray]:
    """Remove repeated labels from each event; return starts and codes, sorted by code.

    >>> deduplicate(np.array([0, 3, 3, 4]), np.array([2, 0, 2, 2]))
    (array([0, 2, 2, 3]), array([0, 2, 2]))
    """
    lengths = np.diff(starts)
    if not (lengths > 1).any():
        return starts, codes
    # Below 2**63: neither more events nor more labels than fit in memory.
    width = int(codes.max()) + 1
    pairs = np.sort(np.repeat(np.arange(len(lengths)), lengths) * width + codes)
    pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])]
    counts = np.bincount(pairs // width, minlength=len(lengths))
    return compute_starts(counts), pairs % width


def join_events(batches: Sequence[Events]) -> Events:
    """Return the events of all batches as one batch: first those of the first, and so on.

    Parameters
    ----------
    batches : one or more, all with users of one type, or all without.

    >>> joined = join_events([
    ...     Events(np.array([0, 2]), np.array([0, 1]), ["a", "b"]),
    ...     Events(np.array([0, 0, 2]), np.array([0, 1]), ["c", "a"]),
    ... ])
    >>> joined.starts, joined.codes, joined.vocabulary
    (array([0, 2, 2, 4]), array([0, 1, 0, 2]), ['a', 'b', 'c'])
    """
    if len(batches) == 1:
        return batches[0]
    places: dict[str, int] = {}
    users: dict[bytes, int] = {}
    codes, user_codes = [], []
    for batch in batches:
        found = [places.setdefault(label, len(places)) for label in batch.vocabulary]
        codes.append(np.array(found, np.int64)[batch.codes])
        if batch.users is not None:
            known = [users.setdefault(user, len(users)) for user in batch.users]
            user_codes.append(np.array(known, np.int64)[batch.user_codes])
    starts = compute_starts(np.concatenate([np.diff(batch.starts) for batch in batches]))
    joined = np.concatenate(codes)
    # Within an event, codes ascend. In the joined vocabulary they may not.
    event = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    joined = joined[np.lexsort((joined, event))]
    if not user_codes:
        return Events(starts, joined, list(places))
    held = np.concatenate(user_codes)
    return Events(starts, joined, list(places), list(users), held, batches[0].user_type)
