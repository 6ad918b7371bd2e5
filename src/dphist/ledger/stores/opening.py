"""Which store a place means: a SQLite file, or an address of a PostgreSQL database."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dphist.durable.address import is_address
from dphist.errors import LedgerError, ParameterError
from dphist.ledger.stores.sqlite import SqliteStore
from dphist.ledger.stores.store import Store
from dphist.ledger.stores.transaction import Transaction

if TYPE_CHECKING:
    from dphist.ledger.stores.postgres import PostgresStore


def create_store(
    place: str | Path, name: str | None, begin: Callable[[Transaction], None]
) -> Store:
    """Make a ledger at a place, whole or not at all.

    Parameters
    ----------
    name : of the ledger (default: the name of the file or database).
    begin : writes its first entries.
    """
    if is_address(place):
        return _postgres().create(str(place), name, begin)
    return SqliteStore.create(place, name, begin)


def open_store(
    place: str | Path,
    *,
    moved: bool = False,
    check: Callable[[Transaction], None] = lambda _: None,
) -> Store:
    """Open the ledger at a place.

    Parameters
    ----------
    check : may refuse it, before anything of it is changed.
    """
    if is_address(place):
        if moved:
            raise ParameterError("moved", "is for ledgers in files")
        return _postgres().open(str(place), check)
    return SqliteStore.open(place, check, moved=moved)


def _postgres() -> "type[PostgresStore]":
    try:
        from dphist.ledger.stores.postgres import PostgresStore  # needs the extra `postgres`
    except ImportError:
        raise LedgerError(
            "a ledger in PostgreSQL needs psycopg: pip install 'dphist[postgres]'"
        ) from None
    return PostgresStore
