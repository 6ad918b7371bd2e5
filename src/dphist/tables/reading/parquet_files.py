"""Parquet files: their schema, and their columns as DuckDB reads them."""

import glob
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from dphist.errors import InputFileError
from dphist.tables.engine.redaction import redact_errors
from dphist.tables.reading.columns import Wanted, position_of
from dphist.tables.reading.quotes import FileFormat
from dphist.tables.reading.relations import chosen_columns


def parquet_columns(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    kind: FileFormat,
    wanted: Sequence[Wanted],
    shown: str,
) -> tuple[duckdb.DuckDBPyRelation, str, dict[str, pa.DataType], InputFileError]:
    """Return a file's relation, the projection of the wanted columns to their roles, their types.

    And the error for a file that is damaged.
    """
    failure = InputFileError(f"{shown} must be a Parquet file: it cannot be read as one")
    there = redact_errors(lambda: _names(path), failure)
    positions = {column.role: position_of(column.name, there) for column in wanted}
    relation = redact_errors(
        # DuckDB would take `*` as a pattern and a folder `x=1` as a column.
        lambda: connection.read_parquet(glob.escape(str(path)), hive_partitioning=False),
        failure,
    )
    # By position, as DuckDB renames columns that differ only in case.
    columns = {role: relation.columns[position] for role, position in positions.items()}
    return relation, *chosen_columns(relation, wanted, columns), failure


def _names(path: Path) -> list[str]:
    """Return the columns of a Parquet file as they are written there."""
    with path.open("rb") as file:
        names: list[str] = pq.read_schema(file).names
    return names
