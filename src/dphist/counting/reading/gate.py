"""The only entry for a caller's rows: opens a dataframe or file as a `Source`."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TypedDict

from dphist.counting.engine.progress import Progress, report_to
from dphist.counting.engine.redaction import redact_errors
from dphist.counting.reading.columns import Wanted, check_request
from dphist.counting.reading.containers import no_table, to_frame
from dphist.counting.reading.file_opener import FileOpener
from dphist.counting.reading.files import open_files, open_query
from dphist.counting.reading.frames import is_frame, open_frame, unordered_error, wrap
from dphist.counting.reading.given_files import Files
from dphist.counting.reading.paths import are_files, find_files
from dphist.counting.reading.queries import Query
from dphist.counting.reading.source import Source
from dphist.counting.reading.spark import is_spark, open_spark
from dphist.counting.reading.wide import check_melting
from dphist.errors import ParameterError


class Reading(TypedDict, total=False):
    """How a table is read: options of `open_source`, which all that counts rows passes on."""

    progress: Progress | None
    delimiter: str | None


def open_source(
    stack: ExitStack,
    frame: object,
    wanted: Sequence[Wanted],
    *,
    progress: Progress | None = None,
    delimiter: str | None = None,
    ordered: bool = False,
    users: bool = False,
) -> Source:
    """Open a dataframe or a file, and check the names and types of the wanted columns.

    Parameters
    ----------
    stack : closes the source, and the DuckDB that may hold its rows.
    frame : dataframe, dict, list of dicts, or names of files
        Anything Narwhals reads (pandas, Polars, DuckDB, Arrow, ...), Spark, a dict of columns, a
        list of dicts, or files, of which `Files` says what their content does not. A text file has
        a header line, and all its fields are text; an empty field is missing, ``""`` is the empty
        text. Spreadsheets, JSON and SQLite are read as text files of their rows. Several files,
        those of a folder, or those that a pattern matches are one table: all have the same columns,
        and a user may be in several of them.
    wanted : the columns.
    progress : function of a float, or bool, optional
        A function is called with a `Done`, which is a float: see `report_progress`. True shows
        progress on a terminal or in a notebook, and nowhere else.
    delimiter : str, optional
        Field separator of a text file, one character (default: by its extension).
    ordered : bool
        Whether the order of the rows matters; batches then return the rows in this order.
    users : bool
        Whether each row is one of a user who is bounded, so that files may be wide.

    Raises
    ------
    ParameterError
        If `frame` is not a table, two parameters name the same column, `delimiter` is invalid,
        `ordered` is true and the rows have no order, or files are wide and `users` is false.
    ColumnError
        If a column is missing, occurs twice, or has an unsuitable type.
    DataError
        If the frame's engine fails.
    InputFileError
        If the file is missing or its content does not match its extension.
    """
    check_request(wanted, progress)
    report = report_to(stack, progress)
    files = Files(frame) if are_files(frame) else frame
    if isinstance(files, Files):
        check_melting(files, users)
        return open_files(stack, files, wanted, report, delimiter)
    if isinstance(frame, Query) and delimiter is None:
        return open_query(stack, frame, wanted, report)
    if delimiter is not None:
        raise ParameterError("delimiter", "applies to text files only: leave it out")
    source: Source
    if is_spark(frame):
        if ordered:
            raise unordered_error()
        source = open_spark(frame, wanted)
    else:
        source = open_frame(stack, to_frame(frame, wanted), wanted, ordered=ordered)
    source.progress = report
    return source


def is_table(frame: object) -> bool:
    """Whether this is a dataframe that can be opened."""
    return is_spark(frame) or is_frame(frame)


def list_columns(frame: object, delimiter: str | None = None) -> list[str]:
    """Return the names of all columns of what `open_source` opens, in their order.

    Of several files, those of the first: `open_source` refuses others that differ. Of a list of
    dicts, those of the first one. The first line of a text file without a header is a record, so
    that these names must stand in no error.
    """
    given = Files(frame) if are_files(frame) else frame
    if isinstance(given, Files):
        return _list_of_file(given, delimiter)
    if isinstance(frame, list | tuple) and frame and isinstance(frame[0], dict):
        return list(map(str, frame[0]))
    if is_spark(frame):
        return list(frame.columns)  # type: ignore[attr-defined]
    opened = wrap(to_frame(frame, ()), no_table(frame))
    return list(map(str, redact_errors(opened.collect_schema, no_table(frame))))


def _list_of_file(given: Files, delimiter: str | None) -> list[str]:
    files = [(Path(path).absolute(), f"'{path}'") for path in find_files(given.names)[:1]]
    with ExitStack() as stack:
        opener = FileOpener(stack, given, delimiter)
        opener.check(files)
        path, shown, kind = next(opener.unpack(files))
        return opener.list_names(path, kind, shown)
