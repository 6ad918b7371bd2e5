"""Parquet files: their schema, and their columns as DuckDB reads them."""

import glob
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from dphist.errors import InputFileError
from dphist.tables.engine.redaction import redact_errors
from dphist.tables.reading.columns import Wanted, find_position
from dphist.tables.reading.quotes import FileFormat
from dphist.tables.reading.relations import choose_columns


def parquet_columns(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    kind: FileFormat,
    wanted: Sequence[Wanted],
    shown: str,
) -> tuple[duckdb.DuckDBPyRelation, str, dict[str, pa.DataType], InputFileError]:
    """Open a Parquet file.

    Returns
    -------
    relation : the rows of the file
    projection : SQL of the wanted columns, each named by its role
    kinds : Arrow type of each role
    failure : the error for a damaged file
    """
    failure = InputFileError(f"{shown} must be a Parquet file: it cannot be read as one")
    there = redact_errors(lambda: _names(path), failure)
    positions = {column.role: find_position(column.name, there) for column in wanted}
    relation = redact_errors(
        # DuckDB would take `*` as a pattern and a folder `x=1` as a column.
        lambda: connection.read_parquet(glob.escape(str(path)), hive_partitioning=False),
        failure,
    )
    # By position, because DuckDB renames columns with names that differ only in case.
    columns = {role: relation.columns[position] for role, position in positions.items()}
    return relation, *choose_columns(relation, wanted, columns), failure


def rows_of(path: Path) -> int:
    """Return the number of rows of a Parquet file, from its metadata."""
    with path.open("rb") as file:
        return int(pq.read_metadata(file).num_rows)


def _names(path: Path) -> list[str]:
    """Return the names of the columns as the Parquet file spells them."""
    with path.open("rb") as file:
        names: list[str] = pq.read_schema(file).names
    return names
