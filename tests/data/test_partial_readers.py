"""A user is in one part, whatever reads the rows; parts whose users are of two types are refused.

Every table has a label for each user, so that the labels of a part show which users are in it.
"""

import itertools
import json
import pickle
import uuid
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dphist as dh
from dphist.data.partial import Partial
from dphist.errors import ColumnError, DataError, ParameterError
from tests.support.data.partial import part_in_python
from tests.support.data.readers import READERS, file

PARTS = 2
NUMBERS = range(40)
TEXTS = [f"{'é' if n % 2 else ''}u{n}" for n in NUMBERS]
WORDS = [n.to_bytes(2, "big") * 8 for n in NUMBERS]
USERS: dict[str, pa.Array] = {
    "text": pa.array(TEXTS),
    "large text": pa.array(TEXTS, pa.large_string()),
    "text view": pa.array(TEXTS, pa.string_view()),
    "categories": pa.array(TEXTS).dictionary_encode(),
    "runs": pa.RunEndEncodedArray.from_arrays([n + 1 for n in NUMBERS], pa.array(TEXTS)),
    **{
        f"{sign}int{bits}": pa.array(NUMBERS, getattr(pa, f"{sign}int{bits}")())
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
    "negative": pa.array([-n for n in NUMBERS]),
    "large": pa.array([2**64 - 1 - n for n in NUMBERS], pa.uint64()),
    "bytes": pa.array(WORDS, pa.binary()),
    "fixed bytes": pa.array(WORDS, pa.binary(16)),
    "large bytes": pa.array(WORDS, pa.large_binary()),
    "uuid": pa.ExtensionArray.from_storage(pa.uuid(), pa.array(WORDS, pa.binary(16))),
    "uuid categories": pa.DictionaryArray.from_arrays(
        pa.array(NUMBERS, pa.int32()),
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array(WORDS, pa.binary(16))),
    ),
}
FAMILIES = {"uuid": "uuid", "bytes": "bytes", "text": "text", "categories": "text", "runs": "text"}


def family_of(kind: str) -> str:
    """The type of users that a part must state."""
    return next((family for word, family in FAMILIES.items() if word in kind.split()), "integer")


def read_as(reader: str, kind: str) -> str | None:
    """The type of users that a reader must find; None if it has no such type."""
    family = family_of(kind)
    if kind in ("runs", "uuid categories") and reader not in ("arrow", "pandas-arrow"):
        return None
    if reader == "csv":  # fields of a text file are text
        return "text" if family in ("text", "integer") and kind != "text view" else None
    if reader == "pandas" and family in ("bytes", "uuid"):  # objects, of which a part needs text
        return None
    if reader.startswith("polars") and family == "uuid":  # Polars reads their bytes
        return "bytes"
    if reader == "spark" and (family == "uuid" or kind[0] == "u" or kind in ("large", "text view")):
        return None
    return family


def table_of(kind: str) -> pa.Table:
    users = USERS[kind]
    labels = [f"t{n}" for n in NUMBERS]
    return pa.table({"who": users, "term": labels, "x": list(NUMBERS)})


@cache
def parts_of(reader: str, kind: str, folder: Path) -> list[Partial]:
    own = folder / reader / kind
    own.mkdir(parents=True)
    frame = READERS[reader](table_of(kind), own)
    return [
        dh.LabelCounts.partial(frame, label="term", user="who", max_labels=1, part=k, parts=PARTS)
        for k in range(PARTS)
    ]


def users_in(counts: dh.LabelCounts) -> list[tuple[str, int]]:
    table = counts.filter_batches(lambda batch: batch)
    return sorted(zip(table["label"].to_pylist(), table["count"].to_pylist(), strict=True))


