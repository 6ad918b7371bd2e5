"""A caller's dataframe or file as rows that bounding can be done on, in DuckDB or in Spark.

Columns get the names of their roles: ``term``, the label; ``who``, the user; ``amount``, the count.
"""

import glob
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dphist.errors import ColumnError, DataError, DphistError, InputFileError, ParameterError
from dphist.tables.batches import carried, connected
from dphist.tables.columns import check_count_type, check_label_type, check_name, position_of
from dphist.tables.engines import DuckRows, Rows, SparkRows
from dphist.tables.files import open_file
from dphist.tables.frames import AnyFrame, selected, source_of
from dphist.tables.guard import shielded
from dphist.tables.interruptible import interruptible
from dphist.tables.progress import Progress

Numbers: TypeAlias = list[tuple[Any, ...]]

_ROLES = {"label": "term", "user": "who", "count": "amount"}


@dataclass(frozen=True, slots=True)
class Records:
    """Rows ready to be bounded.

    Attributes
    ----------
    rows : columns term, and who and amount where there are a user and a count.
    names : the caller's name of the columns ``label``, ``user`` and ``count``.
    collect : function
        Derives a short table from `rows`, evaluates it, and returns the named columns; whatever
        the engine says in between is dropped.
    kind : what the labels are, where the engine holds integers in their place, or None.
    from_text : whether counts were read from CSV text; -1 then stands for unreadable text.
    """

    rows: Rows
    names: Mapping[str, str]
    collect: Callable[[Callable[[Any], Rows], list[str]], Numbers]
    kind: pa.DataType | None = None
    from_text: bool = False


@contextmanager
def open_records(
    frame: object, names: Mapping[str, str], progress: Progress | None = None
) -> Iterator[Records]:
    """Open a dataframe or a file, having checked the names and types of its columns.

    Parameters
    ----------
    frame : anything Narwhals reads, or the path of a file, as for `count_records`
    names : dict
        The wanted columns: ``label``, and perhaps ``user`` and ``count``.
    progress : as for `count_records`

    Raises
    ------
    ParameterError
        If `frame` is no table, or two roles have one column.
    ColumnError
        If a column is missing, there twice, or has a type that cannot serve.
    DataError
        If the frame's engine fails.
    InputFileError
        If the file is missing or not what its name says.
    """
    for role, name in names.items():
        check_name(name, role)
    if len(set(names.values())) < len(names):
        raise ParameterError(f"{' and '.join(names)} must be different columns")
    if progress is not None and not callable(progress):
        raise ParameterError("progress must be a function of one number, or None")
    with ExitStack() as stack:
        if isinstance(frame, str | os.PathLike):
            yield _of_file(stack, frame, names, progress)
        else:
            yield _of_frame(stack, frame, names)


def _of_frame(stack: ExitStack, frame: object, names: Mapping[str, str]) -> Records:
    listed = " and ".join(repr(name) for name in names.values())
    failure = DataError(
        f"the engine of frame could not evaluate {listed}: finish other queries on its "
        "connection, evaluate the frame first, and pass plain columns of text or integers"
    )
    if _is_spark(frame):
        rows = _spark_rows(nw.to_native(frame, pass_through=True), names, failure)
        return Records(rows, names, _collector(rows, failure))
    opened = _opened(frame, names, failure)
    if opened.implementation.is_duckdb():
        relation = shielded(lambda: _named(opened.to_native(), names), failure)
        return Records(DuckRows(relation), names, _collector(DuckRows(relation), failure))
    table = shielded(
        lambda: {role: _decoded(column) for role, column in _arrow(opened, names).items()}, failure
    )
    columns = {}
    for role, column in table.items():
        _check_type(column, role, names[role])
        columns[_ROLES[role]] = column
    connection = stack.enter_context(_private())
    held = shielded(lambda: pa.table({n: carried(c) for n, c in columns.items()}), failure)
    local = DuckRows(shielded(lambda: connection.from_arrow(held), failure))
    kind = columns["term"].type
    collect = _collector(local, failure, connection)
    return Records(local, names, collect, None if held["term"].type == kind else kind)


