"""Tables in Python's own containers: a dict of columns, or a list of dicts.

They become columns of Python objects, of which each is read by itself: the type of a column must
not depend on what is in it. What is no table is refused with what to pass in its place.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from dphist.counting.engine.redaction import redact_errors
from dphist.counting.reading.columns import Wanted
from dphist.errors import DataError, ParameterError

FAULT = (
    "must be a table: a dataframe of pandas, Polars, DuckDB, Arrow or Spark, a dict of columns, a "
    "list of dicts, or the name of a file, several files, a folder or a pattern"
)


def to_frame(given: object, wanted: Sequence[Wanted]) -> Any:
    """Return a dict of columns or a list of dicts as a dataframe; anything else as it is.

    Raises
    ------
    ParameterError
        If pandas is not installed, or columns of a dict are no lists or differ in length.
    DataError
        If an element of a list is no dict that has all `wanted` columns.
    """
    if isinstance(given, Mapping):
        return _read_columns(given)
    is_records = isinstance(given, list | tuple) and all(
        isinstance(each, Mapping) for each in given
    )
    return _read_records(given, wanted) if is_records else given  # type: ignore[arg-type]


def _read_columns(given: Mapping[Any, Any]) -> Any:
    pandas = _import_pandas()
    columns = dict[Any, Any]()
    for name, values in given.items():
        if isinstance(values, list | tuple):
            held = np.empty(len(values), object)
            held[:] = values
        elif isinstance(values, np.ndarray | pandas.Series) and values.ndim == 1:
            held = np.asarray(values) if isinstance(values, np.ndarray) else values.array
        else:
            raise ParameterError("frame", "must have a list or an array for each column of a dict")
        columns[name] = held
    if len(set(map(len, columns.values()))) > 1:
        raise ParameterError("frame", "must have columns of one length")
    unreadable = ParameterError("frame", FAULT)
    return redact_errors(lambda: pandas.DataFrame(columns, copy=False), unreadable)


def _read_records(given: Sequence[Mapping[Any, Any]], wanted: Sequence[Wanted]) -> Any:
    names = list(dict.fromkeys(column.name for column in wanted))
    columns = {name: np.empty(len(given), object) for name in names}
    for name, held in columns.items():
        unread = DataError(f"a dict of frame has no {name!r}: give None for a missing value")
        held[:] = redact_errors(partial(_read_column, given, name), unread)
    return _import_pandas().DataFrame(columns, copy=False)


def _read_column(given: Sequence[Mapping[Any, Any]], name: str) -> list[Any]:
    return [record[name] for record in given]


def _import_pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ParameterError(
            "frame", "of Python objects needs pandas", "install it, or pass a pyarrow.Table"
        ) from None
    return pandas


def no_table(given: object) -> ParameterError:
    """Return the error for what is no table: what to pass in its place."""
    remedy = ""
    if hasattr(given, "to_frame") and hasattr(given, "name"):
        remedy = (
            "make a table of a Series, with series.reset_index() if its index holds the labels, "
            "and name its columns"
        )
    elif hasattr(given, "fetchall"):
        remedy = "fetch the rows of the cursor into a dataframe, or a list of dicts"
    elif isinstance(given, np.ndarray):
        remedy = "give the columns of an array names, as in {'age': array}"
    elif isinstance(given, list | tuple) or hasattr(given, "__next__"):
        remedy = "concatenate chunks to one table, and give the columns of plain rows names"
    return ParameterError("frame", FAULT, remedy)
