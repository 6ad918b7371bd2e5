"""How often a label that one event brought is released, counted in real streams.

Lemma 7 of docs/understand/proofs/streams.md.
"""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from dphist.streams.mechanism import ContinualMechanism
from dphist.streams.stream import ContinualHistogram

METHODS: tuple[Any, ...] = ("toeplitz", "autoregressive", "binary")
EVENTS = 2**16 - 1  # the binary mechanism's noise is widest there
DELTA = 2e-3
UNLIKELY = 1e-6


def count_released(method: Any, source: Any, *, each: int = 1, reads: int = 1) -> tuple[int, int]:
    """Feed a stream of labels that one user each has; return labels out at any reading, and all.

    A user has `each` events, all of one label.
    """
    stream = ContinualHistogram(
        epsilon=1,
        delta=DELTA,
        horizon=EVENTS,
        method=method,
        readings=reads,
        max_events_per_user=None if each == 1 else each,
    )
    labels = EVENTS // each
    found: set[str] = set()
    if each > 1:
        users = np.repeat(np.arange(labels), each)
        stream.update_many(pd.DataFrame({"label": users.astype(str), "user": users}), user="user")
    else:
        stream.update_many([[str(user)] for user in range(EVENTS - reads + 1)])
    for i in range(reads):
        if i:
            stream.update([])
        found |= set(stream.counts(source=source))
    return len(found), labels


def lowered(patch: pytest.MonkeyPatch, records: int) -> None:
    right = ContinualMechanism.threshold.fget
    patch.setattr(ContinualMechanism, "threshold", property(lambda self: right(self) - records))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("each", [1, 5])
@pytest.mark.quick("[5-autoregressive]")
def test_a_label_of_one_user_is_released_with_delta_and_not_four_times_less(
    method: Any, each: int, seeded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, of = count_released(method, seeded(1), each=each)
    assert binom.sf(out - 1, of, DELTA) > UNLIKELY
    assert out / of > DELTA / 4
    # Power: a threshold that is lower by two standard deviations of a block.
    lowered(monkeypatch, 2)
    out, of = count_released(method, seeded(1), each=each)
    assert binom.sf(out - 1, of, DELTA) < UNLIKELY


@pytest.mark.long(every=2)
@pytest.mark.parametrize("method", METHODS)
def test_of_all_readings_together(
    method: Any, seeded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten times in a row, at any of which a label may come out."""
    out, of = count_released(method, seeded(2), reads=10)
    assert binom.sf(out - 1, of, DELTA) > UNLIKELY
    # Power: the threshold of a single reading.
    single = ContinualMechanism(epsilon=1, delta=DELTA, horizon=EVENTS, method=method, readings=1)
    lower = single.threshold
    monkeypatch.setattr(ContinualMechanism, "threshold", property(lambda self: lower))
    out, of = count_released(method, seeded(2), reads=10)
    assert binom.sf(out - 1, of, DELTA) < UNLIKELY