def _of_file(
    stack: ExitStack,
    path: str | os.PathLike[str],
    names: Mapping[str, str],
    progress: Progress | None,
) -> Records:
    """Open a file on the connection that `open_file` makes for it."""
    parquet = Path(path).suffix.lower() == ".parquet"
    # In text everything is text, and a user may take the role of a second label; the columns of
    # a Parquet file may differ in type, so that the user is looked at alone.
    wanted = {"target" if role == "user" else role: name for role, name in names.items()}
    if parquet and "user" in names:
        del wanted["target"]
        with open_file(path, {"label": names["user"]}, None):
            pass
    source = stack.enter_context(open_file(path, wanted, progress))
    relation: duckdb.DuckDBPyRelation = source.frame.to_native()
    if parquet:
        problem = InputFileError(f"'{os.fspath(path)}' must be a Parquet file")
        relation = shielded(lambda: _parquet(relation, Path(path).absolute(), names), problem)
    else:
        columns = [f'"{role}" AS {_ROLES.get(role, "who")}' for role in wanted]
        relation = relation.project(", ".join(columns))
    rows = DuckRows(relation)

    def collect(derive: Callable[[Any], Rows], columns: list[str]) -> Numbers:
        def derived(_: AnyFrame) -> AnyFrame:
            result = derive(rows)
            assert isinstance(result, DuckRows)  # noqa: S101 - what is derived from DuckDB's
            return nw.from_native(result.relation)

        return source.collect(derived, columns)

    return Records(rows, names, collect, from_text=source.from_text)


def _parquet(
    opened: duckdb.DuckDBPyRelation, path: Path, names: Mapping[str, str]
) -> duckdb.DuckDBPyRelation:
    """Return the columns of a Parquet file, on the connection of `opened`."""
    literal = glob.escape(str(path)).replace("'", "''")
    query = f"SELECT * FROM read_parquet('{literal}', hive_partitioning = false)"  # noqa: S608
    relation: Any = opened.query("dphist_opened", query)
    with path.open("rb") as file:
        there = pq.read_schema(file).names
    # By position, as DuckDB renames columns that differ only in case.
    physical = {role: relation.columns[there.index(name)] for role, name in names.items()}
    return _named(relation, physical)


@contextmanager
def _private() -> Iterator[duckdb.DuckDBPyConnection]:
    with ExitStack() as stack:
        yield connected(stack)


def _collector(
    rows: Rows, failure: DphistError, connection: duckdb.DuckDBPyConnection | None = None
) -> Callable[[Callable[[Any], Rows], list[str]], Numbers]:
    def collect(derive: Callable[[Any], Rows], columns: list[str]) -> Numbers:
        def work() -> Numbers:
            return shielded(lambda: derive(rows).fetch(columns), failure)

        # A caller's own connection is used in the caller's thread only.
        return work() if connection is None else interruptible(connection, work)

    return collect


def _opened(frame: object, names: Mapping[str, str], failure: DphistError) -> AnyFrame:
    """Wrap a dataframe, having checked its columns by their names and types.

    The user is looked at apart from label and count: two columns of labels would have to be of
    one type, but a label is never compared with a user.
    """
    counted = {role: name for role, name in names.items() if role != "user"}
    source_of(frame, counted)
    if "user" in names:
        source_of(frame, {"label": names["user"]})
    return nw.from_native(nw.to_native(frame, pass_through=True))  # type: ignore[no-any-return]


def _named(relation: duckdb.DuckDBPyRelation, names: Mapping[str, str]) -> duckdb.DuckDBPyRelation:
    """Return the columns of a DuckDB relation under the names of their roles."""
    kinds = dict(zip(relation.columns, relation.types, strict=True))
    columns = []
    for role, name in names.items():
        quoted = '"' + name.replace('"', '""') + '"'
        # An enumeration is text; its order, and the numbers behind it, are not.
        value = f"CAST({quoted} AS VARCHAR)" if kinds[name].id == "enum" else quoted
        columns.append(f"{value} AS {_ROLES[role]}")
    return relation.project(", ".join(columns))


def _is_spark(frame: object) -> bool:
    """Whether this is a dataframe of PySpark, told without importing it."""
    kind = type(nw.to_native(frame, pass_through=True))
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")


