"""What is printed of secret data is the same for all data of one schema: a log shows no size."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dphist import Axis, BinnedCounts, ContinualHistogram, Profile
from dphist.data.label_counts import LabelCounts
from dphist.streams.events.reading import read_events

COUNTS = [[], [1], [7, 7, 3], [918273645] * 50]


def bins_of(counts: list[int]) -> BinnedCounts:
    held = np.array([*counts, 0, 0, 0, 0][:4], np.int64)
    outside = {"below": len(counts), "above": sum(counts), "null": 0}
    return BinnedCounts(held, (Axis.from_edges(range(5)),), outside)


def labels_of(counts: list[int]) -> LabelCounts:
    names = [f"label {i}" for i in range(len(counts))]
    return LabelCounts.from_counts(names, counts, max_labels=3, max_count=2)


def labels_of_table(counts: list[int]) -> LabelCounts:
    names = pd.array([f"label {i}" for i in range(len(counts))], "string")
    frame = pd.DataFrame({"word": names, "n": np.array(counts, np.int64)})
    return LabelCounts.from_table(frame, label="word", count="n", max_count=10**9)


def stream_of(counts: list[int]) -> ContinualHistogram:
    """Of one length, whatever is in it."""
    stream = ContinualHistogram(epsilon=1, delta="1e-6", horizon=1000, max_labels=50)
    events = [[f"label {i}" for i in range(len(counts))], *[[]] * 9]
    stream.update_many(events)
    return stream


SECRET: list[Callable[[list[int]], Any]] = [
    Profile.from_counts,
    lambda counts: Profile.from_counts(counts).conjugate(),
    bins_of,
    labels_of,
    labels_of_table,
    stream_of,
    lambda counts: read_events([[f"label {i}" for i in range(len(counts))]]),
]


@pytest.mark.parametrize("make", SECRET)
@pytest.mark.parametrize("show", [repr, str, "{}".format])
@pytest.mark.quick(every=3)
def test_what_is_shown_of_data_does_not_depend_on_them(
    make: Callable[[list[int]], Any], show: Callable[[Any], str]
) -> None:
    assert len({show(make(counts)) for counts in COUNTS}) == 1


def test_a_size_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Power: a profile that says how many labels it has."""
    monkeypatch.setattr(Profile, "__repr__", lambda self: f"Profile({self.labels} labels)")
    assert len({repr(Profile.from_counts(counts)) for counts in COUNTS}) > 1
