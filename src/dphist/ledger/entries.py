"""Entries of a ledger: an append-only list, each with the hash of the one before it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

OPENED = "opened"
"""The ledger was made: the first entry."""
ACCOUNT = "account"
"""An account was opened, with its unit and budget."""
ALLOWED = "allowed"
"""A person or team got a cap in an account, or another one."""
CLOSED = "closed"
"""An account was closed."""
RESERVED = "reserved"
"""Budget was set aside; no data were looked at."""
CANCELED = "canceled"
"""A reservation was given back; no data had been looked at."""
CHARGED = "charged"
"""A release was paid for; from here on data may be looked at."""
FINISHED = "finished"
"""The release of a charge was made, and is stored."""
NOTED = "noted"
"""How many commits the state file of a stream had."""

FIRST = "0" * 64
"""What stands in place of the hash before the first entry."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a ledger.

    Attributes
    ----------
    number : 1, 2, 3, ...
    time : UTC, ISO 8601, as the clock of the writer said; never before the entry ahead of it.
    action : one of the constants of this module.
    content : what happened. It holds no data value; purposes are words of the users.
    previous : hash of the entry ahead of it.
    signature : Ed25519 signature of `hash` in hexadecimal digits, or None.
    """

    number: int
    time: str
    action: str
    content: Mapping[str, Any]
    previous: str
    signature: str | None = field(default=None, compare=False)

    @property
    def hash(self) -> str:
        """SHA-256 of everything but the signature."""
        return hashlib.sha256(self.text().encode()).hexdigest()

    def text(self) -> str:
        """Return the canonical JSON text that is hashed."""
        fields = [self.number, self.time, self.action, self.content, self.previous]
        return canonical(fields)


def canonical(content: Any) -> str:
    """Return JSON text that is the same for equal content: sorted keys, ASCII, no spaces."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def now(previous: str | None) -> str:
    """Return the time for a new entry; a clock that stepped back repeats the last entry's."""
    said = datetime.now(UTC).isoformat(timespec="milliseconds")
    return said if previous is None else max(said, previous)
