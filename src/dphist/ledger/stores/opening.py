"""Which store a place means: a SQLite file, or an address of a PostgreSQL database."""

from pathlib import Path
from typing import TYPE_CHECKING

from dphist.errors import LedgerError, ParameterError
from dphist.ledger.stores.sqlite import SqliteStore
from dphist.ledger.stores.store import Store

if TYPE_CHECKING:
    from dphist.ledger.stores.postgres import PostgresStore

_POSTGRES = ("postgresql://", "postgres://")


def create_store(place: str | Path, name: str | None) -> Store:
    """Make a ledger without entries at a place."""
    if _is_address(place):
        return _postgres().create(str(place), name)
    return SqliteStore.create(place, name or Path(place).stem)


def open_store(place: str | Path, *, moved: bool = False) -> Store:
    """Open the ledger at a place."""
    if _is_address(place):
        if moved:
            raise ParameterError("moved is for ledgers in files")
        return _postgres().open(str(place))
    return SqliteStore.open(place, moved=moved)


def _is_address(place: str | Path) -> bool:
    return isinstance(place, str) and place.startswith(_POSTGRES)


def _postgres() -> "type[PostgresStore]":
    try:
        from dphist.ledger.stores.postgres import PostgresStore  # needs the extra `postgres`
    except ImportError:
        raise LedgerError(
            "a ledger in PostgreSQL needs psycopg: pip install 'dphist[postgres]'"
        ) from None
    return PostgresStore
