"""Users of one stream are of one type, so that no person is two:
`docs/understand/proofs/streams.md`, Lemma 1.

A user is a value of a type, whatever container brings it: a call, a frame of any engine, or a line
of the command's input (`tests/commands/test_stream_users.py`).
"""

import datetime
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dphist.errors import DataError, OutputFileError
from dphist.streams.events.columns import USER_TYPES
from dphist.streams.events.cutting import Events
from dphist.streams.events.reading import one_event, read_events
from dphist.streams.mechanism import ContinualMechanism
from dphist.streams.state.state import StreamState
from dphist.streams.state.stored import all_rows
from dphist.streams.store.store import Store
from dphist.streams.stream import ContinualHistogram
from tests.support.refusal import NUMBER, SENTINEL, refused

GIVEN: dict[str, Any] = {
    "epsilon": 1, "delta": "1e-6", "horizon": 64, "max_events_per_user": 1
}  # fmt: skip
VALUES: dict[str, Any] = {
    "text": "1",
    "integer": 1,
    "boolean": True,
    "date": datetime.date(1970, 1, 2),  # day 1
    "uuid": UUID(int=1),
}
COLUMNS: dict[str, list[pa.Array]] = {
    "text": [pa.array(["1"], kind) for kind in (pa.string(), pa.large_string(), pa.string_view())],
    "integer": [pa.array([1], kind) for kind in (pa.int8(), pa.uint64(), pa.int64())],
    "boolean": [pa.array([True])],
    "date": [pa.array([datetime.date(1970, 1, 2)])],
    "uuid": [pa.array([UUID(int=1).bytes], pa.uuid())],
}
ENGINES: list[Callable[[pa.Table], Any]] = [
    lambda table: table,
    lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    duckdb.connect().from_arrow,
    pl.from_arrow,
]


def ways(kind: str) -> Iterator[Events]:
    """One event of the user of this type, in every container."""
    yield one_event(["a"], VALUES[kind])
    for column in COLUMNS[kind]:
        for make in ENGINES if kind != "uuid" else ENGINES[:3]:  # Polars has no UUIDs
            table = pa.table({"label": ["a"], "user": column})
            yield read_events(make(table), user="user")
    if kind == "text":
        yield read_events(pd.DataFrame({"label": ["a"], "user": ["1"]}, dtype=object), user="user")
        category = pd.DataFrame({"label": ["a"], "user": pd.Categorical(["1"])})
        yield read_events(category, user="user")
    if kind in ("integer", "boolean"):
        frame = pd.DataFrame({"label": ["a"], "user": [VALUES[kind]]})
        yield read_events(frame, user="user")


MECHANISM = ContinualMechanism(**GIVEN)


def bounded() -> ContinualHistogram:
    return ContinualHistogram._from_state(StreamState(MECHANISM), None)


def counts(stream: ContinualHistogram) -> list[int]:
    return stream._state.counts


def test_a_user_is_one_in_all_containers_or_the_second_type_is_refused() -> None:
    found = {kind: list(ways(kind)) for kind in USER_TYPES}
    assert list(found) == list(VALUES)
    said = set()
    for first, one in ((kind, event) for kind in found for event in found[kind]):
        stream = bounded()
        stream._live.count(one, None)
        for other in found[first]:
            stream._live.count(other, None)
        for other in (event for kind in found if kind != first for event in found[kind]):
            with pytest.raises(DataError) as error:
                stream._live.count(other, None)
            said.add(str(error.value))
        assert (stream.time, stream.user_type) == (1 + len(found[first]), first)
        assert counts(stream) == [1]
    assert len(said) == 20  # the types decide, and nothing else


@pytest.mark.parametrize(("first", "second"), [(5, "5"), ("5", 5), (True, 1), (1, True)])
def test_the_reproductions(first: Any, second: Any) -> None:
    stream = bounded()
    stream.update(["a"], user=first)
    with refused(DataError, "are of the type", "convert them"):
        stream.update(["a"], user=second)
    stream.update(["a"], user=first)
    assert (stream.time, counts(stream)) == (2, [1])


