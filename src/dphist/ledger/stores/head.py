"""What a ledger says of itself, in the one row of `dphist_ledger`."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib.metadata import version as installed_version
from typing import Any

from dphist.errors import LedgerError
from dphist.ledger.entries import FIRST
from dphist.ledger.stores.schema import FORMAT, MIGRATIONS, VERSION


@dataclass(frozen=True, slots=True)
class Head:
    """What a ledger says of itself.

    Attributes
    ----------
    format, version : of the tables.
    library : version of dphist that made the ledger.
    id : random digits that no other ledger has.
    name : as its maker called it.
    identity : what the file system records of a SQLite file, so that a copy is noticed.
    entries : number of entries.
    hash, time : of the last one.
    """

    format: str
    version: int
    library: str
    id: str
    name: str
    identity: str
    entries: int
    hash: str
    time: str | None


_MOST_ENTRIES = 2**62
_ENTRIES = [field.name for field in fields(Head)].index("entries")


def checked_head(rows: Sequence[Any], name: str) -> Head:
    """Return the head of a ledger from the rows of its table.

    Raises
    ------
    LedgerError
        If it is no ledger, or of another version.
    """
    if len(rows) != 1 or rows[0][0] != FORMAT or type(rows[0][1]) is not int:
        raise not_a_ledger(name)
    if rows[0][1] > VERSION:
        raise LedgerError(
            f"{name} is of version {rows[0][1]} of the ledger's format, and this dphist knows "
            f"version {VERSION}; install a later dphist"
        )
    if rows[0][1] < VERSION and rows[0][1] not in MIGRATIONS:
        raise not_a_ledger(name)
    texts = [value for place, value in enumerate(rows[0]) if place not in (1, _ENTRIES)]
    if len(rows[0]) != len(fields(Head)):
        raise not_a_ledger(name)
    if type(rows[0][_ENTRIES]) is not int or not 0 <= rows[0][_ENTRIES] < _MOST_ENTRIES:
        raise not_a_ledger(name)
    if not all(isinstance(value, str | None) for value in texts):
        raise not_a_ledger(name)
    return Head(*rows[0])


def new_head(name: str, identity_text: str) -> tuple[Any, ...]:
    """Return the row of a ledger without entries."""
    identifier = secrets.token_hex(8)
    library = installed_version("dphist")
    return (FORMAT, VERSION, library, identifier, name, identity_text, 0, FIRST, None)


def not_a_ledger(name: str) -> LedgerError:
    return LedgerError(f"{name} is not a ledger of dphist, or is damaged; name another one")
