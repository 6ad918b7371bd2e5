"""Rows of a query: as those of a text file, and executed when they are read."""

import datetime
import sqlite3
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlalchemy
from adbc_driver_sqlite import dbapi
from hypothesis import given, settings

import dphist as dh
from dphist.errors import ColumnError, DataError, ParameterError
from tests.support.counting.given_rows import NAMES, ROWS, count, profile, write_csv, write_sqlite
from tests.support.refusal import SENTINEL, refused


def open_sqlalchemy(stack: ExitStack, path: Path) -> Any:
    engine = sqlalchemy.create_engine(f"sqlite:///{path}")
    stack.callback(engine.dispose)
    return engine


def open_alchemy_connection(stack: ExitStack, path: Path) -> Any:
    return stack.enter_context(open_sqlalchemy(stack, path).connect())


def open_adbc(stack: ExitStack, path: Path) -> Any:
    return stack.enter_context(dbapi.connect(str(path)))


def open_driver(stack: ExitStack, path: Path) -> Any:
    return stack.enter_context(closing(sqlite3.connect(path)))


OPENERS: dict[str, Callable[[ExitStack, Path], Any]] = {
    "engine": open_sqlalchemy,
    "connection": open_alchemy_connection,
    "adbc": open_adbc,
    "driver": open_driver,
}
ALL = "SELECT * FROM given"
FROM_NOTHING = f"SELECT who, word, n, '{SENTINEL}' FROM nothing"  # noqa: S608
UNFIT = f"SELECT 0.5 AS who, '{SENTINEL}' AS word, n FROM given"  # noqa: S608


@pytest.mark.parametrize("name", OPENERS)
@settings(max_examples=15)
@given(rows=ROWS)
def test_rows_of_a_query_count_as_in_a_text_file(name: str, rows: list[Any]) -> None:
    if name == "adbc":  # it gives each column one type, by its first rows, and is given text alone
        rows = [
            (*(None if each is None else f"t{each}" for each in row[:2]), row[2]) for row in rows
        ]
        rows = [("t", "t", 1), *rows]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        path = write_sqlite(Path(folder) / "t.db", rows)
        plain = write_csv(Path(folder) / "t.csv", rows)
        table = dh.query(ALL, OPENERS[name](stack, path))
        assert count(table) == count(plain)
        one = {"max_labels": 1, "max_count": 1}
        assert sum(count(table, **one).values()) == sum(count(plain, **one).values())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_sqlite(tmp_path / "t.db", [("a", "b", 1), ("c", "d", 2)])


@pytest.fixture(params=OPENERS)
def connection(request: pytest.FixtureRequest, path: Path) -> Iterator[Any]:
    with ExitStack() as stack:
        yield OPENERS[request.param](stack, path)


def test_faults_of_queries_show_no_data(connection: Any) -> None:
    for sql in ("SELECT", FROM_NOTHING, "not SQL"):
        with refused(DataError, "the database could not execute the query"):
            count(dh.query(sql, connection))
    with refused(ColumnError, "there is no column 'who'; the columns are: 'word', 'n'"):
        count(dh.query("SELECT word, n FROM given", connection))
    with refused(DataError, "each row of the query must have", "'who'"):
        count(dh.query(UNFIT, connection))
    with refused(DataError, "the database could not execute the query"):  # while rows are read
        count(
            dh.query("SELECT who, word, abs(-9223372036854775807 - n) AS n FROM given", connection)
        )
    assert count(dh.query(ALL, connection)) == {"b": 1, "d": 2}
    assert count(dh.query("SELECT * FROM given WHERE n > 5", connection)) == {}


