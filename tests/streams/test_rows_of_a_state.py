"""A state of more rows than any batch of rows holds is read back whole: paths, times, labels.

What is left out is drawn again for counts that were read before. Lemma 8 of
docs/understand/proofs/streams.md.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dphist.streams.counters.noise_table import Times
from dphist.streams.mechanism import ContinualMechanism
from dphist.streams.state.state import StreamState
from dphist.streams.store.store import _ROWS_AT_ONCE
from dphist.streams.stream import ContinualHistogram

PATHS_A_ROW, TIMES_A_ROW = 4096, 1024  # as the file format has them
PARAMETERS: dict[str, Any] = {"epsilon": 1, "delta": "1e-2", "horizon": 2**14}


def held(state: StreamState) -> dict[str, Any]:
    """All that later readings follow from."""
    noise = state.noise
    return {
        "events": (state.time, state.reads, dict(state.batches)),
        "labels": (list(state.labels), list(state.counts), list(state.released)),
        "paths": noise.rows.tolist(),
        "times": list(noise.times),
        "marks": {time: counts.tolist() for time, counts in state.marks.items()},
        "noise at marks": {time: units.tolist() for time, units in noise.marks.items()},
        "readings": dict(state.readings),
    }


def check_reopened(stream: ContinualHistogram, path: Path) -> ContinualHistogram:
    """Close a durable stream and open it again, as the same one."""
    before, counts = held(stream._state), stream.counts()
    stream.close()
    again = ContinualHistogram.open(path)
    after = held(again._state)
    assert after.keys() == before.keys()
    assert [name for name in before if before[name] != after[name]] == []
    assert again.counts() == counts
    return again


def test_paths_of_thousands_of_labels_are_read_back(tmp_path: Path) -> None:
    """Labels come step by step, before and after each end of a row of paths."""
    path, known = tmp_path / "s.state", 0
    stream = ContinualHistogram.open(path, windows=PATHS_A_ROW, **PARAMETERS)
    for number in (PATHS_A_ROW, PATHS_A_ROW + 1, 2 * PATHS_A_ROW + 1):
        stream.update_many(pa.table({"label": [f"label {n}" for n in range(known, number)]}))
        stream.counts()
        known = number
        stream = check_reopened(stream, path)
    assert len(stream._state.noise.rows) >= known > 2 * PATHS_A_ROW > _ROWS_AT_ONCE
    stream.close()


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.quick(every=2)
def test_thousands_of_times_are_read_back(rows: int, tmp_path: Path) -> None:
    """Readings cross the end of a row of times, step by step."""
    path, end = tmp_path / "s.state", rows * TIMES_A_ROW
    state = StreamState(ContinualMechanism(**PARAMETERS))
    state.time, state.reads = end - 2, (end - 2, end - 2)
    state.noise = replace(state.noise.advance_to(1, 1), times=Times(range(1, end - 1)))
    ContinualHistogram._from_state(state, None).save(path)
    stream = ContinualHistogram.open(path)
    for _ in range(5):
        stream.update(["a"])
        stream.counts()
        stream = check_reopened(stream, path)
    assert list(stream._state.noise.times) == list(range(1, end + 4))
    stream.close()
