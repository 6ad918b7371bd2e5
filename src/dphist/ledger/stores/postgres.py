"""A ledger in a PostgreSQL database, for teams."""

import contextlib
from collections.abc import Iterator

from dphist.errors import LedgerError
from dphist.ledger.stores.transaction import Transaction


class PostgresStore:
    """The tables of a ledger in a PostgreSQL database (begun)."""

    @property
    def name(self) -> str:
        """The address without its password."""
        raise LedgerError("not yet")

    @classmethod
    def create(cls, address: str, name: str | None) -> "PostgresStore":
        """Make a ledger without entries."""
        raise LedgerError("not yet")

    @classmethod
    def open(cls, address: str) -> "PostgresStore":
        """Open an existing ledger."""
        raise LedgerError("not yet")

    @contextlib.contextmanager
    def transaction(self, *, write: bool) -> Iterator[Transaction]:
        """Begin a transaction."""
        yield from ()

    def check(self) -> None:
        """Check the structure of the tables."""

    def close(self) -> None:
        """Give up the connections."""
