"""Arrow columns: validated in full before anything uses them, then decoded.

Arrow does not validate its input. Decreasing offsets crash the process, and text may be arbitrary
bytes. DuckDB's sort keys treat the byte 0xFF, which never occurs in UTF-8, in a special way: with
it, one row could change the users and labels of other rows.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.counting.engine.redaction import redact_errors
from dphist.counting.reading.columns import (
    Use,
    Wanted,
    comparable_type,
    element_type,
    find_decoded_type,
    is_text,
    is_uuid,
    to_exact,
    wide_type,
)
from dphist.counting.reading.objects import missing_in_list
from dphist.errors import ColumnError, DataError


def check_column(values: Any, column: Wanted, kind: pa.DataType | None = None) -> Any:
    """Validate an Arrow array or chunked array; return keys in a form that DuckDB holds exactly.

    Parameters
    ----------
    kind : the type in the schema, which was already checked; None for results of DuckDB, which
        always have the type of their schema.

    Raises
    ------
    ColumnError
        If the array has a type other than `kind`.
    DataError
        If the array breaks Arrow's own rules, or text is not UTF-8. Such a value is invalid in
        itself.
    """
    if kind is not None and comparable_type(values.type) != comparable_type(kind):
        raise unlike_schema(column.name)
    check_valid(values, column.name)
    if column.use is Use.TEXTS:
        return redact_errors(
            lambda: to_text_lists(values, column.name), _make_undecodable_error(column.name)
        )
    if column.use is Use.KEY:
        return redact_errors(lambda: to_exact(decode(values)), _make_undecodable_error(column.name))
    if column.use is Use.COUNT:
        return redact_errors(lambda: decode(values), _make_undecodable_error(column.name))
    return values


def unlike_schema(name: str) -> ColumnError:
    """Return the error for rows of another type than the schema of their frame promised."""
    return ColumnError(
        f"column {name!r} must have the same type in its rows as in the schema of the frame: cast "
        "it, or evaluate the frame first"
    )


def check_valid(values: Any, name: str) -> None:
    """Refuse an array that breaks Arrow's rules, also in its encoded values.

    `name` is the name of the column in the error.
    """
    kind = find_decoded_type(values.type)
    text = is_text(element_type(kind) or kind)
    problem = DataError(
        f"column {name!r} must hold text in UTF-8: remove or correct other rows, or cast them "
        "to bytes"
        if text
        else f"column {name!r} must be valid Arrow data, but breaks the rules of its type: build "
        "it again"
    )
    redact_errors(lambda: values.validate(full=True), problem)


def decode(values: Any) -> Any:
    """Return a column without dictionary, run-end or extension encoding; UUIDs become text.

    Two chunks may have different dictionaries, and one dictionary may hold nulls or the same value
    twice. So only decoded values can be compared. Text and bytes get offsets of 64 bits first,
    because a small dictionary may expand to more than 2**31 bytes of text. The type must not depend
    on whether it does.
    """
    if isinstance(values, pa.ChunkedArray):
        kind = wide_type(find_decoded_type(values.type))
        return pa.chunked_array([decode(chunk) for chunk in values.chunks], kind)
    kind = values.type
    if is_uuid(kind):
        return uuid_texts(values.storage)
    if isinstance(kind, pa.BaseExtensionType):
        return decode(values.storage)
    if pa.types.is_dictionary(kind):
        return decode(values.dictionary).take(values.indices)
    if pa.types.is_run_end_encoded(kind):
        places = pa.array(np.arange(len(values.values)))
        runs = pa.RunEndEncodedArray.from_arrays(values.run_ends, places)
        rows = pc.run_end_decode(runs.slice(values.offset, len(values)))
        return decode(values.values).take(rows)
    return values.cast(wide_type(kind))


# Two hexadecimal digits for each byte; a UUID is groups of 8, 4, 4, 4 and 12 of them.
_DIGITS = np.frombuffer(bytes(range(256)).hex().encode(), np.uint16)
_GROUPS = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))


def uuid_texts(stored: pa.Array) -> pa.Array:
    """Return UUIDs as text of 36 lower-case characters.

    Parameters
    ----------
    stored : (rows,) array of 16 bytes each, or null.
    """
    rows, filled = len(stored), stored.fill_null(bytes(16))
    held = np.frombuffer(filled.buffers()[1] or b"", np.uint8)
    held = held[16 * filled.offset :][: 16 * rows]
    digits = _DIGITS[held].view(np.uint8).reshape(rows, 32)
    texts = np.full((rows, 36), ord("-"), np.uint8)
    for hyphens, (start, stop) in enumerate(_GROUPS):
        texts[:, start + hyphens : stop + hyphens] = digits[:, start:stop]
    starts = np.arange(rows + 1, dtype=np.int64) * 36
    parts = pa.py_buffer(starts), pa.py_buffer(texts)
    found = pa.LargeStringArray.from_buffers(rows, *parts)
    return pc.if_else(stored.is_valid(), found, pa.scalar(None, found.type))


def combine(values: Any) -> pa.Array:
    """Return a checked column as one array."""
    held = values.cast(wide_type(values.type))  # so that the type does not depend on the chunks
    if not isinstance(held, pa.ChunkedArray):
        return held
    return held.chunk(0) if held.num_chunks == 1 else held.combine_chunks()


def to_text_lists(values: Any, name: str) -> Any:
    """Return the texts of each row as large_list(large_string) without null lists.

    A missing value becomes an empty list, and a single text becomes a list of one text.
    """
    rows = decode(values)
    if element_type(rows.type) is None:
        rows = rows.cast(pa.large_string())
        lengths, flat = rows.is_valid(), rows.drop_null()
    else:
        lengths = pc.fill_null(pc.list_value_length(rows), 0)
        flat = decode(pc.list_flatten(rows)).cast(pa.large_string())
        if flat.null_count:
            raise missing_in_list(name)
    starts = np.append(0, np.cumsum(lengths.to_numpy(zero_copy_only=False).astype(np.int64)))
    listed = pa.LargeListArray.from_arrays(starts, combine(flat))
    return pa.chunked_array([listed]) if isinstance(values, pa.ChunkedArray) else listed


def _make_undecodable_error(name: str) -> DataError:
    return DataError(f"column {name!r} could not be decoded by Arrow: cast it to its plain type")
