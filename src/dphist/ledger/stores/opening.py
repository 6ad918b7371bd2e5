"""Which store a place means: a SQLite file, or an address of a PostgreSQL database."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dphist.errors import LedgerError, ParameterError
from dphist.ledger.stores.sqlite import SqliteStore
from dphist.ledger.stores.store import Store
from dphist.ledger.stores.transaction import Transaction

if TYPE_CHECKING:
    from dphist.ledger.stores.postgres import PostgresStore

_POSTGRES = ("postgresql://", "postgres://")
# A Path has one slash where the address had two. "c:/" and "c:\\" begin a path.
_LOOKS_LIKE_ADDRESS = re.compile(
    r"\s*[a-z][\w+.:-]*://|\s*postgres(ql)?:|.*pass(word|wd)?\s*=|(?![a-z]:[/\\])[^/\\\s]+:.*@",
    re.IGNORECASE | re.DOTALL,
)


def is_address(place: str | Path) -> bool:
    """Whether a place is the address of a database, and not the path of a file.

    Raises
    ------
    ParameterError
        If it looks like an address of another form. It is not shown: it may hold a password.
    """
    text = str(place)
    if isinstance(place, str) and text.startswith(_POSTGRES):
        _check_separators(text)
        return True
    if _LOOKS_LIKE_ADDRESS.match(text):
        raise ParameterError(
            "place", "must be the path of a ledger, or an address that begins with postgresql://"
        )
    return False


def _check_separators(address: str) -> None:
    """Refuse an @, / or ? that may belong to a password.

    PostgreSQL takes what follows the first of them for a host or a database, whose names messages
    show.
    """
    _, _, rest = address.partition("://")
    if rest.count("@") > 1 or "@" in rest[len(re.split("[/?]", rest)[0]) :]:
        raise ParameterError(
            "place",
            "must have @, / and ? in the user, the password or a setting of a postgresql:// "
            "address written as %40, %2F and %3F",
        )


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
