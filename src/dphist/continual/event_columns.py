"""Columns of a dataframe that hold events: their labels, their users, and where each begins."""

from collections.abc import Mapping
from itertools import chain
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.continual.cutting import BoolArray
from dphist.errors import ColumnError, DataError, ParameterError
from dphist.tables import IntArray
from dphist.tables.engine.guard import shielded
from dphist.tables.reading.arrow_columns import users_of
from dphist.tables.reading.columns import position_of
from dphist.tables.reading.frames import AnyFrame, engine_failure
from dphist.tables.reading.types import check_duckdb, plain

PLAIN = (list, tuple, set, frozenset)
"""What holds the labels of an event, as Python has it."""

_MILLISECONDS_A_DAY = 86_400_000

# DuckDB's types. It would give others, such as uuid, to Arrow as text.
_TEXT = {"varchar", "enum", "null", '"null"', "sqlnull"}
_USERS = _TEXT | {
    *("boolean", "date", "tinyint", "smallint", "integer", "bigint"),
    *("utinyint", "usmallint", "uinteger", "ubigint"),
}


def plain_text(values: Any) -> list[str] | None:
    """Return the values of a list or set, each of exactly the type str; None if any is no text."""
    kinds = set(map(type, values))
    if kinds <= {str}:
        return list(values)
    if not all(issubclass(kind, str) for kind in kinds):
        return None
    # A subclass may be equal to what it will. An Enum's value is its text, its str() is not.
    return [str.__str__(value) for value in values]


def event_columns(frame: AnyFrame, names: Mapping[str, str]) -> list[Any]:
    """Evaluate the columns `names`: Arrow, or pandas where they hold Python objects."""
    failure = engine_failure(names)
    native = frame.to_native()
    if frame.implementation.is_duckdb():
        _check_relation(native, names)
        return shielded(lambda: _of_relation(native, names), failure)
    schema = shielded(frame.collect_schema, failure)
    positions = [position_of(name, list(schema)) for name in names.values()]
    if frame.implementation.is_pandas():
        return shielded(lambda: [_of_series(native.iloc[:, n]) for n in positions], failure)
    for name in names.values():
        if schema[name] == nw.Object:
            raise _not_text(name)
    return shielded(lambda: _of_positions(frame, positions), failure)


def _check_relation(relation: Any, names: Mapping[str, str]) -> None:
    """Refuse columns of DuckDB that are missing or of the wrong type, and rows in no order."""
    types = dict(zip(relation.columns, relation.types, strict=True))
    for role, name in names.items():
        position_of(name, list(relation.columns), ignore_case=True)
        kind = types[name]
        if role == "event":
            check_duckdb(kind, name)
        elif role == "user" and kind.id not in _USERS:
            raise _unfit_users(name)
        elif role == "label":
            if kind.id in ("list", "array"):
                kind = kind.children[0][1]
            if kind.id not in _TEXT:
                raise _not_text(name)
    # A constant, of no row: nothing is evaluated.
    setting = "count(*) AS none, current_setting('preserve_insertion_order') AS ordered"
    ask = relation.filter("false").aggregate
    if not shielded(lambda: ask(setting).fetchall()[0][1], engine_failure(names)):
        raise ParameterError(
            "events must be in time order, which DuckDB does not keep without its setting "
            "preserve_insertion_order: set it to true"
        )


def _of_relation(relation: Any, names: Mapping[str, str]) -> list[Any]:
    """Evaluate columns of DuckDB; nothing is computed, as a macro may be the caller's."""
    quoted = [name.replace('"', '""') for name in names.values()]
    chosen = ", ".join(f'"{name}" AS c{number}' for number, name in enumerate(quoted))
    found: list[Any] = relation.project(chosen).to_arrow_table().columns
    return found


def _of_positions(frame: AnyFrame, positions: list[int]) -> list[Any]:
    """Evaluate columns of Polars or Arrow, by place, as `*` is a pattern to Polars."""
    chosen = frame.select(nw.nth(*positions))
    eager = chosen.collect() if isinstance(chosen, nw.LazyFrame) else chosen
    found: list[Any] = eager.to_arrow().columns
    return found


def _of_series(values: Any) -> Any:
    """Return a pandas column as Arrow, or, if it holds Python objects, as such."""
    if np.dtype(object) == getattr(getattr(values.dtype, "categories", None), "dtype", None):
        values = values.astype(object)
    if values.dtype == object:
        return values
    if values.dtype.kind == "f" and not values.notna().any():  # how pandas holds nothing at all
        return pa.chunked_array([pa.nulls(len(values))])
    column = pa.Array.from_pandas(values)
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def labels_of(values: Any, name: str) -> tuple[IntArray, pa.Array]:
    """Return how many labels each row has, and the labels of all rows."""
    if not isinstance(values, pa.ChunkedArray):
        return _of_objects(values, name)
    if _is_list(values.type):
        lengths = numbers_of(pc.fill_null(pc.list_value_length(values), 0))
        labels = _text(pc.list_flatten(values), name)
        if labels.null_count:
            raise _missing_in_list(name)
        return lengths, labels
    labels = _text(values, name)
    return numbers_of(labels.is_valid()), labels.drop_null()


