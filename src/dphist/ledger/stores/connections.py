"""Connections to a PostgreSQL database, round trips on them, and what errors mean.

Needs the package `psycopg`: ``pip install 'dphist[postgres]'``.
"""

import contextlib
import os
import socket
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from dphist.errors import DphistError, LedgerError, OutputFileError, ParameterError
from dphist.ledger.stores.store import UnwrittenError

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]
Statement: TypeAlias = tuple[str, Sequence[Any]]
"""SQL whose parameters are question marks, and their values. It holds no other ? and no %."""

_SECONDS_TO_ANSWER = 3
PATIENCE = 60
"""Seconds to wait for other users of the ledger, or for a server that is starting again."""

_OLDEST = 140000
# A lost client must not hold the ledger's lock, and a lost server must not hold its client.
_DEFAULTS = {
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
    "fallback_application_name": "dphist",
}
_SETTINGS = (
    "SELECT set_config('lock_timeout', %s, false), "
    "set_config('idle_in_transaction_session_timeout', %s, false), "
    "set_config('synchronous_commit', CASE current_setting('synchronous_commit') "
    "WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of the server to one statement.

    Attributes
    ----------
    status : what the server did, such as ``COMMIT``.
    rows : of a question; empty for other statements.
    """

    status: str
    rows: Sequence[tuple[Any, ...]]


def run(connection: Connection, statements: Sequence[Statement]) -> list[Answer]:
    """Run statements one after the other in one round trip, and return their answers.

    psycopg writes the values into the text, and sends one message. Its pipeline sends each
    statement by itself and wakes the server for each, which takes most of the time while the
    ledger is locked (`python -m benchmarks.ledger`).

    Raises
    ------
    psycopg.Error
        If a statement fails; those after it are not run.
    """
    text = "; ".join([text for text, _ in statements]).replace("?", "%s")
    values = [value for _, values in statements for value in values]
    answers = []
    with psycopg.ClientCursor(connection) as cursor:
        cursor.execute(text.encode(), values)
        while True:
            rows = [] if cursor.description is None else cursor.fetchall()
            answers.append(Answer(cursor.statusmessage or "", rows))
            if not cursor.nextset():
                return answers


class Connections:
    """Connections of this process to one database: one for each transaction that is under way.

    They are kept for later transactions, of any thread. A forked child makes its own.
    """

    def __init__(self, address: str) -> None:
        """Read an address.

        Raises
        ------
        ParameterError
            If it is none.
        """
        try:
            parameters = conninfo_to_dict(address)
            self.name = _format_address(parameters)
        except (psycopg.Error, UnicodeError):
            raise ParameterError(
                "place", "must be an address of the form postgresql://user@host:port/database"
            ) from None
        self._parameters: dict[str, Any] = {**_DEFAULTS, **parameters, "client_encoding": "UTF8"}
        self._idle: list[Connection] = []
        self._used: set[Connection] = set()
        _living.add(self)
        weakref.finalize(self, _close_all, self._idle)

    @contextlib.contextmanager
    def lend(self, *, new: bool = False) -> Iterator[Connection]:
        """Lend a connection; it is kept if it is in no transaction at the end of the context.

        Parameters
        ----------
        new : whether it must be a new one, since those that were kept may be lost.

        Raises
        ------
        psycopg.Error
            If there is none to be had.
        """
        if new:
            _close_all(self._idle)
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect()
        self._used.add(connection)
        try:
            yield connection
        finally:
            self._used.discard(connection)
            if connection.info.transaction_status == TransactionStatus.IDLE:
                self._idle.append(connection)
            else:  # the server rolls back what it was doing
                connection.close()

    def close(self) -> None:
        """Close the connections that are not in use."""
        _close_all(self._idle)

    def _connect(self) -> Connection:
        connection = psycopg.connect(**self._parameters, autocommit=True)
        try:
            if connection.info.server_version < _OLDEST:
                raise LedgerError(f"{self.name} is older than PostgreSQL 14; use a later server")
            connection.execute(_SETTINGS, (f"{PATIENCE}s", f"{2 * PATIENCE}s"))
        except BaseException:
            connection.close()
            raise
        return connection


_living: "weakref.WeakSet[Connections]" = weakref.WeakSet()
_inherited: list[Connection] = []
"""Connections of the parent of this process, kept so that nothing closes them here."""


def _disown() -> None:
    """Set aside, in a forked child, the connections of its parent: closing ends its sessions."""
    for connections in list(_living):
        _inherited.extend((*connections._idle, *connections._used))
        connections._idle.clear()
        connections._used.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown)


def _close_all(connections: list[Connection]) -> None:
    while True:
        try:
            connection = connections.pop()
        except IndexError:
            return
        connection.close()


def is_lost(error: psycopg.Error) -> bool:
    """Whether there is no connection any more, or the server is being stopped or started."""
    state = error.sqlstate
    if state is None:
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return state.startswith("08") or state in ("57P01", "57P02", "57P03")


def _is_down(error: psycopg.Error) -> bool:
    """Whether nothing listens where a connection could not be made."""
    if error.sqlstate is not None or error.pgconn is None:
        return False
    host, port = error.pgconn.host.decode(), error.pgconn.port.decode()
    try:
        if not host.startswith("/"):
            socket.create_connection((host, int(port)), _SECONDS_TO_ANSWER).close()
            return False
        with socket.socket(socket.AF_UNIX) as asked:
            asked.connect(f"{host}/.s.PGSQL.{port}")
    except (OSError, ValueError):
        return True
    return False


def is_passing(error: psycopg.Error) -> bool:
    """Whether a transaction was rolled back for a reason that passes: it may be run again."""
    # serialization failure, deadlock, idle-in-transaction timeout, too many connections
    return is_lost(error) or error.sqlstate in ("40001", "40P01", "25P03", "53300")


def explain_error(name: str, error: psycopg.Error) -> DphistError:
    """Return our error for one of the server, without its text, which may hold data."""
    state = error.sqlstate or ""
    if is_lost(error) and _is_down(error):
        return UnwrittenError(
            f"no PostgreSQL server answers at {name}, and nothing was written: it is down, or host "
            "or port are wrong"
        )
    if is_lost(error):
        return UnwrittenError(
            f"the connection to {name} was lost or could not be made, and nothing was written; "
            "check the address, the password and the server, and try again"
        )
    if is_passing(error):
        return UnwrittenError(f"{name} ended a transaction, and nothing was written; try again")
    if state in ("55P03", "57014"):
        return LedgerError(
            f"{name} is in use by others for too long, and nothing was written; try again"
        )
    if state.startswith("53"):
        return OutputFileError(f"{name} has no room left, and nothing was written")
    if state == "25006":
        return LedgerError(f"{name} is read-only, so nothing can be charged; use the main server")
    if state == "42501":
        return LedgerError(
            f"the user of {name} may not do this; grant SELECT, and to those who pay INSERT, "
            "UPDATE and DELETE, on the tables dphist_*"
        )
    if state[:2] in ("22", "23", "42"):
        return LedgerError(
            f"the tables of {name} are not those of a ledger, or were edited; "
            "run `dphist ledger verify`"
        )
    return LedgerError(f"{name} refused (SQLSTATE {state}), and nothing was written")


def _format_address(parameters: dict[str, Any]) -> str:
    """Return an address without a password, for messages."""
    found = {name: quote(str(value), safe="") for name, value in parameters.items()}
    user, host = found.get("user", ""), found.get("host", "")
    port = f":{found['port']}" if "port" in found else ""
    at = f"{user}@" if user else ""
    folder = host.startswith("%2F")  # of a socket
    shown = f"postgresql://{at}{'' if folder else host}{port}/{found.get('dbname', '')}"
    return f"{shown}?host={parameters['host']}" if folder else shown
