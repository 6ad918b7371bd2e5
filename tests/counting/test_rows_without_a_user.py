"""Rows without a user: refused, dropped, or each a user of its own, in bins and in profiles."""

import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist.counting.binning import users as binned
from dphist.counting.binning.users import bin_rows_bounded
from dphist.counting.bounding.contributions import count_bounded_records
from dphist.errors import DataError, ParameterError
from dphist.report import report_html
from tests.support.counting.binned_users import (
    EDGES,
    GRID,
    KEYS,
    UserRows,
    kept_in_python,
    some_rows,
    table_of,
)
from tests.support.counting.contribution_engines import ENGINES, Engine
from tests.support.counting.contribution_engines import table_of as labels_of
from tests.support.counting.contributions import kept_of_labels
from tests.support.counting.contributions import some_rows as some_labels
from tests.support.counting.counted_bins import CountedRows, counted_table, shared_in_python

LACKING: UserRows = [(None, value) for value in (-1, 1, 1, 1, 3, 3, 99, None)]
SLOTS = [1, 3, 2, 0, 1, 1]
COUNTED: CountedRows = [(None, 1, 7), (None, 1, 9), (None, 3, 2), (None, None, 4), (None, 5, 0)]

every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)


def slots(frame: Any, most: int, null_users: str, key: str, **more: Any) -> list[int]:
    told = {"max_records": most, "null_users": null_users, "key": key, **more}
    found: list[int] = bin_rows_bounded(frame, GRID, user="who", **told).tolist()
    return found


def added(*counts: list[int]) -> list[int]:
    return [sum(each) for each in zip(*counts, strict=True)]


