"""Who has which label, on every engine against plain Python: `LabelCounts.sets`."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dphist.counting.bounding.stores import Sets
from dphist.data.label_counts import LabelCounts
from dphist.errors import DataError
from tests.counting.contribution_engines import ENGINES, Engine, hashed, table_of
from tests.counting.refusal import refused
from tests.counting.test_contributions import KEYS, count, some_rows

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)


def kept(frame: Any, key: str, **options: Any) -> Sets:
    def source(n: int) -> bytes:
        return bytes.fromhex(key)[:n]

    named = {"label": "term", "user": "who", "source": source, **options}
    found = LabelCounts.from_table(frame, keep_sets=True, **named).sets
    assert found is not None
    return found


def as_lists(held: Sets) -> list[list[Any]]:
    """The labels of each user, users in an order of their own."""
    labels = held.labels.to_pylist()
    assert labels == sorted(set(labels), key=lambda label: str(label).encode())
    users = zip(held.starts, held.starts[1:], strict=False)
    return sorted([labels[i] for i in held.members[first:last]] for first, last in users)


@pytest.mark.long(every=4)
@every_engine
@pytest.mark.parametrize(("seed", "max_labels"), [(0, 2), (1, 1), (2, 5), (3, None)])
@pytest.mark.quick(every=6)
def test_the_sets_are_those_of_plain_python(
    engine: Engine, seed: int, max_labels: int | None, tmp_path: Path
) -> None:
    rows, key = some_rows(seed), KEYS[seed % 2]
    held = kept(engine.make(table_of(rows), tmp_path), key, count="n", max_labels=max_labels)
    users: dict[Any, set[str]] = {}
    for user, label, times in rows:
        if times:
            users.setdefault(user, set()).add(label)
    pairs = [(user, label, "") for user, own in users.items() for label in own]
    places = hashed(key, engine.name, pairs)
    expected = []
    for user, own in users.items():
        by_hash = sorted((places[user, label, ""], label) for label in own)
        expected.append(sorted((label for _, label in by_hash[:max_labels]), key=str.encode))
    assert as_lists(held) == sorted(expected)
    assert held.singles.tolist() == [0] * len(held.labels)
    counts = held.counts().to_pydict()
    assert counts["count"] == [sum(label in own for own in expected) for label in counts["label"]]


@pytest.mark.long(every=2)
@every_engine
@pytest.mark.quick(every=4)
def test_rows_without_a_user(engine: Engine, tmp_path: Path) -> None:
    table = pa.table(
        {
            "who": pa.array([None, None, None, "u", "u", "v"]),
            "term": ["a", "a", "b", "a", "c", "a"],
        }
    )
    frame = engine.make(table, tmp_path)
    held = kept(frame, KEYS[0], max_labels=1, null_users="separate")
    singles = dict(zip(held.labels.to_pylist(), held.singles.tolist(), strict=True))
    assert [singles[label] for label in ("a", "b")] == [2, 1]
    assert len(held.members) == 2
    frame = engine.make(table, tmp_path)
    dropped = kept(frame, KEYS[0], max_labels=2, null_users="drop")
    assert as_lists(dropped) == [["a"], ["a", "c"]]
    with refused(DataError, "who"):
        kept(engine.make(table, tmp_path), KEYS[0], max_labels=2)


@every_engine
def test_without_a_column_of_users(engine: Engine, tmp_path: Path) -> None:
    frame = engine.make(table_of([("u", "a", 1), ("u", "a", 1), ("v", "b", 1)]), tmp_path)
    held = kept(frame, KEYS[0], user=None)
    assert held.labels.to_pylist() == ["a", "b"]
    assert held.singles.tolist() == [2, 1]
    assert len(held.members) == 0


def test_a_user_is_cut_like_counts_are() -> None:
    """The same labels of the same users are kept as by `LabelCounts` without sets."""
    rows = some_rows(7, 400)
    for key in KEYS:
        plain = count(table_of(rows), key, max_labels=3)
        held = kept(table_of(rows), key, max_labels=3)
        assert plain.largest(100).sort_by("label").equals(held.counts().sort_by("label"))
