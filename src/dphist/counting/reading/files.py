"""Files as sources, read in place by a private DuckDB.

Nothing is inferred from the content: a guess would depend on the data and could change with one
record. The extension determines the format of a file. Every field of a text file is text, so
``007`` and ``7`` are two labels. Delimiter, quote and header are fixed.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TypeVar

import duckdb

from dphist.counting.engine.interruptible import interruptible
from dphist.counting.engine.private_duckdb import ExpectedRows, open_private_connection, out_of_room
from dphist.counting.engine.progress import Report, of_query, report_progress
from dphist.counting.engine.redaction import Wall
from dphist.counting.engine.rows import DuckRows
from dphist.counting.reading.columns import Wanted
from dphist.counting.reading.file_format import OpenedFile
from dphist.counting.reading.file_opener import FileOpener, open_rows
from dphist.counting.reading.given_files import Files
from dphist.counting.reading.paths import find_files, name_files
from dphist.counting.reading.private_files import PrivateFiles
from dphist.counting.reading.queries import SHOWN, Query, query_failure, read_query
from dphist.counting.reading.relations import check_batches
from dphist.counting.reading.source import ROWS_AT_ONCE, Batches, Source
from dphist.counting.reading.text_files import check_delimiter
from dphist.counting.reading.wide import find_cells, melt
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
    columns = find_cells(given, wanted) if given.wide else wanted
    shown = name_files(given.names)
    # Absolute, so that no engine interprets a leading `~` or `s3:`.
    files = [(Path(path).absolute(), f"'{path}'") for path in find_files(given.names)]
    opener = FileOpener(stack, given, delimiter)
    opener.check(files)
    opened: list[OpenedFile] = []
    first = ""
    for path, each, kind in opener.unpack(files):
        one = opener.open(path, kind, columns, each, several=len(files) > 1)
        one = melt(one, given, wanted) if given.wide else one
        first = first or each
        if opened:
            check_alike(opened[0], one, wanted, each, first)
        opened.append(one)
    failure = opened[0].failure
    if len(opened) > 1:
        failure = InputFileError(f"a file of {shown} is damaged, or changes while it is read")
    wall = Wall(failure, out_of_room(f"reading {shown}"))
    source = FileSource(wanted, opened, opener.connection, wall, not_read(shown))
    source.from_text = opened[0].is_text
    source.progress = progress
    if source.from_text:
        source.size = wall(lambda: sum(each.path.stat().st_size for each in opened)), "bytes"
    return source


def open_query(
    stack: ExitStack, given: Query, wanted: Sequence[Wanted], progress: Report | None
) -> "FileSource":
    """Execute a query, and open its rows, as `open_files` opens files."""
    connection = open_private_connection(stack, large=True)
    read = partial(read_query, given, wanted)
    opened = open_rows(connection, PrivateFiles(stack), read, wanted, SHOWN, query_failure())
    wall = Wall(opened.failure, out_of_room(f"reading {SHOWN}"))
    source = FileSource(wanted, [opened], connection, wall, not_read(SHOWN))
    source.from_text, source.progress = True, progress
    return source


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
    if sorted(first.names) != sorted(other.names):
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
        if read != self._number * self._opened[0].rows_each:
            raise self._not_read

    def run(self, call: Callable[[], T]) -> T:
        """Return ``call()``; reports progress, and Ctrl-C stops it immediately."""
        with report_progress(of_query(self._connection, *self.size), self.progress):
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
