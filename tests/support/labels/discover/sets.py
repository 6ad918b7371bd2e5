"""Sets of labels for tests, written down as lists."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from dphist.counting.bounding.stores import ArrowStore, Sets
from dphist.data.label_counts import LabelCounts
from dphist.privacy import PrivacyUnit


def sets(users: Sequence[Sequence[int]], singles: Sequence[int] | None = None) -> Sets:
    """Return sets of users who have the labels 0, 1, 2, ...; empty users are left out."""
    held = [sorted(user) for user in users if len(user)]
    members = np.array([label for user in held for label in user], np.int64)
    most = max([*members.tolist(), -1]) + 1 if singles is None else len(singles)
    alone = np.zeros(most, np.int64) if singles is None else np.array(singles, np.int64)
    starts = np.cumsum([0, *(len(user) for user in held)]).astype(np.int64)
    places = np.array([place for user in held for place in range(1, len(user) + 1)], np.int64)
    return Sets(pa.array(range(most), pa.int64()), starts, members, alone, places)


def data(held: Sets, max_labels: int) -> LabelCounts:
    """Return sets as `LabelCounts.from_table` makes them."""
    return LabelCounts(
        ArrowStore(held.counts()),
        max_labels,
        1,
        PrivacyUnit("user"),
        "refuse",
        "refuse",
        _sets=held,
    )
