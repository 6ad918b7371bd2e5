"""After each step, and not only at the end, what is written down is the whole state.

A later step may write what an earlier one left out, and a crash in between would then have noise
drawn a second time, or a user counted again. `docs/understand/proofs/streams.md`, Lemma 8.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest

from dphist.streams.mechanism import ContinualMechanism
from dphist.streams.state import live as live_state
from dphist.streams.state.state import StreamState
from dphist.streams.state.stored import all_rows, step_rows
from dphist.streams.stream import ContinualHistogram

Rows = Mapping[str, Iterable[tuple[Any, bytes]]]
Held = dict[tuple[str, Any], bytes]


def by_key(rows: Rows) -> Held:
    return {(kind, key): content for kind, part in rows.items() for key, content in part}


class InMemory:
    """Stands in for a store: keeps the rows that were committed."""

    uncertain = False

    def __init__(self, state: StreamState) -> None:
        self.rows, self.commits = by_key(all_rows(state)), 0

    def commit(self, rows: Rows) -> None:
        self.rows.update(by_key(rows))
        self.commits += 1


SETTINGS: list[dict[str, Any]] = [
    {},
    {"windows": 7},
    {"max_events_per_user": 2},
    {"max_events_per_user": 3, "windows": 5, "readings": 30},
    {"labels": [f"l{k}" for k in range(8)], "delta": None},
    {"labels": [f"l{k}" for k in range(8)], "delta": None, "windows": 4},
]


def differing_steps(method: Any, parameters: dict[str, Any]) -> int:
    """Take steps of all kinds; return after how many the rows were not those of the state."""
    mechanism = ContinualMechanism(
        **{"epsilon": 1, "delta": "1e-2", "horizon": 1000, "max_labels": 2, "method": method}
        | parameters
    )
    state = StreamState(mechanism)
    store: Any = InMemory(state)
    stream = ContinualHistogram._from_state(state, store)
    rng, differing = np.random.default_rng(1), 0
    user = None
    for i in range(90):
        if mechanism.max_events_per_user is not None:
            user = int(rng.integers(0, 40))
        stream.update({f"l{k}" for k in rng.integers(0, 90, 3)}, user=user)
        differing += store.rows != by_key(all_rows(state))
        if i % 5 == 0:
            stream.counts()
            differing += store.rows != by_key(all_rows(state))
        if i % 15 == 0:
            stream.release()
            differing += store.rows != by_key(all_rows(state))
    assert store.commits > 90
    return differing


@pytest.mark.parametrize("method", ["toeplitz", "autoregressive", "binary"])
@pytest.mark.parametrize("parameters", SETTINGS, ids=str)
@pytest.mark.quick(every=6)
def test_each_step_writes_all_that_it_changes(method: Any, parameters: dict[str, Any]) -> None:
    assert differing_steps(method, parameters) == 0


@pytest.mark.parametrize("kind", ["noise", "times", "label", "clock", "user", "reading", "mark"])
@pytest.mark.quick(every=4)
def test_rows_that_are_left_out_are_noticed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every third time only, so that a later step writes most of them."""
    calls = []

    def forgetful(state: Any, step: Any) -> Rows:
        calls.append(1)
        rows = step_rows(state, step)
        return {k: part for k, part in rows.items() if k != kind or len(calls) % 3}

    monkeypatch.setattr(live_state, "step_rows", forgetful)
    assert differing_steps("binary", SETTINGS[3]) > 0