def _spark_rows(frame: Any, names: Mapping[str, str], failure: DphistError) -> SparkRows:
    """Return the columns of a Spark dataframe under the names of their roles, types checked."""
    existing = shielded(lambda: list(frame.columns), failure)
    columns = []
    for role, name in names.items():
        position_of(name, existing, ignore_case=True)
        escaped = name.replace("`", "``")
        columns.append(f"`{escaped}` AS {_ROLES[role]}")
    # Renamed first, as to Narwhals on Spark a point in a name separates two.
    renamed = shielded(lambda: frame.selectExpr(*columns), failure)
    opened: AnyFrame = shielded(lambda: nw.from_native(renamed), failure)
    counted = {role: name for role, name in names.items() if role != "user"}
    selected(opened, counted, failure, {role: _ROLES[role] for role in counted})
    if "user" in names:
        selected(opened, {"label": names["user"]}, failure, {"label": _ROLES["user"]})
    return SparkRows(renamed)


def _arrow(frame: AnyFrame, names: Mapping[str, str]) -> dict[str, Any]:
    """Evaluate the wanted columns, once, as Arrow; of a pandas frame without rows, see below."""
    existing = list(frame.collect_schema())
    positions = [existing.index(name) for name in names.values()]
    if isinstance(frame, nw.LazyFrame):
        if frame.implementation.is_polars():  # to which `*` and `^...$` are patterns, not names
            frame = frame.select(nw.nth(*positions)).collect()
        else:
            frame = frame.select(*names.values()).collect("pyarrow")
    else:
        frame = frame.select(nw.nth(*positions))
    if frame.implementation.is_pandas():
        native = frame.to_native()
        return {role: _of_pandas(native.iloc[:, place], role) for place, role in enumerate(names)}
    table = frame.to_arrow()
    return {role: table.column(place) for place, role in enumerate(names)}


def _of_pandas(values: Any, role: str) -> Any:
    """Return a column of pandas; of Python objects, only text, or None.

    Each object is judged by itself. To let Arrow find a type for all of them would make it
    depend on the data whether a column serves.
    """
    if values.dtype == object and role == "count":  # only without rows, or it was refused
        return pa.chunked_array([], pa.int64())
    if values.dtype == object:
        kinds = values.dropna().map(type).unique()
        if not all(issubclass(kind, str) for kind in kinds):
            return None
        return pa.chunked_array([pa.Array.from_pandas(values, type=pa.large_string())])
    column = pa.Array.from_pandas(values)
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _decoded(column: Any) -> Any:
    """Return a column without the encoding its values have in Arrow."""
    if column is None:
        return None
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        chunks = [chunk.storage for chunk in column.chunks]
        return _decoded(pa.chunked_array(chunks, kind.storage_type))
    if pa.types.is_dictionary(kind):
        return column.cast(kind.value_type)
    if pa.types.is_run_end_encoded(kind):
        return pc.run_end_decode(column)
    return column.cast(pa.string()) if pa.types.is_null(kind) else column


def _check_type(column: Any, role: str, name: str) -> None:
    """Refuse a column whose decoded values cannot serve, or that DuckDB would not hold exactly."""
    if column is None:
        raise ColumnError(
            f"column {name!r} holds Python objects other than text: cast it to text, or to a type "
            "of its own, such as int64, datetime64 or an ArrowDtype"
        )
    kind = column.type
    dtype = nw.from_native(pa.table({"x": column.slice(0, 0)})).collect_schema()["x"]
    if role == "count":
        check_count_type(dtype, name)
        return
    check_label_type(dtype, name)
    whole = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal128(kind)
    moment = pa.types.is_temporal(kind) and not pa.types.is_interval(kind)
    short = pa.types.is_string(kind) or pa.types.is_binary(kind)
    long = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    view = pa.types.is_string_view(kind) or pa.types.is_binary_view(kind)
    fixed = pa.types.is_fixed_size_binary(kind)
    if not (whole or moment or short or long or view or fixed):
        raise ColumnError(
            f"column {name!r} must hold text, integers, truth values, dates, times, bytes or "
            "decimals of up to 38 digits: cast it to text"
        )
