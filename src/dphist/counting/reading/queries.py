"""Rows of a query of any database that Python connects to, taken as the values they arrive as."""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

from dphist.counting.reading.columns import Wanted, find_position
from dphist.counting.reading.fields import GivenRows, NumberedRows
from dphist.errors import ColumnError, DataError, ParameterError

SHOWN = "the query"
"""What errors call it."""

_ROWS_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True, repr=False)
class Query:
    """A query that is executed when its rows are counted; `query` makes it."""

    sql: Any
    connection: Any

    def __repr__(self) -> str:
        return "Query(not shown)"


def query(sql: Any, connection: Any) -> Query:
    """Return a query as a table, in place of a dataframe; nothing is executed yet.

    Parameters
    ----------
    sql : text, or what SQLAlchemy executes
        One SELECT. The guarantee is for the rows that it returns: one that adds up several people
        in a row hides them from the bounds.
    connection : an engine or connection of SQLAlchemy, or a connection with cursors as Python's
        databases have, such as those of ADBC, psycopg or sqlite3.

    Raises
    ------
    ParameterError
        If `sql` is empty, or `connection` none of these.

    Notes
    -----
    Values are read as those of JSON or SQLite files are: users and labels are text.

    >>> import sqlite3
    >>> connection = sqlite3.connect(":memory:")
    >>> table = query("SELECT 'a' AS word, 3 AS n", connection)
    >>> from dphist import LabelCounts
    >>> LabelCounts.from_table(table, label="word", count="n", max_count=5).counts_of(["a"])
    [3]
    """
    if sql is None or (isinstance(sql, str) and not sql.strip()):
        raise ParameterError("sql", "must be a SELECT")
    if not (_is_engine(connection) or _is_alchemy(connection) or hasattr(connection, "cursor")):
        raise ParameterError(
            "connection",
            "must be an engine or connection of SQLAlchemy, or a database connection with cursors",
        )
    if not isinstance(sql, str) and not (_is_engine(connection) or _is_alchemy(connection)):
        raise ParameterError("sql", "must be text for a connection other than SQLAlchemy's")
    return Query(sql, connection)


def query_failure() -> DataError:
    """Return the error for a query that its database does not execute to the end."""
    return DataError(
        "the database could not execute the query, or not to its end: try it there, and finish "
        "other queries on its connection"
    )


def read_query(given: Query, wanted: Sequence[Wanted]) -> GivenRows:
    """Execute a query; return its rows with the values of the wanted columns.

    Raises
    ------
    ColumnError
        If a column is missing or occurs twice, or has timestamps that DuckDB would round.
    Exception
        Of the database.
    """
    stack = ExitStack()
    with stack:
        names, cursor = _execute(stack, given, wanted)
        positions = [find_position(column.name, names) for column in wanted]
        rest = stack.pop_all()
    return GivenRows(names, _read_rows(rest, cursor, positions), "", DataError)


def _execute(stack: ExitStack, given: Query, wanted: Sequence[Wanted]) -> tuple[list[str], Any]:
    """Return the names of the columns, and what gives the rows."""
    connection = given.connection
    if not (_is_engine(connection) or _is_alchemy(connection)):
        cursor = stack.enter_context(closing(connection.cursor()))
        done = cursor.execute(given.sql)  # a cursor, nothing, or how many rows there are
        cursor = done if hasattr(done, "fetchmany") else cursor
        return _name_columns(cursor.description, wanted), cursor
    if _is_engine(connection):
        connection = stack.enter_context(connection.connect())
    options = {"stream_results": True}
    if isinstance(given.sql, str):  # as it is: nothing in it is a parameter
        options["no_parameters"] = True
        result = connection.exec_driver_sql(given.sql, execution_options=options)
    else:
        result = connection.execute(given.sql, execution_options=options)
    stack.callback(result.close)
    _name_columns(getattr(result.cursor, "description", None) or [], wanted)
    return list(result.keys()), result


def _name_columns(described: Sequence[Any], wanted: Sequence[Wanted]) -> list[str]:
    """Return the names of columns; refuse nanoseconds, which are rounded on their way to Python."""
    for name, *kinds in described:
        if "TIMESTAMP_NS" in map(str, kinds) and any(column.name == name for column in wanted):
            raise ColumnError(
                f"column {name!r} must have no timestamps in nanoseconds, which are rounded: "
                "cast it in the query, to text if it identifies users"
            )
    return [column[0] for column in described]


def _read_rows(stack: ExitStack, cursor: Any, positions: Sequence[int]) -> NumberedRows:
    with stack:
        number = 0
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            for row in rows:
                number += 1
                yield number, [row[position] for position in positions]


def _is_engine(connection: Any) -> bool:
    return hasattr(connection, "dialect") and hasattr(connection, "connect")


def _is_alchemy(connection: Any) -> bool:
    return hasattr(connection, "dialect") and hasattr(connection, "exec_driver_sql")