@every_engine
@pytest.mark.quick("[True-pyarrow]", "[False-pyarrow]", "[True-spark]")
@pytest.mark.parametrize("few", [True, False])
def test_rows_without_a_user_as_chosen(
    engine: Engine, few: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where rows are not held in memory; no row of a user is another one because of them."""
    if not few:
        monkeypatch.setattr(binned, "MOST_ROWS", 5)
    rows, key = some_rows(1), KEYS[1]
    frame = engine.make(table_of([*LACKING[:3], *rows, *LACKING[3:]]), tmp_path)
    of_users = kept_in_python(rows, 2, key, engine.name)
    assert slots(frame, 2, "drop", key) == of_users
    assert slots(frame, 2, "separate", key) == added(of_users, SLOTS)
    with pytest.raises(DataError, match="null_users='drop'"):
        slots(frame, 2, "refuse", key)


def test_rows_without_a_user_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that writes into its own table meanwhile has no row counted twice."""
    valid, texts = bytearray([0b0111]), np.arange(5, dtype=np.int32).tobytes()
    buffers = [pa.py_buffer(valid), pa.py_buffer(texts), pa.py_buffer(b"abcd")]
    who = pa.Array.from_buffers(pa.string(), 4, buffers)
    count_held = binned.count_held

    def write_first(*rows: Any) -> Any:
        valid[0] = 0
        return count_held(*rows)

    monkeypatch.setattr(binned, "count_held", write_first)
    frame = pa.table({"who": who, "x": [1] * 4})
    assert sum(slots(frame, 1, "separate", KEYS[0])) == 4


@every_engine
@pytest.mark.quick("[pyarrow]", "[spark]")
def test_counted_rows_without_a_user_are_bounded_each(engine: Engine, tmp_path: Path) -> None:
    rows, key = [("u", 1, 5), ("u", 3, 6), ("v", 3, 1)], KEYS[0]
    frame = engine.make(counted_table([*COUNTED, *rows]), tmp_path)
    of_users = shared_in_python(rows, 3, key, engine.name)
    assert slots(frame, 3, "drop", key, count="n") == of_users
    assert slots(frame, 3, "separate", key, count="n") == added(of_users, [0, 6, 2, 0, 0, 3])


def profile(frame: Any, most: int, null_users: str, key: str) -> Counter[int]:
    told: dict[str, Any] = {"max_records": most, "null_users": null_users, "key": key}
    counts, prevalences = count_bounded_records(frame, label="term", user="who", **told)
    return Counter(dict(zip(counts.tolist(), prevalences.tolist(), strict=True)))


@every_engine
@pytest.mark.quick("[True-pyarrow]", "[False-pyarrow]", "[True-spark]")
@pytest.mark.parametrize("few", [True, False])
def test_profiles_have_rows_without_a_user_as_chosen(
    engine: Engine, few: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their labels are some that users have, and some that nobody has."""
    if not few:
        monkeypatch.setattr("dphist.counting.engine.rows.FEW_ROWS", -1)
    rows, key = some_labels(1, 120), KEYS[1]
    alone = ["a", "a", "new", rows[0][1], "a", "new", "newer"]
    lacking: list[Any] = [(None, label, 1) for label in alone]
    frame = engine.make(labels_of([*lacking[:3], *rows, *lacking[3:]]), tmp_path)
    of_users = kept_of_labels(rows, 4, key, engine)
    assert profile(frame, 4, "drop", key) == Counter(of_users.values())
    assert profile(frame, 4, "separate", key) == Counter((of_users + Counter(alone)).values())
    with pytest.raises(DataError, match="null_users='drop'"):
        profile(frame, 4, "refuse", key)


@pytest.mark.parametrize("null_users", ["drop", "separate"])
def test_rows_without_a_user_alone(null_users: str) -> None:
    expected = SLOTS if null_users == "separate" else [0] * 6
    assert slots(table_of(LACKING), 1, null_users, KEYS[0]) == expected


@pytest.mark.parametrize("null_users", ["drop", "separate"])
def test_parts_give_what_the_whole_gives(null_users: str) -> None:
    frame = table_of([*some_rows(2), *LACKING])
    told: dict[str, Any] = {"column": "x", "edges": EDGES, "user": "who", "max_records": 90}
    told["null_users"] = null_users
    cut = [dh.BinnedCounts.partial(frame, **told, part=part, parts=3) for part in range(3)]
    assert dh.BinnedCounts.merge(cut) == dh.bin_counts(frame, **told)
    cut[0] = dh.BinnedCounts.partial(frame, **{**told, "null_users": "drop"}, part=0, parts=3)
    if null_users == "separate":
        with pytest.raises(ParameterError, match="treatment of missing values"):
            dh.BinnedCounts.merge(cut)


@pytest.mark.parametrize("null_users", ["drop", "separate"])
def test_parts_of_a_profile_give_what_the_whole_gives(null_users: str) -> None:
    """A bound that cuts users who all have one label: which rows are kept then decides nothing."""
    users = [(f"user {n % 9}", f"label {n % 9 % 4}", 1) for n in range(60)]
    lacking: list[Any] = [(None, label, 1) for label in ("label 0", "label 0", "new", "new", "new")]
    frame = labels_of([*users, *lacking])
    told: dict[str, Any] = {"label": "term", "user": "who", "max_records": 2}
    told["null_users"] = null_users
    cut = [dh.Profile.partial(frame, **told, part=part, parts=3) for part in range(3)]
    merged = dh.Profile.merge(cut)
    assert merged == dh.Profile.from_table(frame, **told)
    assert merged.total == 18 + 5 * (null_users == "separate")
    cut[0] = dh.Profile.partial(frame, **{**told, "null_users": "refuse"}, part=1, parts=3)
    with pytest.raises(ParameterError, match="treatment of missing values"):
        dh.Profile.merge(cut)


def test_what_a_profile_says_of_rows_without_a_user() -> None:
    frame = labels_of([*some_labels(2), (None, "a", 1)])
    told: dict[str, Any] = {"label": "term", "user": "who", "max_records": 2}
    dropped = dh.Profile.from_table(frame, **told, null_users="drop")
    kept = dh.Profile.from_table(frame, **told, null_users="separate")
    assert (str(dropped.unit), dropped.null_users) == ("one user", "drop")
    assert (str(kept.unit), kept.null_users) == ("one user, or one row without a user", "separate")
    for counts, said in ((dropped, "are dropped"), (kept, "each count as a separate user")):
        assert pickle.loads(pickle.dumps(counts)) == counts  # noqa: S301 - our own
        assert counts.conjugate().conjugate() == counts
        release = dh.AdaptiveScan(epsilon=1, sensitivity=2).release(counts)
        assert release.guarantee.unit.or_rows == (counts is kept)
        assert release.provenance["null_users"] == counts.null_users
        assert f"Rows without a user {said}." in " ".join(report_html(release).split())
        assert dh.Release.from_json(release.to_json()) == release
    with pytest.raises(ParameterError, match="null_users needs user"):
        dh.Profile.from_table(frame, label="term", null_users="drop")
    with pytest.raises(ParameterError, match='"refuse", "drop" or "separate"'):
        dh.Profile.from_table(frame, **told, null_users="keep")
    with pytest.raises(ParameterError, match="null_users"):
        dh.Profile(kept.counts, kept.prevalences, 2, "one user", "refuse")


def test_what_is_said_of_rows_without_a_user() -> None:
    frame = table_of([*some_rows(2), *LACKING])
    told: dict[str, Any] = {"column": "x", "edges": EDGES, "user": "who", "max_records": 2}
    dropped = dh.bin_counts(frame, **told, null_users="drop")
    kept = dh.bin_counts(frame, **told, null_users="separate")
    assert (str(dropped.unit), str(kept.unit)) == (
        "one user",
        "one user, or one row without a user",
    )
    mechanism = dh.LeafCounts(epsilon=1, bins=3, sensitivity=2)
    for counts, said in ((dropped, "are dropped"), (kept, "each count as a separate user")):
        release = mechanism.release(counts)
        assert release.provenance["null_users"] == counts.null_users
        assert f"Rows without a user {said}." in " ".join(report_html(release).split())
        assert dh.Release.from_json(release.to_json()) == release
    with pytest.raises(ParameterError, match="null_users"):
        dh.bin_counts(table_of(some_rows(2)), column="x", edges=EDGES, null_users="drop")
    with pytest.raises(ParameterError, match="null_users"):
        dh.bin_counts(frame, **told, null_users="keep")
    users = dh.count_user_records(frame, user="who", null_users="drop", most=200)
    assert users.counts.sum() == len({who for who, _ in some_rows(2)})
    with pytest.raises(ParameterError, match="null_users"):
        dh.count_user_records(frame, user="who", null_users="separate")