def test_an_error_shows_no_user() -> None:
    stream = bounded()
    stream.update(["a"], user=SENTINEL)
    with refused(DataError, "type text", "type integer"):
        stream.update([SENTINEL], user=NUMBER)
    with refused(DataError, "type text", "type integer"):
        stream.update_many(pd.DataFrame({"label": [SENTINEL], "who": [NUMBER]}), user="who")


def test_events_without_labels_decide_too() -> None:
    """Neighbors differ in what events hold, not in whose they are: the type is the same in both."""
    for labels in ([], ["a"], ["a", "b"]):
        stream = bounded()
        stream.update(labels, user="u")
        stream.update(labels, user="u")  # cut
        assert stream.user_type == "text"


def test_a_batch_without_events_decides_nothing_and_is_accepted() -> None:
    none = pa.table({"label": pa.array([], pa.string()), "user": pa.array([], pa.int64())})
    stream = bounded()
    stream.update_many(none, user="user")
    assert stream.user_type is None
    stream.update(["a"], user="u")
    assert stream.update_many(none, user="user", key=("log", 1))
    assert stream.user_type == "text"


def test_what_is_not_counted_decides_nothing() -> None:
    stream = bounded()
    many = pa.table({"label": ["a"] * 65, "user": range(65)})
    with pytest.raises(Exception, match="horizon"):
        stream.update_many(many, user="user")
    assert stream.user_type is None
    stream.update(["a"], user="u")


def test_the_type_is_on_the_disk_with_the_first_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit that fails leaves neither; one that returned has both."""
    path, commit = tmp_path / "s", Store.commit

    def failing(store: Store, rows: Any) -> None:
        raise OutputFileError("no space left")

    with ContinualHistogram.open(path, **GIVEN) as stream:
        monkeypatch.setattr(Store, "commit", failing)
        with pytest.raises(OutputFileError):
            stream.update(["a"], user=5)
        assert stream.user_type is None
        written: list[Any] = []
        monkeypatch.setattr(Store, "commit", lambda store, rows: written.append(rows))
        stream.update(["a"], user="5")
        (rows,) = written
        assert rows["user type"] == [(0, b"text")]
        assert len(rows["user"]) == 1
        stream.update(["a"], user="6")
        assert "user type" not in written[1]
    monkeypatch.setattr(Store, "commit", commit)


@pytest.mark.parametrize("windows", [None, 1])
def test_a_stream_keeps_the_type_in_its_file(windows: int | None, tmp_path: Path) -> None:
    path, two = tmp_path / "s", pa.table({"label": ["a", "a"], "user": [5, 5]})
    with ContinualHistogram.open(path, windows=windows, **GIVEN) as stream:
        stream.update_many(two, user="user")
    with ContinualHistogram.open(path) as stream:
        assert stream.user_type == "integer"
        with refused(DataError, "type integer", "type text"):
            stream.update(["a"], user="5")
        stream.update(["a"], user=5)
        assert counts(stream) == [1]
    moved = ContinualHistogram.load(path)
    moved.save(tmp_path / "t")
    with ContinualHistogram.open(tmp_path / "t") as stream, refused(DataError, "type integer"):
        stream.update(["a"], user="5")


def test_the_next_event_decides_where_an_earlier_version_kept_no_type(tmp_path: Path) -> None:
    state = StreamState(MECHANISM)
    state.apply(state.counting(one_event(["a"], 5)))
    rows = all_rows(state)
    assert rows.pop("user type") == [(0, b"integer")]
    store = Store.create(tmp_path / "s")
    store.commit(rows)
    store.close()
    with ContinualHistogram.open(tmp_path / "s") as stream:
        assert (stream.time, stream.user_type) == (1, None)
        stream.update(["a"], user=5)
        assert (counts(stream), stream.user_type) == ([1], "integer")
    with ContinualHistogram.open(tmp_path / "s") as stream, refused(DataError, "type integer"):
        stream.update(["a"], user="5")


def test_a_type_that_this_version_does_not_know_is_refused(tmp_path: Path) -> None:
    state = StreamState(MECHANISM)
    rows = all_rows(state)
    rows["user type"] = [(0, b"number")]
    store = Store.create(tmp_path / "s")
    store.commit(rows)
    store.close()
    with pytest.raises(Exception, match="this version of dphist can read"):
        ContinualHistogram.open(tmp_path / "s")
