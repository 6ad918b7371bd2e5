"""The codes of SQLite's errors."""

import sqlite3
from typing import Any


def primary_code(error: sqlite3.Error) -> int:
    """Return SQLite's result code without its extension."""
    return extended_code(error) & 0xFF


def extended_code(error: sqlite3.Error) -> int:
    """Return SQLite's result code with its extension."""
    code: Any = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return int(code)
