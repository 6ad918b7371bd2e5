"""All rows of a file or frame are read, or nothing is counted: what engines promise is compared."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import dphist as dh
from dphist.counting.engine import private_duckdb
from dphist.counting.engine.private_duckdb import ExpectedRows, open_private_connection
from dphist.counting.engine.rows import DuckRows
from dphist.counting.reading import files, frames, source
from dphist.errors import DataError, InputFileError
from tests.support.counting.backends import BACKENDS, Backend
from tests.support.refusal import refused

TABLE = pa.table({"label": ["a", "b", "b", "c", "c"], "user": ["u", "u", "v", "v", "w"]})
NOT_READ = "could not be read completely"

Read = Callable[[Any], object]
BY_ROWS: dict[str, Read] = {
    "profile": lambda frame: dh.Profile.from_table(frame, label="label"),
    "degrees": lambda frame: dh.Profile.from_edges(frame, source="user", target="label"),
    "records": lambda frame: dh.Profile.from_table(
        frame, label="label", user="user", max_records=1
    ),
    "labels": lambda frame: dh.LabelCounts.from_table(frame, label="label"),
    "labels of users": lambda frame: dh.LabelCounts.from_table(
        frame, label="label", user="user", max_labels=1
    ),
    "all rows": lambda frame: dh.LabelCounts.from_table(
        frame, label="label", user="user", max_labels=1, null_users="drop", null_labels="drop"
    ),
    "sets": lambda frame: dh.LabelCounts.from_table(
        frame, label="label", user="user", max_labels=2, keep_sets=True
    ),
    "part": lambda frame: dh.LabelCounts.partial(
        frame, label="label", user="user", max_labels=1, part=0, parts=2
    ),
}


def error_of(frame: object) -> type[Exception]:
    return InputFileError if isinstance(frame, str | Path) else DataError


@pytest.mark.long(every=2)
@pytest.mark.parametrize("read", BY_ROWS.values(), ids=BY_ROWS)
@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
@pytest.mark.quick(every=7)
def test_an_engine_that_reads_other_numbers_of_rows_is_noticed(
    backend: Backend, read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = backend.make(TABLE, tmp_path)
    read(frame)
    count = private_duckdb._rows_read
    for change in (-1, 1):
        monkeypatch.setattr(
            private_duckdb,
            "_rows_read",
            lambda held, by=change: [each + by for each in count(held)],
        )
        with refused(error_of(frame), NOT_READ):
            read(frame)


def bins(frame: object, user: str | None = None) -> list[int]:
    most = None if user is None else 5
    found = dh.bin_counts(
        frame, column="value", start=0, stop=4, width=1, user=user, max_records=most
    )
    return [int(each) for each in found.counts]


VALUES = pa.table({"value": [0, 1, 1, 3], "user": ["u", "u", "v", "v"]})


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("user", [None, "user"])
def test_batches_of_a_file_are_counted(
    user: str | None, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    write = pyarrow.csv.write_csv if name == "t.csv" else pyarrow.parquet.write_table
    write(VALUES, path)
    assert bins(path, user) == [1, 2, 0, 1]
    check = files.check_batches
    for less in (lambda batches: batches[:-1], lambda batches: [*batches, batches[-1]]):
        monkeypatch.setattr(files, "check_batches", lambda *given, of=less: of([*check(*given)]))
        with refused(InputFileError, f"'{path}' {NOT_READ}"):
            bins(path, user)


@pytest.mark.parametrize("wanted", [3000, 5000])
def test_a_parquet_file_whose_parts_have_other_rows_than_the_whole(
    wanted: int, tmp_path: Path
) -> None:
    """The footer states the rows of the file and those of each part; here they disagree."""
    path = tmp_path / "t.parquet"
    table = pa.table({"label": ["a"] * 4000, "user": ["u"] * 4000, "value": [1] * 4000})
    pyarrow.parquet.write_table(table, path, row_group_size=4000)
    assert bins(path) == [0, 4000, 0, 0]
    content = path.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    stated = content.index(zigzag(4000), footer)  # the first number of rows is that of the file
    changed = content[:stated] + zigzag(wanted) + content[stated + len(zigzag(4000)) :]
    path = tmp_path / "u.parquet"
    path.write_bytes(changed)
    assert pyarrow.parquet.read_metadata(path).num_rows == wanted
    assert pyarrow.parquet.read_metadata(path).row_group(0).num_rows == 4000
    for read in (*BY_ROWS.values(), bins):
        with refused(InputFileError, f"'{path}' {NOT_READ}"):
            read(path)


def zigzag(number: int) -> bytes:
    """A number as Parquet's footer holds it."""
    rest, found = 2 * number, []
    while rest > 127:
        found.append(rest & 127 | 128)
        rest >>= 7
    return bytes([*found, rest])


