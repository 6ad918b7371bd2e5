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
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from dphist.errors import LedgerError
from dphist.ledger.stores import roundtrip
from dphist.ledger.stores.about import About
from dphist.ledger.stores.connections import (
    PATIENCE,
    Connection,
    Connections,
    explained,
    is_lost,
    is_passing,
)
from dphist.ledger.stores.head import Head, checked_head, new_head
from dphist.ledger.stores.merging import merge_questions, merge_writes, split_answers
from dphist.ledger.stores.roundtrip import Statement
from dphist.ledger.stores.schema import TABLES, VERSION, columns_of, key_of
from dphist.ledger.stores.store import UnwrittenError
from dphist.ledger.stores.transaction import Rows, Transaction

_HEAD = (
    "SELECT format, version, library, id, name, identity, entries, head, time, "
    "current_setting('synchronous_commit'), current_setting('fsync') FROM dphist_ledger"
)
_SETTINGS_AT = 9  # what the server syncs, behind what the ledger says of itself
# Writers queue for the table and not for its row: this way of waiting holds no snapshot. Who waits
# for a row keeps the server from removing its old versions, and then has to go through all of them
# while the ledger is locked.
_LOCK = "LOCK TABLE dphist_ledger IN SHARE ROW EXCLUSIVE MODE"
# A commit gives up the ledger's lock, and then another transaction of the same session waits until
# the disk has all that was committed so far, as `synchronous_commit` says. So many writers share a
# sync, and none returns before its own. Whoever commits in between depends on what came before it
# in the log: a crash loses both, or the later one.
_UNSYNCED = "set_config('synchronous_commit','off',true)"
_SYNC = "SELECT pg_logical_emit_message(true, 'dphist', '')"
_CREATING = 0x6470686973740001  # "dphist": one lock for all who create a ledger here


