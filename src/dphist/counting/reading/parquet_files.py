"""Parquet files, read in place by a private DuckDB.

DuckDB does not read every type of a Parquet file as such. What it would round is refused, so that
the values, and which of them are equal, do not depend on its version.
"""

import glob
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from dphist.counting.engine.redaction import redact_errors
from dphist.counting.reading.columns import (
    UNFIT,
    Use,
    Wanted,
    find_decoded_type,
    find_position,
    is_uuid,
)
from dphist.counting.reading.file_format import OpenedFile
from dphist.counting.reading.relations import format_value, quote
from dphist.errors import ColumnError, InputFileError

# From this version on, DuckDB rounds old timestamps, of 96 bits, down, which moves none to another
# bin. Before, it rounded them towards 1970.
_ROUNDS_DOWN = 2


def open_parquet_file(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    wanted: Sequence[Wanted],
    shown: str,
) -> OpenedFile:
    """Open a Parquet file."""
    failure = no_parquet_file(shown)
    schema, old_moments, rows = redact_errors(lambda: read_footer(path), failure)
    positions = {column.role: find_position(column.name, schema.names) for column in wanted}
    relation = redact_errors(
        # DuckDB would take `*` as a pattern and a folder `x=1` as a column.
        lambda: connection.read_parquet(glob.escape(str(path)), hive_partitioning=False),
        failure,
    )
    chosen, kinds = [], {}
    for column in wanted:
        place = positions[column.role]
        # By position, because DuckDB renames columns with names that differ only in case.
        name, read = relation.columns[place], relation.types[place]
        is_old = column.name in old_moments
        value, kind = _format_value(read, quote(name), schema.field(place).type, column, is_old)
        chosen.append(f"{value} AS {column.role}")
        kinds[column.role] = kind
    names = list(map(str, schema.names))
    return OpenedFile(
        path, relation, rows, ", ".join(chosen), kinds, failure, names, False, lambda: failure
    )


def _format_value(
    read: Any, name: str, stored: pa.DataType, column: Wanted, is_old: bool
) -> tuple[str, pa.DataType]:
    """Return the SQL expression of a column, and its Arrow type.

    Parameters
    ----------
    read : DuckDB's type of the column.
    stored : the type in the schema of the file.
    is_old : whether the column holds timestamps of 96 bits.

    Raises
    ------
    ColumnError
        If DuckDB would round timestamps.
    """
    types = pa.types
    value, kind = format_value(read, name, column.use)
    stored = find_decoded_type(stored)
    if column.use is Use.KEY and is_uuid(stored) and types.is_binary(kind):
        # Arrow before version 20 notes the type in its own schema alone.
        return f"CAST(CAST(hex({name}) AS UUID) AS VARCHAR)", stored
    if column.use is Use.KEY and types.is_null(stored):  # DuckDB 1 reads integers
        return f"CAST({name} AS VARCHAR)", pa.string()
    if types.is_decimal(stored) and types.is_floating(kind):
        return value, UNFIT
    in_nanoseconds = types.is_timestamp(stored) and stored.unit == "ns"
    if in_nanoseconds and types.is_timestamp(kind) and kind.unit != "ns":
        rounds_down = is_old and int(duckdb.__version__.split(".")[0]) >= _ROUNDS_DOWN
        if not (rounds_down and column.use is Use.VALUE):
            raise ColumnError(
                f"column {column.name!r} holds timestamps in nanoseconds, which DuckDB "
                f"{duckdb.__version__} reads from the file in microseconds: convert it to "
                "microseconds, or read the file into a dataframe"
            )
    return value, kind


def no_parquet_file(shown: str) -> InputFileError:
    """Return the error for a file that is not one."""
    return InputFileError(f"{shown} must be a Parquet file: it cannot be read as one")


def read_footer(path: Path) -> tuple[pa.Schema, set[str], int]:
    """Return the schema, the columns with timestamps of 96 bits, and the number of rows."""
    with path.open("rb") as file:
        found = pq.ParquetFile(file)
        leaves = map(found.schema.column, range(len(found.schema)))
        old = {leaf.path for leaf in leaves if leaf.physical_type == "INT96"}
        return found.schema_arrow, old, found.metadata.num_rows
