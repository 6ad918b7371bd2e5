"""Arrow columns: validated in full before anything touches them, then decoded.

Arrow does not look at what it is handed. Offsets that decrease crash the process; text may be any
bytes, and DuckDB orders by keys in which the byte 0xFF, which no UTF-8 holds, moves what follows,
so that one row could change the users and labels of others.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.errors import ColumnError, DataError
from dphist.tables.engine.redaction import redact_errors
from dphist.tables.reading.columns import Use, Wanted
from dphist.tables.reading.objects import missing_in_list
from dphist.tables.reading.types import (
    held_alike,
    held_exactly,
    kind_of_elements,
    plain,
    wide,
    without_encoding,
)


def checked(values: Any, column: Wanted, kind: pa.DataType | None = None) -> Any:
    """Return an Arrow array or chunked array, validated, and, of keys, as DuckDB holds it.

    Parameters
    ----------
    kind : the type that a schema promised, which was found to serve; None of what DuckDB brings,
        whose projections say the type of what they make.

    Raises
    ------
    ColumnError
        If the array has another type.
    DataError
        If the array breaks Arrow's own rules, or text is not UTF-8: a fault of single values.
    """
    if kind is not None and held_alike(values.type) != held_alike(kind):
        raise ColumnError(
            f"column {column.name!r} has another type in its rows than in the schema of frame: "
            "cast it, or evaluate the frame first"
        )
    check_valid(values, column.name)
    if column.use is Use.TEXTS:
        return redact_errors(lambda: texts(values, column.name), _undecodable(column.name))
    if column.use is Use.KEY:
        return redact_errors(lambda: held_exactly(decoded(values)), _undecodable(column.name))
    if column.use is Use.COUNT:
        return redact_errors(lambda: decoded(values), _undecodable(column.name))
    return values


def check_valid(values: Any, name: str) -> None:
    """Refuse an array that breaks Arrow's rules, as the column `name`; encoded values included."""
    kind = without_encoding(values.type)
    text = plain(kind_of_elements(kind) or kind) == pa.string()
    problem = DataError(
        f"column {name!r} must hold text in UTF-8: remove or correct other rows, or cast them "
        "to bytes"
        if text
        else f"column {name!r} must be valid Arrow data, and breaks the rules of its type: write "
        "it anew"
    )
    redact_errors(lambda: values.validate(full=True), problem)


def decoded(values: Any) -> Any:
    """Return a column without the encoding its values have in Arrow.

    Two chunks may have different dictionaries, one dictionary may hold a value twice, or a null:
    only the decoded values tell what is equal. Text and bytes get offsets of 64 bits first: a
    dictionary of few texts may stand for more than 2**31 bytes of them, which no row decides.
    """
    if isinstance(values, pa.ChunkedArray):
        kind = wide(without_encoding(values.type))
        return pa.chunked_array([decoded(chunk) for chunk in values.chunks], kind)
    kind = values.type
    if isinstance(kind, pa.BaseExtensionType):
        return decoded(values.storage)
    if pa.types.is_dictionary(kind):
        return decoded(values.dictionary).take(values.indices)
    if pa.types.is_run_end_encoded(kind):
        places = pa.array(np.arange(len(values.values)))
        runs = pa.RunEndEncodedArray.from_arrays(values.run_ends, places)
        rows = pc.run_end_decode(runs.slice(values.offset, len(values)))
        return decoded(values.values).take(rows)
    return values.cast(wide(kind))


def joined(values: Any) -> pa.Array:
    """Return a column that was checked as one array."""
    held = values.cast(wide(values.type))  # so that the number of chunks decides no type
    if not isinstance(held, pa.ChunkedArray):
        return held
    return held.chunk(0) if held.num_chunks == 1 else held.combine_chunks()


def texts(values: Any, name: str) -> Any:
    """Return the texts of each row, a large_list(large_string), no list being null.

    A row without a value has no text, and a row of one text has this one.
    """
    rows = decoded(values)
    if kind_of_elements(rows.type) is None:
        rows = rows.cast(pa.large_string())
        lengths, flat = rows.is_valid(), rows.drop_null()
    else:
        lengths = pc.fill_null(pc.list_value_length(rows), 0)
        flat = decoded(pc.list_flatten(rows)).cast(pa.large_string())
        if flat.null_count:
            raise missing_in_list(name)
    starts = np.append(0, np.cumsum(lengths.to_numpy(zero_copy_only=False).astype(np.int64)))
    listed = pa.LargeListArray.from_arrays(starts, joined(flat))
    return pa.chunked_array([listed]) if isinstance(values, pa.ChunkedArray) else listed


def _undecodable(name: str) -> DataError:
    return DataError(f"column {name!r} could not be decoded by Arrow: cast it to its plain type")
