"""The tables of a ledger, the same in SQLite and PostgreSQL, and how older ones are brought up.

**Migrating.** A dphist that changes the tables raises `VERSION` and adds to `MIGRATIONS` the
statements that make tables of the version before into its own, in the SQL of both databases.
`Ledger.open` runs them, all in one transaction: a crash leaves the old tables or the new. What they
may change is the derived tables and their indexes. The table `dphist_ledger` keeps its columns,
because every version reads it before it knows the version, and entries are never rewritten, because
each is hashed by the next. A table that changes is replaced (CREATE, INSERT ... SELECT, DROP) with
the very text of `TABLES`, because `check` compares the text that SQLite keeps of a table. In
PostgreSQL the owner of the tables has to be the first to open the ledger.

A ledger of a later version is refused: processes of an older dphist that have it open stop at their
next transaction.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib.metadata import version as installed_version
from typing import Any

from dphist.errors import LedgerError
from dphist.ledger.entries import FIRST

FORMAT = "dphist ledger"
VERSION = 2
"""Version of the tables. A later dphist that changes them adds a step to `MIGRATIONS`."""

_COLUMNS = {
    "dphist_ledger": {
        "format": "TEXT NOT NULL",
        "version": "INTEGER NOT NULL",
        "library": "TEXT NOT NULL",
        "id": "TEXT NOT NULL",
        "name": "TEXT NOT NULL",
        "identity": "TEXT NOT NULL",
        "entries": "BIGINT NOT NULL",
        "head": "TEXT NOT NULL",
        "time": "TEXT",
    },
    "dphist_entries": {
        "number": "BIGINT",
        "time": "TEXT NOT NULL",
        "action": "TEXT NOT NULL",
        "content": "TEXT NOT NULL",
        "previous": "TEXT NOT NULL",
        "signature": "TEXT",
    },
    "dphist_accounts": {
        "name": "TEXT",
        "content": "TEXT NOT NULL",
        "closed": "INTEGER NOT NULL",
    },
    "dphist_caps": {
        "account": "TEXT NOT NULL",
        "holder": "TEXT NOT NULL",
        "content": "TEXT NOT NULL",
    },
    "dphist_totals": {
        "account": "TEXT NOT NULL",
        "holder": "TEXT NOT NULL",
        "period": "TEXT NOT NULL",
        "entries": "BIGINT NOT NULL",
        "mixed": "BIGINT NOT NULL",
        "epsilon": "TEXT NOT NULL",
        "rho": "TEXT NOT NULL",
        "delta": "TEXT NOT NULL",
    },
    "dphist_charges": {
        "name": "TEXT",
        "entry": "BIGINT NOT NULL",
        "state": "TEXT NOT NULL",
        "fingerprint": "TEXT NOT NULL",
        "sha256": "TEXT",
        "noted": "BIGINT",
        "release_text": "TEXT",
    },
}

_KEYS: dict[str, list[str]] = {
    "dphist_ledger": [],
    "dphist_entries": ["number"],
    "dphist_accounts": ["name"],
    "dphist_caps": ["account", "holder"],
    "dphist_totals": ["account", "holder", "period"],
    "dphist_charges": ["name"],
}


def _statement(table: str) -> str:
    """Return the statement that makes a table; SQLite keeps its text, so it never changes."""
    key = _KEYS[table]
    parts = [f"{name} {kind}" for name, kind in _COLUMNS[table].items()]
    if len(key) == 1:
        parts[0] += " PRIMARY KEY"
    elif key:
        parts.append(f"PRIMARY KEY ({', '.join(key)})")
    return f"CREATE TABLE {table} ({', '.join(parts)})"


TABLES = {table: _statement(table) for table in _COLUMNS}

Column = tuple[str, str, bool]
"""Name, type, and whether it must be there."""


def columns_of(table: str) -> list[Column]:
    """Return the columns of a table, as PostgreSQL describes them."""
    return [
        (name, kind.removesuffix(" NOT NULL").lower(), "NOT NULL" in kind or name in _KEYS[table])
        for name, kind in _COLUMNS[table].items()
    ]


def key_of(table: str) -> list[str]:
    """Return the columns of a table's primary key."""
    return list(_KEYS[table])


# Version 2 has sums by period: budgets of version 1 are never renewed, so theirs are of all time.
_SUMS = "account, holder, entries, mixed, epsilon, rho, delta"
MIGRATIONS: dict[int, tuple[str, ...]] = {
    1: (
        "ALTER TABLE dphist_totals RENAME TO dphist_totals_of_1",
        TABLES["dphist_totals"],
        # Every column of the old table: of one that has a period already, it fails.
        f"INSERT INTO dphist_totals ({_SUMS}, period) SELECT *, '' FROM dphist_totals_of_1",  # noqa: S608
        "DROP TABLE dphist_totals_of_1",
    )
}
"""For each older version, the statements that make the next one of it, in one transaction."""


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
    (row,) = rows
    if row[1] > VERSION:
        raise LedgerError(
            f"{name} is of version {row[1]} of the ledger's format, and this dphist knows "
            f"version {VERSION}; install a later dphist"
        )
    texts = [value for place, value in enumerate(row) if place not in (1, _ENTRIES)]
    if not (
        (row[1] == VERSION or row[1] in MIGRATIONS)
        and len(row) == len(fields(Head))
        and type(row[_ENTRIES]) is int
        and 0 <= row[_ENTRIES] < _MOST_ENTRIES
        and all(isinstance(value, str | None) for value in texts)
    ):
        raise not_a_ledger(name)
    return Head(*row)


def new_head(name: str, identity_text: str) -> tuple[Any, ...]:
    """Return the row of a ledger without entries."""
    identifier = secrets.token_hex(8)
    library = installed_version("dphist")
    return (FORMAT, VERSION, library, identifier, name, identity_text, 0, FIRST, None)


def not_a_ledger(name: str) -> LedgerError:
    return LedgerError(f"{name} is not a ledger of dphist, or is damaged; name another one")
