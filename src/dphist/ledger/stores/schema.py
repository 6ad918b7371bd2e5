"""The tables of a ledger, the same in SQLite and PostgreSQL, and how older ones are brought up."""

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

MIGRATIONS: dict[int, tuple[str, ...]] = {}
"""For each older version, the statements that make the next one of it, in one transaction."""
