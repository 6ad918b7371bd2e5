"""A ledger in a PostgreSQL database, for teams.

A database holds one ledger, or each schema of it one: the tables are those that the search path
finds, as set for the user, or with ``?options=-csearch_path%3Dclinic`` in the address. Whoever
creates the ledger owns its tables; a user needs SELECT, INSERT, UPDATE and DELETE on them to pay,
and SELECT alone to look.

Writers lock the table `dphist_ledger`, so they run one after the other, at the isolation level
"read committed": every statement after the lock sees all that was committed before it. A pooler
between ledger and server must keep to sessions. A server that syncs nothing to its disk is refused;
a standby that takes over may lack the last charges unless replication is synchronous.
"""

import contextlib
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from dphist.errors import LedgerError
from dphist.ledger.stores import connections
from dphist.ledger.stores.connections import (
    PATIENCE,
    Answer,
    Connection,
    Connections,
    Statement,
    explain_error,
    is_lost,
    is_passing,
)
from dphist.ledger.stores.schema import (
    VERSION,
    Head,
    check_head,
    list_columns,
    list_key_columns,
    new_head,
    write_tables,
)
from dphist.ledger.stores.store import UnwrittenError
from dphist.ledger.stores.transaction import Prefetch, Transaction

_TABLES = write_tables('TEXT COLLATE "C"')
"""Text is compared and sorted by its bytes, as SQLite does it."""

_SAID = (
    "SELECT format, version, library, id, name, identity, entries, head, time, "
    "current_setting('synchronous_commit'), current_setting('fsync')"
)
_SETTINGS_AT = 9  # what the server syncs, behind what the ledger says of itself
_HEAD = f"{_SAID} FROM dphist_ledger"
# Writers queue for the table and not for its row: this way of waiting holds no snapshot. Who waits
# for a row keeps the server from removing its old versions, and then has to go through all of them
# while the ledger is locked.
_LOCK = "LOCK TABLE dphist_ledger IN SHARE ROW EXCLUSIVE MODE"
# A commit gives up the ledger's lock, and then another transaction of the same session waits until
# the disk has all that was committed so far, as `synchronous_commit` says. Many writers share a
# sync, and none returns before its own. Whoever commits in between depends on what came before it
# in the log: a crash loses both, or the later one.
_HEAD_UNSYNCED = f"{_SAID}, set_config('synchronous_commit', 'off', true) FROM dphist_ledger"
_SYNC = "SELECT pg_logical_emit_message(true, 'dphist', '')"
_OPEN = (TransactionStatus.INTRANS, TransactionStatus.INERROR)
_CREATING = 0x6470686973740001  # "dphist": one lock for all who create a ledger here


