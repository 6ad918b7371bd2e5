"""A caller's dataframe, brought to the form the aggregation works on.

Columns are renamed to the roles they play (``label``, ``count``, ``source``, ...), so that
no name of a caller's can collide with ours, and nothing is evaluated before `collect`.
"""

import datetime
import decimal
import ipaddress
import numbers
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.errors import ColumnError, DataError, DphistError, ParameterError
from dphist.tables.engine.guard import shielded
from dphist.tables.reading.columns import (
    COMPARED,
    LABELS,
    check_count_type,
    check_label_type,
    different_types,
    position_of,
)
from dphist.tables.reading.types import decoded_dictionary

AnyFrame: TypeAlias = nw.DataFrame[Any] | nw.LazyFrame[Any]
Derive: TypeAlias = Callable[[AnyFrame], AnyFrame]
Run: TypeAlias = Callable[[Callable[[], Any]], Any]

# Types whose values a pandas column of objects may mix: each compares exactly.
_LABEL_TYPES = (
    str,
    bytes,
    numbers.Integral,
    np.bool_,
    np.datetime64,
    np.timedelta64,
    decimal.Decimal,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    uuid.UUID,
    ipaddress.IPv4Address,
    ipaddress.IPv6Address,
)


@dataclass(frozen=True, slots=True)
class Source:
    """A table ready to be aggregated.

    Attributes
    ----------
    frame : Narwhals frame
        One column for each role.
    names : dict
        The caller's name of each role's column, for the errors.
    run : function
        Calls what evaluates a frame derived from `frame`; whatever the engine says is dropped.
    from_text : bool
        Whether counts were read from CSV text; -1 then stands for unreadable text.
    """

    frame: AnyFrame
    names: Mapping[str, str]
    run: Run
    from_text: bool = False

    def collect(self, derive: Derive, columns: list[str]) -> list[tuple[Any, ...]]:
        """Derive a frame from `frame`, evaluate it, and return the named columns as rows."""
        rows: list[tuple[Any, ...]] = self.run(lambda: rows_of(derive(self.frame), columns))
        return rows


def source_of(frame: object, names: Mapping[str, str]) -> Source:
    """Return a Source over the caller's dataframe.

    Parameters
    ----------
    frame : anything Narwhals reads
    names : dict
        The wanted columns: role to the caller's name. Roles of `LABELS` take any type with
        exact equality, the same for those of `COMPARED`; every other role takes integers.

    Raises
    ------
    ParameterError
        If Narwhals does not read `frame`.
    ColumnError
        If a column is missing, there twice, or has a type that cannot serve.
    DataError
        If the frame's engine fails.
    """
    failure = engine_failure(names)
    prepared = selected(narwhals_of(frame, failure), names, failure)
    return Source(prepared, names, lambda call: shielded(call, failure))


def engine_failure(names: Mapping[str, str]) -> DataError:
    """The error for an engine that fails over the columns `names`, whatever it says."""
    listed = " and ".join(repr(name) for name in names.values())
    return DataError(
        f"the engine of frame could not evaluate {listed}: finish other queries on its "
        "connection, evaluate the frame first, and pass plain columns of text or integers"
    )


def selected(
    frame: AnyFrame, names: Mapping[str, str], failure: DphistError, physical: Any = None
) -> AnyFrame:
    """Return the wanted columns, checked, and named by their roles.

    `physical` gives the engine's name of each column where it differs from the caller's.
    """
    schema = shielded(frame.collect_schema, failure)
    physical = physical or names
    duckdb = frame.implementation.is_duckdb()
    existing = list(frame.to_native().columns) if duckdb else list(schema)
    for name in physical.values():
        # A name DuckDB holds twice is one of Narwhals' schema, so DuckDB itself is asked.
        position_of(name, existing, ignore_case=duckdb)
    if isinstance(frame, nw.DataFrame) and len(frame) == 0:
        frame = shielded(lambda: _typed(frame, physical), failure)
    kinds = {}
    for role in [role for role in names if role in LABELS]:
        frame = _with_labels(frame, physical[role], names[role], failure)
        if role in COMPARED:
            kinds[names[role]] = _kind(frame, physical[role], failure)
    if len(kinds) == 2:
        (first, kind), (second, other) = kinds.items()
        if kind != other:
            raise different_types(first, second)
    schema = shielded(frame.collect_schema, failure)
    for role, name in names.items():
        if role not in LABELS:
            check_count_type(schema[physical[role]], name)
    return shielded(lambda: _renamed(frame, physical, existing), failure)


def _typed(frame: AnyFrame, physical: Mapping[str, str]) -> AnyFrame:
    """Give the columns of a frame without rows the types that a reader could not see."""
    schema = frame.collect_schema()
    unseen = {name for name, dtype in schema.items() if dtype in (nw.Object, nw.Unknown)}
    if frame.implementation.is_pandas():  # whose empty objects Narwhals takes for text
        dtypes = frame.to_native().dtypes
        unseen = {name for name, dtype in dtypes.items() if str(dtype) == "object"}
    casts = [
        nw.col(name).cast(nw.String if role in LABELS else nw.Int64)
        for role, name in physical.items()
        if name in unseen
    ]
    return frame.with_columns(*casts) if casts else frame


