"""Streams that a ledger paid for."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from dphist.errors import Argument, LedgerError, ParameterError
from dphist.ledger import entries
from dphist.ledger.book import find_account, find_charge
from dphist.ledger.charging import check_words, mechanism_in_words
from dphist.ledger.deferred import Deferred
from dphist.ledger.entries import Entry
from dphist.ledger.payments import Order, Payments
from dphist.privacy import PrivacyUnit
from dphist.privacy.unit import unit_of_data
from dphist.release.release import Release
from dphist.streams import ContinualHistogram, ContinualMechanism
from dphist.streams.store.store import Store


class LedgerStream(ContinualHistogram):
    """A durable stream that a ledger paid for; on closing, the ledger notes its commits."""

    __slots__ = ("_key", "_payments")

    _payments: Payments
    _key: str

    @property
    def _user(self) -> PrivacyUnit:
        """One user, who is called as in the account."""
        unit: PrivacyUnit = _payment_facts(self._payments, self._key)["unit"]
        return unit

    def name_users(self, column: str, unit: PrivacyUnit | str | None = None) -> None:
        """Say who the users are, as a stream without a ledger; their unit is the account's."""
        self._check_unit(unit)
        super().name_users(column, unit)

    def _check_unit(self, unit: PrivacyUnit | str | None) -> None:
        """Refuse another unit than that of the account."""
        if unit is not None and unit_of_data(unit).single != self._user:
            fault = f"must be that of the account that paid for the stream, {str(self._user)!r}"
            raise ParameterError("unit", fault, "leave it out to go on")

    def released(self) -> Release:
        """Release all recorded readings; the release names the entry that paid for the stream."""
        release = super().released()
        provenance = {**_payment_facts(self._payments, self._key), **release.provenance}
        return replace(release, provenance=provenance)

    def close(self) -> None:
        """Note how many commits the state file has, and close it. May be called again."""
        store = self._live.store
        if store is not None and store.is_open:
            try:
                note(self._payments, self._key, store)
            finally:
                super().close()
        else:
            super().close()


def open_stream(
    payments: Payments,
    path: str | Path,
    mechanism: ContinualMechanism | None,
    order: Order,
    unit: str | PrivacyUnit | None,
    *,
    moved: bool,
) -> LedgerStream:
    """Charge a stream in full and begin it, or continue one; see `Ledger.open_stream`."""
    _check_beginning(payments, path, mechanism, unit, order.key)
    if mechanism is None:
        with payments.reading() as tables:
            find_charge(tables, check_words(order.key, "key"))  # says that it was never charged
    else:
        data = Deferred(lambda: None, unit)
        payments.check_one_step(mechanism, data, order.account)
        payments.charge(mechanism, data, order, again=True)
    return _open_charged(payments, path, mechanism, order.key, unit, moved=moved)


def _check_beginning(
    payments: Payments,
    path: str | Path,
    mechanism: ContinualMechanism | None,
    unit: str | PrivacyUnit | None,
    key: str,
) -> None:
    """Refuse a unit that the stream does not protect, and a state that the key did not pay for."""
    if unit is not None and mechanism is not None and mechanism.max_events_per_user is None:
        raise ParameterError(
            "unit",
            "needs "
            + Argument("max_events_per_user")
            + ": without it the stream protects single events, of which one may have any "
            "number",
        )
    if os.path.lexists(path) and not _has_paid(payments, key):
        raise LedgerError(
            f"there is a state at {path}, and the key {key!r} has paid for none: continue the "
            "stream with the key that began it, or name a path without a file"
        )


def _has_paid(payments: Payments, key: str) -> bool:
    """Whether a key was charged; a reservation does not pay for a state that is there."""
    check_words(key, "key")
    with payments.reading() as tables:
        charge = tables.charge(key)
        return charge is not None and charge.state == entries.CHARGED