def _of_objects(values: Any, name: str) -> tuple[IntArray, pa.Array]:
    """Return the same for a pandas column of objects: each text, a list of text, or missing.

    Each is judged by itself: which kind of column it is must not depend on the first of them.
    """
    there = values.notna().to_numpy()
    held = values.to_numpy()[there].tolist()
    texts = plain_text(held)
    if texts is not None:
        lengths = there.astype(np.int64)
    else:
        rows = [_of_object(value, name) for value in held]
        lengths = np.zeros(len(there), np.int64)
        lengths[there] = [len(row) for row in rows]
        texts = plain_text(list(chain.from_iterable(rows)))
    if texts is None:
        raise _missing_in_list(name)
    return lengths, shielded(lambda: pa.array(texts, pa.large_string()), _not_utf8(name))


def _of_object(value: Any, name: str) -> list[Any]:
    """Return the labels of a Python object."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, PLAIN):
        return list(value)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return list(value.tolist())
    raise _not_text(name)


def users_of_events(values: Any, name: str) -> tuple[list[bytes], IntArray]:
    """Return the distinct users of a column, as `user_key` writes them, and each row's place."""
    kind = _kind(values)
    users = _one_array(users_of(values, name))  # where a moment is an integer
    is_text, is_integer = pa.types.is_large_string(users.type), pa.types.is_integer(users.type)
    is_truth, is_date = pa.types.is_boolean(users.type), pa.types.is_date(kind)
    if pa.types.is_timestamp(kind) or not (is_text or is_integer or is_truth or is_date):
        raise _unfit_users(name)
    if users.null_count:
        raise DataError(f"column {name!r} must have no missing values: give every event a user")
    table = users.dictionary_encode()
    codes, distinct = numbers_of(table.indices), table.dictionary
    if is_text:
        return [b"t" + text for text in distinct.cast(pa.large_binary()).to_pylist()], codes
    if is_truth:
        return [b"b%d" % value for value in distinct.to_pylist()], codes
    if pa.types.is_date32(kind):
        return [b"d%d" % day for day in distinct.cast(pa.int32()).to_pylist()], codes
    if is_date:
        return [b"d%d" % (moment // _MILLISECONDS_A_DAY) for moment in distinct.to_pylist()], codes
    return [b"i%d" % number for number in distinct.to_pylist()], codes


def _is_list(kind: pa.DataType) -> bool:
    """Whether an Arrow type is one of lists, however it holds them."""
    types = pa.types
    plain_list = types.is_list(kind) or types.is_large_list(kind)
    view = types.is_list_view(kind) or types.is_large_list_view(kind)
    return bool(plain_list or view or types.is_fixed_size_list(kind))


def _text(values: pa.ChunkedArray, name: str) -> pa.Array:
    """Return a column of text, decoded and checked, as one array."""
    kind = _kind(values)
    if not (plain(kind) == pa.string() or pa.types.is_null(kind)):
        raise _not_text(name)
    return _one_array(users_of(values, name))


def _kind(values: Any) -> pa.DataType:
    """Return the type of a column's values, without their encoding; text for Python objects."""
    kind = values.type if isinstance(values, pa.ChunkedArray) else pa.string()
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        elif pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
            kind = kind.value_type
        else:
            return kind


def _one_array(values: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array; text as such whose places have 64 bits, and are enough."""
    if plain(values.type) == pa.string():
        values = values.cast(pa.large_string())
    combined = values.combine_chunks()
    return combined.chunk(0) if isinstance(combined, pa.ChunkedArray) else combined


def changes_of(values: Any, name: str) -> BoolArray:
    """Return whether each row but the first has another value than the row before."""
    ids = _one_array(users_of(values, name))
    if ids.null_count:
        raise DataError(f"column {name!r} must have no missing values: give every row its event")
    changes: BoolArray = pc.not_equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False)
    return changes


def numbers_of(values: Any) -> IntArray:
    numbers: IntArray = values.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def _not_text(name: str) -> ColumnError:
    return ColumnError(f"column {name!r} must hold text, or lists of text: cast it to text")


def _unfit_users(name: str) -> ColumnError:
    return ColumnError(
        f"column {name!r} must hold users as text, integers of up to 64 bits, dates or truth "
        "values: cast it to text"
    )


def _missing_in_list(name: str) -> DataError:
    return DataError(
        f"the lists of column {name!r} must hold text, and no missing values: remove these; an "
        "event without labels is an empty list"
    )


def _not_utf8(name: str) -> DataError:
    return DataError(f"column {name!r} must hold text in UTF-8: correct other text")