class PostgresStore:
    """The tables of a ledger in a PostgreSQL database."""

    def __init__(self, pool: Connections) -> None:
        """Take a database; use `create` or `open`."""
        self._connections = pool

    @property
    def name(self) -> str:
        """The address without its password."""
        return self._connections.name

    @classmethod
    def create(
        cls, address: str, name: str | None, begin: Callable[[Transaction], None]
    ) -> "PostgresStore":
        """Make a ledger with its first entries, whole or not at all.

        Parameters
        ----------
        name : of the ledger (default: that of the database).
        begin : writes the first entries.

        Raises
        ------
        LedgerError
            If there is a ledger already, or the database cannot hold one.
        """
        store = cls(Connections(address))
        try:
            with store._connections.lend() as connection, _roll_back(connection):
                connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_CREATING,))
                store._check_empty(connection)
                statements = _Statements(connection)
                for table in _TABLES.values():
                    statements(table)
                row = new_head(name or connection.info.dbname, "")
                statements(f"INSERT INTO dphist_ledger VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608
                made = Transaction(
                    statements, store._head(statements(_HEAD).fetchall(), durable=True)
                )
                begin(made)
                store._commit(statements, made.head)
        except psycopg.Error as error:
            store.close()
            raise explain_error(store.name, error) from None
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def open(
        cls, address: str, check: Callable[[Transaction], None] = lambda _: None
    ) -> "PostgresStore":
        """Open an existing ledger.

        Parameters
        ----------
        check : may refuse it, before anything of it is changed.

        Raises
        ------
        LedgerError
            If there is none, or it is of a later version, or the server cannot be reached.
        """
        store = cls(Connections(address))
        try:
            with store._connections.lend():  # without patience, as the address may be wrong
                pass
            with store.transaction(write=False) as tables:
                check(tables)
                version = tables.head.version
            if version < VERSION:
                with store.transaction(write=True) as tables:
                    tables.migrate(_TABLES)
        except psycopg.Error as error:
            store.close()
            raise explain_error(store.name, error) from None
        except BaseException:
            store.close()
            raise
        return store

    @contextlib.contextmanager
    def transaction(
        self, *, write: bool, prefetch: Prefetch | None = None
    ) -> Iterator[Transaction]:
        """Begin a transaction: one writer at a time; readers see one moment.

        Parameters
        ----------
        prefetch : what it will ask for. A writer asks for it together with the lock, and so
            holds the lock for a shorter time.
        """
        with contextlib.ExitStack() as stack:
            connection, head, answers = self._start_transaction(write, stack, prefetch)
            statements = _Statements(connection)
            made = Transaction(statements, head)
            if prefetch is not None:
                made.cache_answers(prefetch, answers)
            try:
                yield made
                if write:
                    self._commit(statements, made.head)
            except psycopg.Error as error:
                raise explain_error(self.name, error) from None

    def check(self) -> None:
        """Check that our tables have the columns and keys they should have, and no triggers."""
        try:
            with contextlib.ExitStack() as stack:
                connection, _, _ = self._start_transaction(False, stack)
                altered = [table for table in _TABLES if not _is_ours(connection, table)]
                added = connection.execute(_ADDED, {"tables": list(_TABLES)}).fetchone()
        except psycopg.Error as error:
            raise explain_error(self.name, error) from None
        if altered:
            raise LedgerError(
                f"the table {altered[0]} at {self.name} has not the columns or the key that it "
                "should have: it was altered"
            )
        if added is not None:
            raise LedgerError(
                f"the tables at {self.name} have triggers, rules, row security or children, or "
                "are not logged, which could change, hide or lose entries; remove that"
            )

    def close(self) -> None:
        """Give up the connections; a later transaction makes new ones."""
        self._connections.close()

    def _start_transaction(
        self, write: bool, stack: contextlib.ExitStack, prefetch: Prefetch | None = None
    ) -> tuple[Connection, Head, list[Sequence[Any]]]:
        """Return a connection in a transaction that has read the head; a lost one is replaced."""
        end = time.monotonic() + PATIENCE
        new = False
        while True:
            with contextlib.ExitStack() as trial:
                try:
                    connection = trial.enter_context(self._connections.lend(new=new))
                    trial.enter_context(_roll_back(connection))
                    first, *answers = _begin(connection, write, prefetch)
                    head = self._head(first, durable=write)
                except (
                    psycopg.errors.UndefinedTable,
                    psycopg.errors.UndefinedColumn,
                ) as error:
                    if prefetch is not None:
                        # Says what is wrong with it as a whole.
                        self._start_transaction(write, stack)
                        raise explain_error(self.name, error) from None
                    raise LedgerError(
                        f"there is no ledger at {self.name}; make it with Ledger.create"
                    ) from None
                except psycopg.Error as error:
                    if not is_passing(error):
                        raise explain_error(self.name, error) from None
                    if time.monotonic() > end:
                        raise LedgerError(
                            f"{self.name} has not answered for {PATIENCE} seconds, and nothing was "
                            "written; check the server, and try again"
                        ) from None
                else:
                    stack.enter_context(trial.pop_all())
                    return connection, head, answers
            new = True
            time.sleep(random.uniform(0.01, 0.2))  # noqa: S311 - so that waiters do not march

    def _head(self, rows: Sequence[Any], *, durable: bool) -> Head:
        """Return what the ledger says of itself.

        Parameters
        ----------
        durable : whether a server is refused that does not sync what it commits.
        """
        head = check_head([row[:_SETTINGS_AT] for row in rows], self.name)
        if durable and "off" in rows[0][_SETTINGS_AT:][:2]:
            raise LedgerError(
                f"{self.name} does not sync what it commits (fsync or synchronous_commit is off), "
                "so a crash would lose charges; turn both on"
            )
        return head

    def _check_empty(self, connection: Connection) -> None:
        """Refuse a database that has a ledger, or cannot keep every text."""
        if connection.execute("SHOW server_encoding").fetchone() != ("UTF8",):
            raise LedgerError(f"the encoding of {self.name} must be UTF8; make another database")
        for table in _TABLES:
            if connection.execute("SELECT to_regclass(%s)", (table,)).fetchone() != (None,):
                raise LedgerError(
                    f"there is a ledger at {self.name}; open it, or use another database or schema"
                )

    def _commit(self, statements: "_Statements", head: Head) -> None:
        """Commit, and make sure that it was committed.

        Raises
        ------
        UnwrittenError
            If it certainly was not, and may be tried again.
        psycopg.Error
            If the server refused it for a reason that stays.
        """
        try:
            if not statements.commit():
                raise UnwrittenError(f"{self.name} rolled a transaction back; nothing was written")
            return
        except psycopg.Error as error:
            if statements.is_open and not is_lost(error):
                raise
            failed = error
        # It may be committed, and is perhaps not on the disk.
        try:
            written = self._is_written(head)
        except (psycopg.Error, LedgerError):
            raise LedgerError(
                f"the connection to {self.name} was lost while entry {head.entries} was written, "
                "and whether it was is not known. Run the same again with the same key when the "
                "server is there: no key is charged twice"
            ) from None
        if not written:
            if not is_passing(failed):
                raise failed
            raise UnwrittenError(
                f"the connection to {self.name} was lost, and nothing was written; try again"
            )

    def _is_written(self, head: Head) -> bool:
        """Whether the transaction that would have made this head was committed; if so, sync it.

        The lost session holds the lock on the head as long as it may still commit; so whoever has
        got the lock knows.
        """
        with contextlib.ExitStack() as stack:
            connection, now, _ = self._start_transaction(True, stack)
            if now.id != head.id:
                raise LedgerError("another ledger")
            if now.entries < head.entries:
                return False
            statements = _Statements(connection)
            found = Transaction(statements, now).entry(head.entries).hash == head.hash
            statements.commit()
            return found


class _Statements:
    """Collects the statements of a transaction, and runs all of them when an answer is read."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._waiting: list[_Waiting] = []

    @property
    def is_open(self) -> bool:
        """Whether the server has the transaction, which has neither ended nor been lost."""
        return self._connection.info.transaction_status in _OPEN

    def __call__(self, statement: str, parameters: Sequence[Any] = ()) -> "_Waiting":
        self._waiting.append(_Waiting(self, (statement, parameters)))
        return self._waiting[-1]

    def commit(self) -> bool:
        """Commit, and wait until it is on the disk; return whether it was not a rollback."""
        committed = self("COMMIT")
        self(_SYNC)
        return committed.read().status == "COMMIT"

    def run(self) -> None:
        """Run the statements that wait, in one round trip."""
        waiting, self._waiting = self._waiting, []
        answers = connections.run(self._connection, [each.statement for each in waiting])
        for each, answer in zip(waiting, answers, strict=True):
            each.answer = answer


@dataclass(slots=True)
class _Waiting:
    """A statement, and its answer once it was run."""

    statements: _Statements
    statement: Statement
    answer: Answer | None = None

    def read(self) -> Answer:
        """Return the answer, which may need a round trip."""
        if self.answer is None:
            self.statements.run()
        assert self.answer is not None  # noqa: S101
        return self.answer

    def fetchone(self) -> Any:
        """Return the first row, or None."""
        return next(iter(self.read().rows), None)

    def fetchall(self) -> Sequence[Any]:
        """Return all rows."""
        return self.read().rows


def _begin(connection: Connection, write: bool, prefetch: Prefetch | None) -> list[Sequence[Any]]:
    """Begin a transaction, which a writer locks; return the head, and what is asked for."""
    begun: list[Statement] = [("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", ())]
    head = _HEAD
    if write:
        begun = [("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", ()), (_LOCK, ())]
        head = _HEAD_UNSYNCED
    asked: list[Statement] = [(head, ()), *([] if prefetch is None else prefetch.questions())]
    answers = connections.run(connection, [*begun, *asked])
    return [answer.rows for answer in answers[len(begun) :]]


def _is_ours(connection: Connection, table: str) -> bool:
    """Whether a table has the columns and the key that it should have."""
    columns = connection.execute(_COLUMNS, (table,)).fetchall()
    key = [name for (name,) in connection.execute(_KEY, (table,)).fetchall()]
    return (columns, key) == (list_columns(table), list_key_columns(table))


@contextlib.contextmanager
def _roll_back(connection: Connection) -> Iterator[None]:
    """Roll back what the block has not committed; of a lost connection the server does it."""
    try:
        yield
    finally:
        if connection.info.transaction_status in _OPEN:
            with contextlib.suppress(psycopg.Error):
                connection.rollback()


_COLUMNS = (
    "SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute "
    "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
)
_KEY = (
    "SELECT attname FROM pg_index JOIN pg_attribute ON attrelid = indrelid "
    "AND attnum = ANY(indkey) WHERE indrelid = to_regclass(%s) AND indisprimary "
    "ORDER BY array_position(indkey::int2[], attnum)"
)
_ADDED = (
    "SELECT 1 FROM pg_class WHERE oid = ANY(%(tables)s::text[]::regclass[]) "
    "AND (relrowsecurity OR relkind <> 'r' OR relpersistence <> 'p' OR relhassubclass OR EXISTS "
    "(SELECT 1 FROM pg_trigger WHERE tgrelid = pg_class.oid AND NOT tgisinternal) OR EXISTS "
    "(SELECT 1 FROM pg_rewrite WHERE ev_class = pg_class.oid))"
)
