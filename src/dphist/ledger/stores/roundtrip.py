"""Several statements in one round trip to a PostgreSQL server.

The pipeline of psycopg sends each statement as it is added, which wakes the server once for each;
here the statements of one trip are sent together. While the ledger is locked that is most of the
time: `python -m benchmarks.ledger`.
"""

import itertools
import selectors
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import psycopg
from psycopg.pq import DiagnosticField, ExecStatus
from psycopg.pq.abc import PGconn, PGresult

Statement: TypeAlias = tuple[str, Sequence[Any]]
"""A statement whose parameters are question marks, and their values: text, int or None."""

# `select` takes no descriptor above 1023, and `poll` is not known on Windows.
_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)

_RIGHT = (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK)
_INTEGERS = (20, 21, 23)
_PREPARED: "WeakKeyDictionary[Any, dict[str, bytes]]" = WeakKeyDictionary()
"""For each connection, the names of the statements that the server has prepared."""

_NUMBERS = itertools.count()  # a name is used once, also if its statement was not run


class Answer:
    """The answer of the server to one statement."""

    def __init__(self, result: PGresult) -> None:
        self._result: PGresult | None = result
        self._rows: list[tuple[Any, ...]] = []
        self.status = (result.command_status or b"").decode()

    def fetchone(self) -> Any:
        """Return the first row, or None."""
        rows = self.fetchall()
        return rows[0] if rows else None

    def fetchall(self) -> Sequence[Any]:
        """Return all rows."""
        if self._result is not None:
            self._rows, self._result = list(_rows(self._result)), None
        return self._rows


class LaterError(Exception):
    """The statements were run, but not what was to follow them."""


def run(
    connection: psycopg.Connection[Any], statements: Sequence[Statement], later: str | None = None
) -> list[Answer]:
    """Run statements one after the other, and return their answers.

    The server keeps what it has prepared. psycopg has it forget all that when it sees a ROLLBACK,
    so that has to come this way too.

    Parameters
    ----------
    later : a statement that is run after all of them, of which the last is COMMIT.

    Raises
    ------
    psycopg.Error
        Of the first statement that fails; those after it are not run. Without an `sqlstate` the
        connection is lost.
    LaterError
        If the statements were run, and `later` failed.
    """
    server = connection.pgconn
    names = _PREPARED.setdefault(connection, {})
    new: dict[str, bytes] = {}
    server.enter_pipeline_mode()
    sent = _send(server, statements, names, new)
    # The server runs it by itself, because the last of the statements ended their transaction.
    after = [] if later is None else _send(server, [(later, ())], names, new)
    server.pipeline_sync()
    results = [_next(server) for _ in sent]
    followed = [_next(server) for _ in after]
    if _next(server, last=True).status != ExecStatus.PIPELINE_SYNC:
        raise psycopg.OperationalError("the connection is lost")  # it is given up
    server.exit_pipeline_mode()
    for result in results:
        if result.status not in _RIGHT:
            raise _error(result)
    if not all(result.status in _RIGHT for result in followed):
        raise LaterError
    names.update(new)
    return [Answer(result) for result, asked in zip(results, sent, strict=True) if asked]


def _send(
    server: PGconn, statements: Sequence[Statement], names: dict[str, bytes], new: dict[str, bytes]
) -> list[bool]:
    """Send statements; return, for each result to come, whether it is an answer."""
    sent: list[bool] = []
    for statement, values in statements:
        text = _numbered(statement)
        coded = [None if value is None else str(value).encode() for value in values]
        name = names.get(statement) or new.get(statement)
        if name is None:
            name = new[statement] = b"dphist%d" % next(_NUMBERS)
            server.send_prepare(name, text)
            sent.append(False)
        server.send_query_prepared(name, coded)
        sent.append(True)
    return sent


def _next(server: PGconn, *, last: bool = False) -> PGresult:
    """Return the next result; the one that ends the trip is the last."""
    while server.is_busy():
        unsent = server.flush()
        with _Selector() as selector:
            selector.register(server.socket, EVENT_READ | (EVENT_WRITE if unsent else 0))
            selector.select()
        server.consume_input()
    result = server.get_result()
    if result is None:
        raise psycopg.OperationalError("the connection is lost")
    if not last and server.get_result() is not None:
        raise psycopg.OperationalError("the connection is lost")
    return result


def _error(result: PGresult) -> psycopg.Error:
    state = result.error_field(DiagnosticField.SQLSTATE)
    if state is None:
        return psycopg.OperationalError("the connection is lost")
    try:
        return psycopg.errors.lookup(state.decode())()
    except KeyError:
        error = psycopg.DatabaseError()
        error.sqlstate = state.decode()
        return error


def _rows(result: PGresult) -> Iterator[tuple[Any, ...]]:
    get = result.get_value
    readers = [(column, _reader(result.ftype(column))) for column in range(result.nfields)]
    for row in range(result.ntuples):
        yield tuple(
            [
                None if (value := get(row, column)) is None else read(value)
                for column, read in readers
            ]
        )


def _reader(kind: int) -> Callable[[bytes], Any]:
    return int if kind in _INTEGERS else _text


def _text(value: bytes) -> str:
    return value.decode()


@lru_cache(maxsize=256)
def _numbered(statement: str) -> bytes:
    """Return a statement with the marks of PostgreSQL; ours hold no question marks as text."""
    first, *others = statement.split("?")
    return "".join([first, *(f"${n}{part}" for n, part in enumerate(others, 1))]).encode()