def _open_charged(
    payments: Payments,
    path: str | Path,
    mechanism: ContinualMechanism | None,
    key: str,
    unit: str | PrivacyUnit | None,
    *,
    moved: bool,
) -> LedgerStream:
    """Open the stream that was paid for by a key; begin it if it never began.

    Parameters
    ----------
    unit : what a user is, if it was named: it must be the unit of the account.

    Raises
    ------
    LedgerError
        If the state file is missing, is that of another stream or an older copy, or names other
        users than those of the account.
    """
    noted = last_note(payments, key)
    if noted is not None and not os.path.lexists(path):
        raise LedgerError(
            f"there is no state at {path}, and the stream of the key {key!r} has begun (entry "
            f"{noted.number}); restore its state file, or begin a stream with another key, which "
            "costs again"
        )
    stream: LedgerStream = LedgerStream.open(  # type: ignore[assignment]
        path, moved=moved, mechanism=mechanism
    )
    stream._payments, stream._key = payments, key
    store = stream._live.store
    assert store is not None  # noqa: S101 - `open` has a file
    try:
        _check_paid(payments, key, stream.mechanism)
        stream._check_unit(unit)
        if noted is not None:
            _check_noted(noted, store, path)
        elif stream.time:
            raise LedgerError(
                f"{path} is not the state of a stream that the key {key!r} began: it has events "
                "already; name a path without a file"
            )
        named = stream.named_users
        if named is not None and named.unit != stream._user:
            raise LedgerError(
                f"the users of {path} were named {str(named.unit)!r}, and the account that paid "
                f"for the stream protects {str(stream._user)!r}; begin another stream"
            )
        note(payments, key, store)
    except BaseException:
        ContinualHistogram.close(stream)
        raise
    return stream


def note(payments: Payments, key: str, store: Store) -> None:
    """Note how many commits a state file has, unless the last note says the same."""
    last, state = last_note(payments, key), _name_state(store)
    said = None if last is None else (last.content["state"], last.content["commits"])
    if said != (state, store.commits):
        note_state(payments, key, state, store.commits)  # refuses another file's state


def note_state(payments: Payments, key: str, state: str, commits: int) -> None:
    """Add the entry that notes how many commits the state file of a stream had."""
    payments.append(entries.NOTED, {"key": key, "state": state, "commits": commits})


def last_note(payments: Payments, key: str) -> Entry | None:
    """Return the last entry that notes the state of a stream, or None."""
    with payments.reading() as tables:
        number = find_charge(tables, key).noted
        return None if number is None else tables.entry(number)


def _payment_facts(payments: Payments, key: str) -> dict[str, Any]:
    """Return what a release states of the entry that paid for it, and whom it protects.

    Returns
    -------
    dict with ``ledger``, ``account``, ``entry``, and ``unit``, one unit of the account.
    """
    with payments.reading() as tables:
        entry = tables.entry(find_charge(tables, key).entry)
        account = find_account(tables, entry.content["costs"][0]["account"])
    return {**payments.describe_payment(entry), "unit": account.unit.single}


def _check_paid(payments: Payments, key: str, mechanism: ContinualMechanism) -> None:
    """Refuse a stream with other parameters than its key paid for."""
    with payments.reading() as tables:
        entry = tables.entry(find_charge(tables, key).entry)
    if entry.content["mechanism"] != mechanism_in_words(mechanism):
        raise LedgerError(
            f"the key {key!r} (entry {entry.number}) did not pay for this stream, but for another "
            "one or for a release; begin or continue the stream with a key of its own"
        )


def _check_noted(noted: Entry, store: Store, path: str | Path) -> None:
    if noted.content["state"] != _name_state(store):
        raise LedgerError(f"{path} is not the state of the stream that entry {noted.number} notes")
    if store.commits < noted.content["commits"]:
        raise LedgerError(
            f"{path} holds an older content than entry {noted.number} of the ledger notes: noise "
            "that was drawn since would be drawn again for the same counts. A stream cannot go on "
            "from it; begin a new one with another key, which costs again"
        )


def _name_state(store: Store) -> str:
    """Return digits that distinguish a state file from others; they tell nothing about it."""
    return hashlib.sha256(entries.NOTED.encode() + store.secret).hexdigest()[:32]
