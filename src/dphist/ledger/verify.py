"""Verifying a ledger: everything is recomputed from its entries."""

from pathlib import Path

from dphist.errors import DphistError, LedgerError
from dphist.ledger import entries
from dphist.ledger.book import MemoryTables, apply
from dphist.ledger.entries import FIRST, Entry, digest
from dphist.ledger.stores.transaction import Transaction


def verify(tables: Transaction, public_key: str | Path | None = None) -> int:
    """Return the number of entries, all of which are right.

    Raises
    ------
    LedgerError
        Naming the first entry that is wrong: its place in the chain, its signature, or what it
        costs; or the account, sum, key or stored release that is not what the entries say.
    """
    check_signature = None
    if public_key is not None:
        from dphist.ledger.signing import load_checker  # needs the extra `sign`

        check_signature = load_checker(public_key)
    replayed = MemoryTables()
    previous, time = FIRST, ""
    for place, entry in enumerate(tables.entries(), 1):
        if entry.number != place:
            raise _entry_error(place, "is missing")
        if (entry.action == entries.OPENED) != (place == 1):
            raise _entry_error(place, "does not begin the ledger, or begins it twice")
        if entry.previous != previous:
            raise _chain_error(tables, entry)
        if entry.time < time:
            raise _entry_error(place, "is earlier than the entry before it")
        if check_signature is not None and not check_signature(entry.hash, entry.signature):
            raise _entry_error(place, "is not signed with this key")
        try:
            apply(entry, replayed)
        except (DphistError, KeyError, TypeError, ValueError) as error:
            why = str(error) if isinstance(error, DphistError) else "it has not the form of one"
            raise _entry_error(place, f"cannot follow those before it: {why}") from None
        replayed.entries.append(entry)
        previous, time = entry.hash, entry.time
    head = tables.head
    if replayed.entries:
        begun = replayed.entries[0].content
        if (head.id, head.name, head.library) != tuple(
            begun.get(name) for name in ("id", "name", "library")
        ):
            raise _entry_error(1, "does not name this ledger")
    number = len(replayed.entries)
    if head.entries > number:
        raise _entry_error(number + 1, "is missing")
    if head.entries < number:
        raise _entry_error(head.entries + 1, "is none that the ledger knows of: it was added")
    if (head.hash, head.time or "") != (previous, time):
        raise _entry_error(
            number or 1, "is not the last one that the ledger knows of: it was changed"
        )
    if tables.count("dphist_entries") != number:
        raise LedgerError("the table of entries has rows that are no entries; they were added")
    _compare(tables, replayed)
    return len(replayed.entries)


def _chain_error(tables: Transaction, entry: Entry) -> LedgerError:
    """Say which of two entries was changed, where one does not follow the one before it.

    The later one has the hash that what comes after it knows, unless it was changed.
    """
    following = next(tables.entries(after=entry.number), None)
    known = tables.head.hash if following is None else following.previous
    if entry.number > 1 and known == entry.hash:
        return _entry_error(
            entry.number - 1, "was changed: the entry after it follows another content"
        )
    return _entry_error(entry.number, "was changed: it does not follow the entry before it")


def _compare(tables: Transaction, replayed: MemoryTables) -> None:
    """Compare the tables that are derived from the entries."""
    keys = len(replayed.charges)
    for account in tables.accounts():
        if replayed.accounts.pop(account.name, None) != account:
            raise LedgerError(f"the account {account.name!r} is not what its entry says")
    for (name, holder), cap in tables.caps().items():
        if replayed.caps.pop((name, holder), None) != cap:
            raise LedgerError(f"the cap of {holder!r} in {name!r} is not what its entry says")
    for (name, holder, period), totals in tables.all_totals().items():
        if replayed.sums.pop((name, holder, period), None) != totals:
            raise LedgerError(f"the sums of the account {name!r} are not those of its entries")
    for charge in tables.charges():
        if replayed.charges.pop(charge.key, None) != charge:
            raise _entry_error(charge.entry, "does not agree with what is known of its key")
        if charge.release is not None and digest(charge.release) != charge.sha256:
            raise _entry_error(charge.entry, "has a stored release that was changed")
        if charge.release is None and charge.sha256 is not None:
            raise _entry_error(charge.entry, "has lost its stored release")
    if tables.count("dphist_charges") != keys:
        raise LedgerError("the table of keys has rows that no entry made; they were added")
    left = (replayed.accounts, replayed.caps, replayed.sums, replayed.charges)
    if any(left):
        raise LedgerError("an account, cap, sum or key that the entries made is missing")


def _entry_error(number: int, why: str) -> LedgerError:
    return LedgerError(f"entry {number} {why}")
