"""The tables of a ledger, the same in SQLite and PostgreSQL, and how older ones are brought up.

**Migrating.** A dphist that changes the tables raises `VERSION` and adds to `MIGRATIONS` the
statements that make tables of the version before into its own, in the SQL of both databases.
`Ledger.open` runs them, all in one transaction: a crash leaves the old tables or the new. What they
may change is the derived tables and their indexes. The table `dphist_ledger` keeps its columns,
because every version reads it before it knows the version, and entries are never rewritten, because
each is hashed by the next. A table that changes is replaced (CREATE, INSERT ... SELECT, DROP) with
the very text of `write_tables`, because `check` compares the text that SQLite keeps of a table. In
PostgreSQL the owner of the tables has to be the first to open the ledger.

A ledger of a later version is refused: processes of an older dphist that have it open stop at their
next transaction.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib.metadata import version as installed_version
from typing import Any, NamedTuple

from dphist.errors import LedgerError
from dphist.ledger.entries import FIRST

FORMAT = "dphist ledger"
VERSION = 2
"""Version of the tables. A later dphist that changes them adds a step to `MIGRATIONS`."""


class Column(NamedTuple):
    """A column of a table: its type, and whether it may be NULL, or is the key, which never is."""

    type: str
    optional: bool = False


_TEXT = "TEXT"
_COLUMNS: dict[str, dict[str, Column]] = {
    "dphist_ledger": {
        "format": Column(_TEXT),
        "version": Column("INTEGER"),
        "library": Column(_TEXT),
        "id": Column(_TEXT),
        "name": Column(_TEXT),
        "identity": Column(_TEXT),
        "entries": Column("BIGINT"),
        "head": Column(_TEXT),
        "time": Column(_TEXT, optional=True),
    },
    "dphist_entries": {
        "number": Column("BIGINT", optional=True),
        "time": Column(_TEXT),
        "action": Column(_TEXT),
        "content": Column(_TEXT),
        "previous": Column(_TEXT),
        "signature": Column(_TEXT, optional=True),
    },
    "dphist_accounts": {
        "name": Column(_TEXT, optional=True),
        "content": Column(_TEXT),
        "closed": Column("INTEGER"),
    },
    "dphist_caps": {
        "account": Column(_TEXT),
        "holder": Column(_TEXT),
        "content": Column(_TEXT),
    },
    "dphist_totals": {
        "account": Column(_TEXT),
        "holder": Column(_TEXT),
        "period": Column(_TEXT),
        "entries": Column("BIGINT"),
        "mixed": Column("BIGINT"),
        "epsilon": Column(_TEXT),
        "rho": Column(_TEXT),
        "delta": Column(_TEXT),
    },
    "dphist_charges": {
        "name": Column(_TEXT, optional=True),
        "entry": Column("BIGINT"),
        "state": Column(_TEXT),
        "fingerprint": Column(_TEXT),
        "sha256": Column(_TEXT, optional=True),
        "noted": Column("BIGINT", optional=True),
        "release_text": Column(_TEXT, optional=True),
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


def write_tables(text: str = _TEXT) -> dict[str, str]:
    """Return the statement that makes each table; SQLite keeps its text, so it never changes.

    Parameters
    ----------
    text : the type of text.
    """
    return {table: _write_table(table, text) for table in _COLUMNS}


def _write_table(table: str, text: str) -> str:
    key = _KEYS[table]
    parts = [
        f"{name} {text if type_ == _TEXT else type_}{'' if optional else ' NOT NULL'}"
        for name, (type_, optional) in _COLUMNS[table].items()
    ]
    if len(key) == 1:
        parts[0] += " PRIMARY KEY"
    elif key:
        parts.append(f"PRIMARY KEY ({', '.join(key)})")
    return f"CREATE TABLE {table} ({', '.join(parts)})"


TABLES = write_tables()


def list_columns(table: str) -> list[tuple[str, str, bool]]:
    """Return name and type of a table's columns as PostgreSQL describes them, and if one is set."""
    return [
        (name, type_.lower(), not optional or name in _KEYS[table])
        for name, (type_, optional) in _COLUMNS[table].items()
    ]


def list_key_columns(table: str) -> list[str]:
    """Return the columns of a table's primary key."""
    return list(_KEYS[table])


class Made(NamedTuple):
    """A step that makes a table of this version."""

    table: str


# Version 2 has sums by period: budgets of version 1 are never renewed, so theirs are of all time.
_SUMS = "account, holder, entries, mixed, epsilon, rho, delta"
MIGRATIONS: dict[int, tuple[str | Made, ...]] = {
    1: (
        "ALTER TABLE dphist_totals RENAME TO dphist_totals_of_1",
        Made("dphist_totals"),
        # Every column of the old table: of one that has a period already, it fails.
        f"INSERT INTO dphist_totals ({_SUMS}, period) SELECT *, '' FROM dphist_totals_of_1",  # noqa: S608
        "DROP TABLE dphist_totals_of_1",
    )
}
"""For each older version, the steps that make the next one of it, in one transaction."""


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


def check_head(rows: Sequence[Any], name: str) -> Head:
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
