"""The tables of a ledger, the same in SQLite and PostgreSQL, and how older ones are brought up.

**Migrating.** A dphist that changes the tables raises `VERSION` and adds to `MIGRATIONS` the
statements that make tables of the version before into its own, in the SQL of both databases.
`Ledger.open` runs them, all in one transaction: a crash leaves the old tables or the new. What they
may change is the derived tables and their indexes. The table `dphist_ledger` keeps its columns,
because every version reads it before it knows the version, and entries are never rewritten, because
each is hashed by the next. A table that changes is made anew (CREATE, INSERT ... SELECT, DROP) with
the very text of `TABLES`, because `check` compares the text that SQLite keeps of a table. In
PostgreSQL the owner of the tables has to be the first to open the ledger.

A ledger of a later version is refused: processes of an older dphist that have it open stop at their
next transaction.
"""

import re

FORMAT = "dphist ledger"
VERSION = 1
"""Version of the tables. A later dphist that changes them adds a step to `MIGRATIONS`."""

TABLES = {
    "dphist_ledger": (
        "CREATE TABLE dphist_ledger (format TEXT NOT NULL, version INTEGER NOT NULL, "
        "library TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, identity TEXT NOT NULL, "
        "entries BIGINT NOT NULL, head TEXT NOT NULL, time TEXT)"
    ),
    "dphist_entries": (
        "CREATE TABLE dphist_entries (number BIGINT PRIMARY KEY, time TEXT NOT NULL, "
        "action TEXT NOT NULL, content TEXT NOT NULL, previous TEXT NOT NULL, signature TEXT)"
    ),
    "dphist_accounts": (
        "CREATE TABLE dphist_accounts (name TEXT PRIMARY KEY, content TEXT NOT NULL, "
        "closed INTEGER NOT NULL)"
    ),
    "dphist_caps": (
        "CREATE TABLE dphist_caps (account TEXT NOT NULL, holder TEXT NOT NULL, "
        "content TEXT NOT NULL, PRIMARY KEY (account, holder))"
    ),
    "dphist_totals": (
        "CREATE TABLE dphist_totals (account TEXT NOT NULL, holder TEXT NOT NULL, "
        "entries BIGINT NOT NULL, mixed BIGINT NOT NULL, epsilon TEXT NOT NULL, rho TEXT NOT NULL, "
        "delta TEXT NOT NULL, PRIMARY KEY (account, holder))"
    ),
    "dphist_charges": (
        "CREATE TABLE dphist_charges (name TEXT PRIMARY KEY, entry BIGINT NOT NULL, "
        "state TEXT NOT NULL, fingerprint TEXT NOT NULL, sha256 TEXT, noted BIGINT, "
        "release_text TEXT)"
    ),
}

Column = tuple[str, str, bool]
"""Name, type, and whether it must be there."""


def columns_of(table: str) -> list[Column]:
    """Return the columns of a table, as PostgreSQL describes them."""
    key = key_of(table)
    return [
        (name, kind.lower(), bool(required) or name in key)
        for name, kind, required in re.findall(
            r"(\w+) (TEXT|BIGINT|INTEGER)(?: PRIMARY KEY)?( NOT NULL)?", TABLES[table]
        )
    ]


def key_of(table: str) -> list[str]:
    """Return the columns of a table's primary key."""
    several = re.search(r"PRIMARY KEY \((.*?)\)", TABLES[table])
    if several:
        return several[1].split(", ")
    return re.findall(r"(\w+) \w+ PRIMARY KEY", TABLES[table])


MIGRATIONS: dict[int, tuple[str, ...]] = {}
"""For each older version, the statements that make the next one of it, in one transaction."""