class PostgresStore:
    """The tables of a ledger in a PostgreSQL database."""

    def __init__(self, connections: Connections) -> None:
        """Take a database; use `create` or `open`."""
        self._connections = connections

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
            with store._connections.lend() as connection, _rolled_back(connection):
                connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_CREATING,))
                store._check_empty(connection)
                statements = _Statements(connection)
                for table in TABLES.values():
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
            raise explained(store.name, error) from None
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
                    tables.migrate()
        except psycopg.Error as error:
            store.close()
            raise explained(store.name, error) from None
        except BaseException:
            store.close()
            raise
        return store

    @contextlib.contextmanager
    def transaction(self, *, write: bool, about: About | None = None) -> Iterator[Transaction]:
        """Begin a transaction: one writer at a time; readers see one moment.

        Parameters
        ----------
        about : what it will ask for. A writer asks for it together with the lock, and so holds
            the lock for a shorter time.
        """
        with contextlib.ExitStack() as stack:
            connection, head, answers = self._begun(write, stack, about)
            statements = _Statements(connection)
            made = Transaction(statements, head)
            if about is not None:
                made.learn(about, answers)
            try:
                yield made
                if write:
                    self._commit(statements, made.head)
            except psycopg.Error as error:
                raise explained(self.name, error) from None

    def check(self) -> None:
        """Check that our tables have the columns and keys they should have, and no triggers."""
        try:
            with contextlib.ExitStack() as stack:
                connection, _, _ = self._begun(False, stack)
                altered = [table for table in TABLES if not _is_ours(connection, table)]
                added = connection.execute(_ADDED, {"tables": list(TABLES)}).fetchone()
        except psycopg.Error as error:
            raise explained(self.name, error) from None
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

    def _begun(
        self, write: bool, stack: contextlib.ExitStack, about: About | None = None
    ) -> tuple[Connection, Head, list[Sequence[Any]]]:
        """Return a connection in a transaction that has read the head; a lost one is replaced."""
        end = time.monotonic() + PATIENCE
        new = False
        while True:
            with contextlib.ExitStack() as trial:
                try:
                    connection = trial.enter_context(self._connections.lend(new=new))
                    trial.enter_context(_rolled_back(connection))
                    first, *answers = _begin(connection, write, about)
                    head = self._head(first, durable=write)
                except (
                    psycopg.errors.UndefinedTable,
                    psycopg.errors.UndefinedColumn,
                ) as error:
                    if about is not None:
                        self._begun(write, stack)  # says what is wrong with it as a whole
                        raise explained(self.name, error) from None
                    raise LedgerError(
                        f"there is no ledger at {self.name}; make it with Ledger.create"
                    ) from None
                except psycopg.Error as error:
                    if not is_passing(error):
                        raise explained(self.name, error) from None
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
        head = checked_head([row[:_SETTINGS_AT] for row in rows], self.name)
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
        for table in TABLES:
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
        """
        try:
            if statements.commit():
                return
        except roundtrip.LaterError:
            pass  # it was committed, and is perhaps not on the disk
        except psycopg.Error as error:
            if not is_lost(error):
                raise
        else:
            raise UnwrittenError(f"{self.name} rolled a transaction back; nothing was written")
        try:
            written = self._is_written(head)
        except (psycopg.Error, roundtrip.LaterError, LedgerError):
            raise LedgerError(
                f"the connection to {self.name} was lost while entry {head.entries} was written, "
                "and whether it was is not known. Run the same again with the same key when the "
                "server is there: no key is charged twice"
            ) from None
        if not written:
            raise UnwrittenError(
                f"the connection to {self.name} was lost, and nothing was written; try again"
            )

    def _is_written(self, head: Head) -> bool:
        """Whether the transaction that would have made this head was committed; if so, sync it.

        The lost session holds the lock on the head as long as it may still commit; so whoever has
        got the lock knows.
        """
        with contextlib.ExitStack() as stack:
            connection, now, _ = self._begun(True, stack)
            if now.id != head.id:
                raise LedgerError("another ledger")
            if now.entries < head.entries:
                return False
            statements = _Statements(connection)
            found = Transaction(statements, now).entry(head.entries).hash == head.hash
            statements.commit()
            return found


class _Statements:
    """Runs statements, those without an answer together with the next one that has one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._waiting: list[Statement] = []

    def __call__(self, statement: str, parameters: Sequence[Any] = ()) -> Rows:
        if statement.startswith(("CREATE TABLE", "ALTER TABLE")):
            # Text is compared and sorted by its bytes, as SQLite does it.
            statement = statement.replace(" TEXT", ' TEXT COLLATE "C"')
        self._waiting.append((statement, parameters))
        return self._run() if statement.startswith("SELECT") else _NO_ROWS

    def commit(self) -> bool:
        """Commit, and wait until it is on the disk; return whether it was not a rollback."""
        self._waiting.append(("COMMIT", ()))
        return self._run(_SYNC).status == "COMMIT"

    def _run(self, later: str | None = None) -> roundtrip.Answer:
        statements, self._waiting = merge_writes(self._waiting), []
        return roundtrip.run(self._connection, statements, later)[-1]


class _NoRows:
    """The answer to a statement that has none."""

    def fetchone(self) -> None:
        return None

    def fetchall(self) -> Sequence[Any]:
        return ()


_NO_ROWS = _NoRows()


def _begin(connection: Connection, write: bool, about: About | None) -> list[Sequence[Any]]:
    """Begin a transaction, which a writer locks; return the head, and what is asked for."""
    head = _HEAD.replace(" FROM", f", {_UNSYNCED} FROM") if write else _HEAD
    asked: list[Statement] = [(head, ()), *([] if about is None else about.questions())]
    begun = [("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", ())]
    if write:
        begun = [("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", ()), (_LOCK, ())]
    found = roundtrip.run(connection, [*begun, merge_questions(asked)])[-1]
    return [*split_answers(asked, found.fetchall())]


def _is_ours(connection: Connection, table: str) -> bool:
    """Whether a table has the columns and the key that it should have."""
    columns = connection.execute(_COLUMNS, (table,)).fetchall()
    key = [name for (name,) in connection.execute(_KEY, (table,)).fetchall()]
    return (columns, key) == (columns_of(table), key_of(table))


@contextlib.contextmanager
def _rolled_back(connection: Connection) -> Iterator[None]:
    """Roll back what the block has not committed; of a lost connection the server does it."""
    try:
        yield
    finally:
        if connection.info.transaction_status in (
            TransactionStatus.INTRANS,
            TransactionStatus.INERROR,
        ):
            with contextlib.suppress(psycopg.Error):
                roundtrip.run(connection, [("ROLLBACK", ())])


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
