"""Files as sources, read in place by a private DuckDB.

Nothing is inferred from the content: a guess would depend on the data and could change with one
record. The extension determines the format of a file. Every field of a text file is text, so
``007`` and ``7`` are two labels. Delimiter, quote and header are fixed. DuckDB does not read every
type of a Parquet file as such. What it would round is refused, so that the values, and which of
them are equal, do not depend on its version.
"""

import glob
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from dphist.counting.engine.interruptible import interruptible
from dphist.counting.engine.private_duckdb import ExpectedRows, open_private_connection, out_of_room
from dphist.counting.engine.progress import Report, of_query, reported
from dphist.counting.engine.redaction import Wall, redact_errors
from dphist.counting.engine.rows import DuckRows
from dphist.counting.reading.columns import UNFIT, Use, Wanted, decoded_type, find_position, is_uuid
from dphist.counting.reading.file_format import FileFormat, OpenedFile, format_of
from dphist.counting.reading.paths import Files, find_files, name_files
from dphist.counting.reading.relations import check_batches, quote, value_of
from dphist.counting.reading.source import ROWS_AT_ONCE, Batches, Source
from dphist.counting.reading.text_files import check_delimiter, open_text_file
from dphist.errors import ColumnError, DphistError, InputFileError

T = TypeVar("T")


def open_files(
    stack: ExitStack,
    given: Files,
    wanted: Sequence[Wanted],
    progress: Report | None,
    delimiter: str | None,
) -> "FileSource":
    """Open files as one table, on a private connection that is closed together with `stack`.

    Parameters
    ----------
    given : names, a folder or a pattern: see `find_files`. Users may be in several of the files.
    wanted, progress, delimiter
        As for `open_source`.

    Raises
    ------
    ParameterError, InputFileError, ColumnError
        Also if a file has other columns than the first one, or a column of another type.
    """
    check_delimiter(delimiter)
    paths = find_files(given)
    shown = name_files(given)
    # Absolute, so that no engine interprets a leading `~` or `s3:`.
    files = [(Path(path).absolute(), f"'{path}'") for path in paths]
    formats = [format_of(path.name, each, delimiter) for path, each in files]
    for file in files:
        check_regular(*file)
    connection = open_private_connection(stack, large=True)
    opened: list[OpenedFile] = []
    for (path, each), kind in zip(files, formats, strict=True):
        one = _open_file(connection, path, kind, wanted, each, len(files) > 1)
        if opened:
            check_alike(opened[0], one, wanted, each, files[0][1])
        opened.append(one)
    failure = opened[0].failure
    if len(opened) > 1:
        failure = InputFileError(f"a file of {shown} is damaged, or changes while it is read")
    wall = Wall(failure, out_of_room(f"reading {shown}"))
    source = FileSource(wanted, opened, connection, wall, not_read(shown))
    source.from_text = bool(formats[0].delimiter)
    source.progress = progress
    if source.from_text:
        source.size = wall(lambda: sum(path.stat().st_size for path, _ in files)), "bytes"
    return source


def _open_file(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    kind: FileFormat,
    wanted: Sequence[Wanted],
    shown: str,
    several: bool,
) -> OpenedFile:
    if kind.delimiter:
        return open_text_file(connection, path, kind, wanted, shown)
    try:
        return open_parquet_file(connection, path, wanted, shown)
    except ColumnError as error:
        raised = error.within(f"{shown}: " if several else "")
    raise raised


def check_alike(
    first: OpenedFile, other: OpenedFile, wanted: Sequence[Wanted], shown: str, shown_first: str
) -> None:
    """Refuse a file that has other columns than the first one, or a wanted one of another type.

    Raises
    ------
    ColumnError
    """
    if first.is_text != other.is_text:
        formats = "both must be text files, or both Parquet"
        raise ColumnError(f"{shown} is of another format than {shown_first}: {formats}")
    if first.names != other.names:
        raise ColumnError(
            f"{shown} must have the same columns as {shown_first}, in any order: files that are "
            "one table have the same header"
        )
    for column in wanted:
        if first.kinds[column.role] != other.kinds[column.role]:
            raise ColumnError(
                f"column {column.name!r} of {shown} must have the same type as in {shown_first}: "
                "cast one of them"
            )


