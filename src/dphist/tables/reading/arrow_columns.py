"""Columns of a dataframe as Arrow, of types that do not depend on the values in them."""

from collections.abc import Mapping
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.compute as pc

from dphist.tables.engine.guard import shielded
from dphist.tables.reading.frames import AnyFrame, engine_failure, source_of
from dphist.tables.reading.types import carried, check_arrow, check_text, decoded_dictionary


def checked_frame(frame: object, names: Mapping[str, str]) -> AnyFrame:
    """Return a dataframe for Narwhals, its columns checked by their names and Narwhals' types."""
    source_of(frame, names)
    return nw.from_native(nw.to_native(frame, pass_through=True))  # type: ignore[no-any-return]


def evaluated(frame: AnyFrame, names: Mapping[str, str]) -> dict[str, pa.ChunkedArray]:
    """Evaluate the wanted columns of a checked frame, once, by role; check their Arrow types.

    Raises
    ------
    ColumnError, DataError
    """
    columns = shielded(lambda: _evaluated(frame, names), engine_failure(names))
    for role, column in columns.items():
        check_arrow(column, role, names[role])
        check_text(column, names[role])
    return columns


def users_of(values: Any, name: str) -> pa.ChunkedArray:
    """Return a column of users, of Arrow or of pandas, as one that DuckDB holds exactly; checked.

    Raises
    ------
    ColumnError, DataError
    """

    def decoded() -> Any:
        arrow = isinstance(values, pa.ChunkedArray)
        return _decoded(values if arrow else _of_pandas(values, "user"), "user")

    column = shielded(decoded, engine_failure({"user": name}))
    check_arrow(column, "user", name)
    check_text(column, name)
    return carried(column)


def _evaluated(frame: AnyFrame, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the columns; None for one of Python objects other than text."""
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
        columns = [_of_pandas(native.iloc[:, n], role) for n, role in enumerate(names)]
    else:
        columns = frame.to_arrow().columns
    return {role: _decoded(column, role) for role, column in zip(names, columns, strict=True)}


def _of_pandas(values: Any, role: str) -> Any:
    """Return a column of pandas; of Python objects, only text, or None.

    Each object is judged by itself. To let Arrow find a type for all of them would make it
    depend on the data whether a column serves, and what type its labels have.
    """
    if values.dtype == object and role == "count":  # only without rows, or it was refused
        return pa.chunked_array([], pa.int64())
    categories = getattr(values.dtype, "categories", None)
    if categories is not None and categories.dtype == object:
        values = values.astype(object)
    if values.dtype == object:
        kinds = values.dropna().map(type).unique()
        if not all(issubclass(kind, str) for kind in kinds):
            return None
        return pa.chunked_array([pa.Array.from_pandas(values, type=pa.large_string())])
    column = pa.Array.from_pandas(values)
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _decoded(column: Any, role: str) -> Any:
    """Return a column without the encoding its values have in Arrow."""
    if column is None:
        return None
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name.startswith("pandas."):  # periods and intervals, as their numbers
            return None
        chunks = [chunk.storage for chunk in column.chunks]
        return _decoded(pa.chunked_array(chunks, kind.storage_type), role)
    if pa.types.is_dictionary(kind):
        return _decoded(decoded_dictionary(column), role)
    if pa.types.is_run_end_encoded(kind):
        return _decoded(pc.run_end_decode(column), role)
    if pa.types.is_null(kind):
        return column.cast(pa.int64() if role == "count" else pa.string())
    return column