def _renamed(frame: AnyFrame, physical: Mapping[str, str], existing: list[str]) -> AnyFrame:
    """Return the columns `physical`, named by their roles, where a name may be anything."""
    if frame.implementation.is_duckdb():
        # Older ones split a name at its points unless it is quoted in SQL.
        quoted = {role: name.replace('"', '""') for role, name in physical.items()}
        chosen = ", ".join(f'"{name}" AS "{role}"' for role, name in quoted.items())
        return nw.from_native(frame.to_native().project(chosen))  # type: ignore[no-any-return]
    if frame.implementation.is_polars():
        # To Polars `*` and `^...$` are patterns, not names.
        return frame.select(**{role: nw.nth(existing.index(n)) for role, n in physical.items()})
    return frame.select(**{role: nw.col(name) for role, name in physical.items()})


def rows_of(frame: AnyFrame, columns: list[str]) -> list[tuple[Any, ...]]:
    """Evaluate `frame`, once, and return its rows: a short table of Python numbers."""
    if isinstance(frame, nw.LazyFrame):
        if frame.implementation.is_duckdb():
            # Python integers hold DuckDB's 128-bit sums. And fetching Arrow or NumPy
            # arrays would make DuckDB 2.0 print "leaked instances" when Python ends.
            rows: list[tuple[Any, ...]] = frame.select(columns).to_native().fetchall()
            return rows
        frame = frame.collect()
    return list(zip(*(frame[column].to_list() for column in columns), strict=True))


def narwhals_of(frame: object, failure: DphistError) -> AnyFrame:
    """Wrap `frame`, telling apart what Narwhals refuses."""
    kind = ""
    try:
        return nw.from_native(nw.to_native(frame, pass_through=True))  # type: ignore[no-any-return]
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        kind = type(error).__name__
    if kind == "TypeError":
        raise ParameterError("frame must be a dataframe Narwhals reads, or the path of a file")
    if kind == "DuplicateError":
        raise ColumnError("frame has two columns of one name: rename all but one")
    raise failure


def _with_labels(frame: AnyFrame, column: str, name: str, failure: DphistError) -> AnyFrame:
    """Return the frame with a column of labels decoded, having checked its type."""
    decoded = shielded(lambda: _plain(frame, column), failure)
    if _of_objects(decoded, column):
        if not shielded(lambda: _exact_objects(decoded, column), failure):
            check_label_type(nw.Object(), name)
    else:
        check_label_type(shielded(decoded.collect_schema, failure)[column], name)
    return decoded


def _of_objects(frame: AnyFrame, column: str) -> bool:
    """Whether a column is one of pandas' objects.

    Narwhals infers a type for it from the first values. So what it says depends on the data, and
    whether two columns go together, or a label is refused, must not.
    """
    return bool(frame.implementation.is_pandas() and frame.to_native()[column].dtype == object)


def _kind(frame: AnyFrame, column: str, failure: DphistError) -> Any:
    """Return what two columns must have in common for their labels to be compared.

    Narwhals' type is too coarse for Arrow, which joins no text with large text; for types
    DuckDB alone knows, which it casts in its own way; and for categories of pandas, where
    1 and "1" would silently be two labels. Objects of pandas go with objects.
    """
    if _of_objects(frame, column):
        return object
    native = frame.to_native()
    if isinstance(native, pa.Table):
        return native.schema.field(column).type
    if frame.implementation.is_duckdb():
        return shielded(lambda: str(native.types[native.columns.index(column)]), failure)
    dtype = shielded(frame.collect_schema, failure)[column]
    if frame.implementation.is_pandas() and dtype == nw.Categorical:
        categories = getattr(native[column].dtype, "categories", None)
        return dtype, str(getattr(categories, "dtype", None))
    return dtype


def _plain(frame: AnyFrame, column: str) -> AnyFrame:
    """Decode an Arrow label column that Arrow groups by its encoding, or not at all.

    Two chunks may have different dictionaries, one dictionary may hold a label twice, or
    a null; only the decoded labels tell what is equal.
    """
    native = frame.to_native()
    if not isinstance(native, pa.Table):
        return frame
    values = native[column]
    kind = values.type
    if isinstance(kind, pa.BaseExtensionType):
        values = pa.chunked_array([chunk.storage for chunk in values.chunks], kind.storage_type)
    elif pa.types.is_dictionary(kind):
        values = decoded_dictionary(values)
    elif pa.types.is_run_end_encoded(kind):
        values = pc.run_end_decode(values)
    else:
        return frame
    decoded = native.set_column(native.column_names.index(column), column, values)
    return nw.from_native(decoded)  # type: ignore[no-any-return]


def _exact_objects(frame: AnyFrame, column: str) -> bool:
    """Whether each value of a pandas column of objects is of a type that makes labels."""
    kinds = frame.to_native()[column].dropna().map(type).unique()
    return all(issubclass(kind, _LABEL_TYPES) for kind in kinds)
