"""Joining of batches of events to one batch, in their order."""

from collections.abc import Sequence

import numpy as np

from dphist.data.choosing import starts_of
from dphist.streams.events.cutting import Events


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
    starts = starts_of(np.concatenate([np.diff(batch.starts) for batch in batches]))
    joined = np.concatenate(codes)
    # Within an event, codes ascend. In the joined vocabulary they may not.
    event = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    joined = joined[np.lexsort((joined, event))]
    if not user_codes:
        return Events(starts, joined, list(places))
    held = np.concatenate(user_codes)
    return Events(starts, joined, list(places), list(users), held, batches[0].user_type)