NULLS = pa.table(
    {"label": ["a", None, "b", None] * 500, "user": [None, "u", "v", None] * 500, "n": [1] * 2000}
)


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
@pytest.mark.quick(every=3)
def test_rows_left_out_by_a_query_are_read(backend: Backend, tmp_path: Path) -> None:
    """Not by the scan, whose rows could then not be compared with those of the file."""
    frame = backend.make(NULLS, tmp_path)
    for count in (None, "n"):
        counts = dh.LabelCounts.from_table(
            frame,
            label="label",
            user="user",
            max_labels=2,
            count=count,
            null_users="drop",
            null_labels="drop",
        )
        assert counts.counts_of(["a", "b"]) == [0, 1]


PROFILES = ["", "{}", "[1, {}]", '{"result": "error"}', '{"children": [{"type": "TABLE_SCAN"}]}']


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.quick(every=5)
def test_a_profile_that_is_not_known_costs_no_result(
    profile: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of DuckDB may describe its scans otherwise: then the rows are counted."""
    parse = json.loads
    monkeypatch.setattr(private_duckdb.json, "loads", lambda _: parse(profile))
    for backend in BACKENDS:
        BY_ROWS["labels of users"](backend.make(TABLE, tmp_path))


def test_without_a_profile_the_rows_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_duckdb, "_rows_read", lambda _: [])
    for number in (4, 5, 6, None):
        for repeatable in (True, False):
            is_wrong = number is None or (repeatable and number != len(TABLE))
            assert is_refused(number, repeatable) is is_wrong


@pytest.mark.parametrize("number", [0, 4, 5, 6, None])
def test_each_way_to_evaluate_compares(number: int | None) -> None:
    assert is_refused(number, True) is (number != len(TABLE))


def is_refused(number: int | None, repeatable: bool) -> bool:
    """Whether rows of a promised number are refused; the same in every way to evaluate them."""
    found = set()
    with ExitStack() as stack:
        connection = open_private_connection(stack)
        expected = ExpectedRows(lambda: number, DataError(NOT_READ), repeatable)
        given = connection.from_arrow(TABLE)
        rows = DuckRows(connection, given, expected=expected).where("label <> 'a'")
        for evaluate in (
            lambda: rows.create("found"),
            lambda: rows.fetch(["label"]),
            lambda: rows.to_arrow(["label"]),
        ):
            try:
                evaluate()
            except DataError:
                found.add(True)
            else:
                found.add(False)
    (answer,) = found
    return answer


@pytest.mark.parametrize("progress", [None, lambda _: None], ids=["", "progress"])
@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow"])
def test_a_frame_whose_rows_do_not_all_arrive(
    name: str,
    progress: Callable[[float], None] | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As many rows as the frame has must come out of it as Arrow."""
    backend = next(each for each in BACKENDS if each.name == name)
    frame = backend.make(VALUES, tmp_path)
    assert bins(frame) == [1, 2, 0, 1]
    if name == "pandas":
        monkeypatch.setattr(frames, "_as_arrow", one_less(frames._as_arrow))
    else:
        monkeypatch.setattr(frames.nw.DataFrame, "to_arrow", one_less(frames.nw.DataFrame.to_arrow))
    for read in (
        lambda: dh.bin_counts(frame, column="value", start=0, stop=4, width=1, progress=progress),
        lambda: dh.LabelCounts.from_table(frame, label="user", progress=progress),
        lambda: dh.Profile.from_table(frame, label="user", progress=progress),
    ):
        with refused(DataError, f"frame {NOT_READ}"):
            read()


def one_less(convert: Callable[..., Any]) -> Callable[..., Any]:
    """Convert all rows but the last."""

    def converted(*given: Any) -> Any:
        found = convert(*given)
        return found.slice(0, max(0, len(found) - 1))

    return converted


@pytest.mark.parametrize("name", ["polars-lazy", "duckdb", "pandas"])
def test_a_stream_that_is_not_read_to_its_end(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = next(each for each in BACKENDS if each.name == name)
    frame = backend.make(TABLE, tmp_path)
    make = source.make_reader

    def shortened(batches: Any, wall: Any) -> pa.RecordBatchReader:
        reader = make(batches, wall)
        first = [reader.read_next_batch() for _ in range(1 if name == "pandas" else 2)]
        return pa.RecordBatchReader.from_batches(reader.schema, first)

    monkeypatch.setattr(source, "make_reader", shortened)
    with refused(DataError, f"frame {NOT_READ}"):
        dh.Profile.from_table(frame, label="label", progress=lambda _: None)
