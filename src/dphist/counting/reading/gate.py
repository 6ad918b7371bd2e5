"""The only entry for a caller's rows: opens a dataframe or file as a `Source`."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TypedDict

from dphist.counting.engine.progress import Progress, report_to
from dphist.counting.reading.columns import Wanted, check_request
from dphist.counting.reading.containers import to_frame
from dphist.counting.reading.files import open_files, open_query
from dphist.counting.reading.frames import is_frame, open_frame, unordered_error
from dphist.counting.reading.given_files import Files
from dphist.counting.reading.paths import are_files
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
        A function is called with a `Done`, which is a float: see `reported`. True shows progress on
        a terminal or in a notebook, and nowhere else.
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