EACH_ONCE = sorted((f"t{n}", 1) for n in NUMBERS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readers")


READ = [(reader, kind) for kind in USERS for reader in READERS if read_as(reader, kind)]
quick_kinds = pytest.mark.quick("-text]", "-int64]", "-bytes]", "-uuid]", every=2)


@pytest.mark.long(every=6)
@quick_kinds
@pytest.mark.parametrize(("reader", "kind"), READ, ids=["-".join(each) for each in READ])
def test_every_reader_puts_a_user_into_the_part_of_the_rule(
    reader: str, kind: str, folder: Path
) -> None:
    """The rule, written down a second time, for the canonical form of each type."""
    for part, found in enumerate(parts_of(reader, kind, folder)):
        assert found.head["user_type"] == read_as(reader, kind)
        own = {f"t{n}" for n in NUMBERS if part_in_python(form_of(reader, kind, n), PARTS) == part}
        assert set(found.table["label"].to_pylist()) == own


def form_of(reader: str, kind: str, number: int) -> Any:
    value = USERS[kind][number].as_py()
    if read_as(reader, kind) == "bytes" and isinstance(value, uuid.UUID):
        return value.bytes
    return value


@pytest.mark.long(every=4)
@pytest.mark.quick("[text]", "[int64]", "[bytes]", "[uuid]")
@pytest.mark.parametrize("kind", USERS)
def test_parts_of_two_readers_hold_each_user_once_or_are_refused(kind: str, folder: Path) -> None:
    readers = [reader for reader in READERS if read_as(reader, kind) and reader != "spark"]
    for first, second in itertools.product(readers, repeat=2):
        parts = [parts_of(reader, kind, folder)[k] for k, reader in enumerate((first, second))]
        if read_as(first, kind) == read_as(second, kind):
            joined = pa.concat_tables([each.table for each in parts])
            assert sorted(joined["label"].to_pylist()) == sorted(label for label, _ in EACH_ONCE)
        else:
            with pytest.raises(ParameterError, match="users of one type"):
                dh.LabelCounts.merge(parts)


@pytest.mark.parametrize("kind", ["bytes", "uuid"])
def test_objects_other_than_text_are_refused(kind: str, folder: Path) -> None:
    frame = READERS["pandas"](table_of(kind), folder)
    with pytest.raises(ColumnError, match="'who' holds Python objects other than text"):
        dh.LabelCounts.partial(frame, label="term", user="who", max_labels=1, part=0, parts=1)


CLASSES: dict[Any, dict[str, Any]] = {
    dh.LabelCounts: {"label": "term", "max_labels": 1},
    dh.Profile: {"label": "term", "max_records": 1},
    dh.BinnedCounts: {"column": "x", "edges": [0, 20, 40], "max_records": 1},
    dh.KeyedCounts: {"keys": {"x": range(40)}, "max_rows": 1},
}
each_class = pytest.mark.parametrize("counts", CLASSES, ids=lambda counts: counts.__name__)


def two_parts(counts: Any, first: str, second: str, folder: Path) -> list[Partial]:
    """Part 0 of a table with one type of users, and part 1 of a table with another."""
    given = CLASSES[counts] | {"user": "who", "parts": PARTS}
    return [
        counts.partial(table_of(kind), part=part, **given)
        for part, kind in enumerate((first, second))
    ]


@each_class
@pytest.mark.parametrize(
    ("first", "second"), list(itertools.permutations(["text", "int64", "bytes", "uuid"], 2))
)
@pytest.mark.quick(every=6)
def test_users_of_two_types_are_refused(
    counts: Any, first: str, second: str, tmp_path: Path
) -> None:
    parts = two_parts(counts, first, second, tmp_path)
    with pytest.raises(ParameterError, match="users of one type"):
        counts.merge(parts)
    # Also between processes.
    parts[0].save(tmp_path / "0.parquet")
    with pytest.raises(ParameterError, match="users of one type"):
        counts.merge([tmp_path / "0.parquet", parts[1].to_arrow()])


@pytest.mark.verify
@each_class
def test_integers_of_two_widths_are_written_alike(counts: Any, tmp_path: Path) -> None:
    whole = counts.merge(two_parts(counts, "int64", "int64", tmp_path))
    mixed = counts.merge(two_parts(counts, "uint8", "int32", tmp_path))
    if counts is dh.LabelCounts:
        assert users_in(mixed) == users_in(whole) == EACH_ONCE
    else:
        assert mixed == whole


@each_class
@pytest.mark.quick(every=3)
def test_uuids_of_a_frame_and_of_a_file_are_the_same_users(counts: Any, tmp_path: Path) -> None:
    """The reproduction: of 200 such users 56 were counted twice, and 50 not at all."""
    given = CLASSES[counts] | {"user": "who", "parts": PARTS}
    frames = [table_of("uuid"), file(table_of("uuid"), tmp_path)]
    for pair in itertools.product(frames, repeat=2):
        parts = [counts.partial(frame, part=part, **given) for part, frame in enumerate(pair)]
        merged = counts.merge(parts)
        if counts is dh.LabelCounts:
            assert users_in(merged) == EACH_ONCE
        else:
            total = merged.total if counts is dh.Profile else int(merged.counts.sum())
            assert total == len(NUMBERS)


def test_a_uuid_has_the_part_of_its_text(tmp_path: Path) -> None:
    texts = pa.array([str(uuid.UUID(bytes=word)) for word in WORDS])
    table = table_of("uuid").set_column(0, "who", texts)
    given: dict[str, Any] = {"label": "term", "user": "who", "max_labels": 1, "parts": PARTS}
    for part in range(PARTS):
        one, other = (
            dh.LabelCounts.partial(frame, part=part, **given).table
            for frame in (table, table_of("uuid"))
        )
        assert one.sort_by("label") == other.sort_by("label")


def test_parts_of_an_earlier_version_are_refused(tmp_path: Path) -> None:
    """Which did not say of which type their users are."""
    parts = two_parts(dh.LabelCounts, "uuid", "uuid", tmp_path)
    older = []
    for each in parts:
        head = {name: value for name, value in each.head.items() if name != "user_type"}
        older.append(Partial({**head, "format": 2}, each.table))
    key = b"dphist partial"
    tables = [each.table.replace_schema_metadata({key: json.dumps(each.head)}) for each in older]
    pq.write_table(tables[0], tmp_path / "0.parquet")
    pickled = pickle.loads(pickle.dumps(older))  # noqa: S301
    for given in (tables, [tmp_path / "0.parquet", tables[1]], older, pickled):
        with pytest.raises(DataError, match="count it again"):
            dh.LabelCounts.merge(given)