class FileSource(Source):
    """Columns of files, on a private connection; all of their records are read, or none counts.

    Attributes
    ----------
    size : the number of rows of Parquet files, or of bytes of text files, and what it counts.
    """

    def __init__(
        self,
        wanted: Sequence[Wanted],
        opened: Sequence[OpenedFile],
        connection: duckdb.DuckDBPyConnection,
        wall: Wall,
        not_read: InputFileError,
    ) -> None:
        super().__init__(wanted, opened[0].kinds, wall)
        self._connection, self._opened, self._not_read = connection, opened, not_read
        self._number = sum(each.number for each in opened)
        self.size = self._number, "rows"
        # DuckDB plans no scan of a Parquet file without rows.
        read = [each for each in opened if each.number] or opened[:1]
        self._parts = [each.number for each in read]
        self._relation = wall(lambda: _append_all([each.projected for each in read]))

    def rows(self) -> DuckRows:
        """Return the rows; DuckDB reads the file when they are evaluated."""
        expected = ExpectedRows(lambda: self._number, self._not_read, True, self._parts)
        return DuckRows(self._connection, self._relation, expected=expected)

    def batches(self) -> Batches:
        """Yield the rows in batches."""
        read = 0
        for batch in check_batches(self._relation.to_arrow_reader(ROWS_AT_ONCE), self.wanted):
            read += len(batch)
            yield batch
        if read != self._number:
            raise self._not_read

    def run(self, call: Callable[[], T]) -> T:
        """Return ``call()``; reports progress, and Ctrl-C stops it immediately."""
        with reported(of_query(self._connection, *self.size), self.progress):
            try:
                return interruptible(self._connection, lambda: self.wall(call))
            except InputFileError as error:
                raised = error
        raise self._locate() if raised is self.wall.problem else raised

    def _locate(self) -> DphistError:
        """Return the error of the first file that DuckDB cannot read, if it can be found."""
        faults = ((each.locate(), each.failure) for each in self._opened)
        found: Iterator[DphistError] = (fault for fault, general in faults if fault is not general)
        return next(found, self.wall.problem)


def _append_all(relations: Sequence[duckdb.DuckDBPyRelation]) -> duckdb.DuckDBPyRelation:
    """Return the rows of all relations, which have the same columns, in their order."""
    if len(relations) == 1:
        return relations[0]
    half = len(relations) // 2  # DuckDB nests what is appended, and has a limit of that
    return _append_all(relations[:half]).union(_append_all(relations[half:]))


def not_read(shown: str) -> InputFileError:
    """Return the error for a file of which DuckDB returned more or fewer rows than it has."""
    return InputFileError(
        f"{shown} could not be read completely, so nothing was counted: do not change it while it "
        "is read, or write it again, if possible in another format"
    )


def check_regular(path: Path, shown: str) -> None:
    """Refuse anything but a readable file, in Python: DuckDB's errors differ between versions."""
    problem = f"{shown} cannot be read"
    try:
        if path.is_dir():
            problem = f"{shown} is a folder: name the files in it"
        elif not path.exists():
            problem = f"{shown} does not exist"
        elif not path.is_file():
            problem = f"{shown} must be a regular file"
        else:
            with path.open("rb"):
                return
    except PermissionError:
        problem = f"{shown} cannot be read: its permissions forbid it"
    except (OSError, ValueError):
        pass
    raise InputFileError(problem)


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
    failure = InputFileError(f"{shown} must be a Parquet file: it cannot be read as one")
    schema, old_moments, rows = redact_errors(lambda: _read_footer(path), failure)
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
        value, kind = _value_of(read, quote(name), schema.field(place).type, column, is_old)
        chosen.append(f"{value} AS {column.role}")
        kinds[column.role] = kind
    names = sorted(map(str, schema.names))
    return OpenedFile(
        relation, rows, ", ".join(chosen), kinds, failure, names, False, lambda: failure
    )


def _value_of(
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
    value, kind = value_of(read, name, column.use)
    stored = decoded_type(stored)
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


def _read_footer(path: Path) -> tuple[pa.Schema, set[str], int]:
    """Return the schema, the columns with timestamps of 96 bits, and the number of rows."""
    with path.open("rb") as file:
        found = pq.ParquetFile(file)
        leaves = map(found.schema.column, range(len(found.schema)))
        old = {leaf.path for leaf in leaves if leaf.physical_type == "INT96"}
        return found.schema_arrow, old, found.metadata.num_rows