def test_nothing_is_executed_before_rows_are_read(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        seen: list[str] = []
        connection.set_trace_callback(seen.append)
        table = dh.query(ALL, connection)
        assert "given" not in repr(table)
        with refused(ParameterError, "max_labels"):
            dh.LabelCounts.from_table(table, label="word", user="who", max_labels=0)
        assert seen == []
        count(table)
        assert seen == [ALL]


def test_what_sqlalchemy_executes(path: Path) -> None:
    engine = sqlalchemy.create_engine(f"sqlite:///{path}")
    given = sqlalchemy.table("given", *map(sqlalchemy.column, NAMES))
    chosen = sqlalchemy.select(given).where(given.c.n > 1)
    assert count(dh.query(chosen, engine)) == {"d": 2}
    assert profile(dh.query(sqlalchemy.text(ALL), engine)) == profile(path)
    engine.dispose()
    with closing(sqlite3.connect(path)) as connection:
        with refused(ParameterError, "sql must be text"):
            dh.query(chosen, connection)
        with refused(ParameterError, "delimiter applies to text files only"):
            dh.LabelCounts.from_table(dh.query(ALL, connection), label="word", delimiter=";")
    for sql, held, fault in (
        ("", engine, "sql must be a SELECT"),
        (None, engine, "sql must be a SELECT"),
        (ALL, None, "connection must be an engine"),
        (ALL, str(path), "connection must be an engine"),
    ):
        with refused(ParameterError, fault):
            dh.query(sql, held)


class Rows:
    """A connection and cursor that give rows of Python's values."""

    description = tuple((name, *[None] * 6) for name in NAMES)

    def __init__(self, rows: Sequence[Sequence[Any]]) -> None:
        self.rows = list(rows)
        self.is_open = False

    def cursor(self) -> "Rows":
        self.is_open = True
        return self

    def execute(self, _: str) -> None:
        """Return nothing, as the standard allows."""

    def fetchmany(self, number: int) -> list[Sequence[Any]]:
        taken, self.rows = self.rows[:number], self.rows[number:]
        return taken

    def close(self) -> None:
        self.is_open = False


class CountedRows(Rows):
    """As drivers of MySQL do, `execute` returns how many rows there are."""

    def execute(self, _: str) -> int:  # type: ignore[override]
        return len(self.rows)


def test_a_driver_that_returns_the_number_of_rows() -> None:
    rows = [("a", "b", 1), ("c", "d", 2)]
    for number in range(3):
        found = count(dh.query("x", CountedRows(rows[:number])))
        assert found == dict([("b", 1), ("d", 2)][:number])


def test_text_of_a_query_has_no_parameters(connection: Any) -> None:
    sql = "SELECT ':v' AS who, '%s :w' AS word, 1 AS n"
    assert count(dh.query(sql, connection)) == {"%s :w": 1}


def test_nanoseconds_of_duckdb_are_not_rounded() -> None:
    """Two users whose moments differ by one would be the same user in Python."""
    rows = "SELECT TIMESTAMP_NS '2020-01-01 00:00:00.000000001' AS who, 'a' AS word, 1 AS n"
    with duckdb.connect() as connection:
        with refused(ColumnError, "column 'who' must have no timestamps in nanoseconds"):
            count(dh.query(rows, connection))
        cast = f"SELECT who::VARCHAR AS who, word, n FROM ({rows})"  # noqa: S608
        assert count(dh.query(cast, connection)) == {"a": 1}


UTC = datetime.UTC
EAST = datetime.timezone(datetime.timedelta(hours=2))
NOON = datetime.datetime(2026, 1, 31, 12, tzinfo=UTC)
UUID = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        (Decimal("1"), Decimal("1.0"), "1"),
        (Decimal("1.50"), Decimal("15e-1"), "1.5"),
        (NOON, datetime.datetime(2026, 1, 31, 14, tzinfo=EAST), "2026-01-31T12:00:00+00:00"),
        (UUID, str(UUID), str(UUID)),
        (b"\xab", "ab", "ab"),
        (17, "17", "17"),
        (True, "true", "true"),
        (datetime.date(2026, 1, 31), "2026-01-31", "2026-01-31"),
    ],
)
def test_equal_values_of_python_are_one_user(first: Any, second: Any, text: str) -> None:
    rows = [(first, first, Decimal(1)), (second, second, 1)]
    connection = Rows(rows)
    assert count(dh.query("x", connection)) == {text: 2}
    assert not connection.is_open
    found = count(dh.query("x", Rows(rows)), max_labels=1, max_count=1)
    assert found == {text: 1}


@pytest.mark.parametrize("value", [Decimal("NaN"), Decimal("Infinity"), 1j, [1], datetime.time(1)])
def test_values_of_python_that_are_no_user(value: Any) -> None:
    connection = Rows([("a", "b", 1), (value, "b", 1)])
    with refused(DataError, "each row of the query must have", "'who'"):
        count(dh.query("x", connection))
    assert not connection.is_open
    with refused(DataError, "each row of the query must have", "'n'"):
        count(dh.query("x", Rows([("a", "b", Decimal("1.5"))])))
