"""Streams that a ledger paid for."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from dphist.errors import LedgerError
from dphist.ledger import entries
from dphist.ledger.book import Charge
from dphist.ledger.entries import Entry
from dphist.release.release import Release
from dphist.streams import ContinualHistogram, ContinualMechanism
from dphist.streams.store.store import Store


class Noting(Protocol):
    """A ledger, as far as a stream uses it."""

    def find(self, key: str) -> Charge: ...
    def note_state(self, key: str, state: str, commits: int) -> None: ...
    def last_note(self, key: str) -> Entry | None: ...
    def stated(self, key: str) -> dict[str, str]: ...


class LedgerStream(ContinualHistogram):
    """A durable stream that a ledger paid for; on closing, the ledger notes its commits."""

    __slots__ = ("_key", "_ledger")

    _ledger: Noting
    _key: str

    @property
    def unit(self) -> str:
        """What is protected, in words; users are called as in the account."""
        who = self._ledger.stated(self._key)["unit"]
        return self.mechanism.unit.replace("one user", who)

    def released(self) -> Release:
        """Release all recorded readings; the release names the entry that paid for the stream."""
        release = super().released()
        provenance = {**self._ledger.stated(self._key), **release.provenance}
        return replace(release, provenance=provenance)

    def close(self) -> None:
        """Note how many commits the state file has, and close it. May be called again."""
        store = self._live.store
        if store is not None and store.is_open:
            note(self._ledger, self._key, store)
        super().close()


def open_charged(
    ledger: Noting,
    path: str | Path,
    mechanism: ContinualMechanism | None,
    key: str,
    *,
    moved: bool = False,
) -> LedgerStream:
    """Open the stream that was paid for by a key; begin it if it never began.

    Raises
    ------
    LedgerError
        If the state file is missing, is that of another stream, or an older copy.
    """
    noted = ledger.last_note(key)
    if noted is not None and not os.path.lexists(path):
        raise LedgerError(
            f"there is no state at {path}, and the stream of the key {key!r} has begun (entry "
            f"{noted.number}); restore its state file, or begin a stream with another key, which "
            "costs again"
        )
    stream: LedgerStream = LedgerStream.open(  # type: ignore[assignment]
        path, moved=moved, mechanism=mechanism
    )
    stream._ledger, stream._key = ledger, key
    store = stream._live.store
    assert store is not None  # noqa: S101 - `open` has a file
    try:
        if noted is not None:
            _check_noted(noted, store, path)
        note(ledger, key, store)
    except BaseException:
        ContinualHistogram.close(stream)
        raise
    return stream


def note(ledger: Noting, key: str, store: Store) -> None:
    """Note how many commits a state file has, unless the last note says the same."""
    last, state = ledger.last_note(key), _state_of(store)
    said = None if last is None else (last.content["state"], last.content["commits"])
    if said != (state, store.commits):
        ledger.note_state(key, state, store.commits)  # refuses another file's state


def _check_noted(noted: Entry, store: Store, path: str | Path) -> None:
    if noted.content["state"] != _state_of(store):
        raise LedgerError(f"{path} is not the state of the stream that entry {noted.number} notes")
    if store.commits < noted.content["commits"]:
        raise LedgerError(
            f"{path} holds an older content than entry {noted.number} of the ledger notes: noise "
            "that was drawn since would be drawn anew for the same counts. A stream cannot go on "
            "from it; begin a new one with another key, which costs again"
        )


def _state_of(store: Store) -> str:
    """Return digits that distinguish a state file from others; they tell nothing about it."""
    return hashlib.sha256(entries.NOTED.encode() + store.secret).hexdigest()[:32]
