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
        from dphist.ledger.signing import checker_of  # needs the extra `sign`

        check_signature = checker_of(public_key)
    replayed = MemoryTables()
    previous, time = FIRST, ""
    for place, entry in enumerate(_entries(tables), 1):
        if entry.number != place:
            raise _wrong(place, "is missing")
        if entry.previous != previous:
            raise _wrong(place, "does not follow the entry before it: one of the two was changed")
        if entry.time < time:
            raise _wrong(place, "is earlier than the entry before it")
        if check_signature is not None and not check_signature(entry.hash, entry.signature):
            raise _wrong(place, "is not signed with this key")
        try:
            apply(entry, replayed)
        except (DphistError, KeyError, TypeError, ValueError) as error:
            why = str(error) if isinstance(error, DphistError) else "it has not the form of one"
            raise _wrong(place, f"cannot follow those before it: {why}") from None
        replayed.entries.append(entry)
        previous, time = entry.hash, entry.time
    head = tables.head
    if (head.entries, head.hash) != (len(replayed.entries), previous):
        raise _wrong(
            min(head.entries, len(replayed.entries)) or 1,
            "is not the last one that the ledger knows of: the last entry was changed or removed",
        )
    _compare(tables, replayed)
    return len(replayed.entries)


def _entries(tables: Transaction) -> list[Entry]:
    try:
        return list(tables.entries())
    except (ValueError, TypeError):
        raise LedgerError("an entry of the ledger cannot be read: it was edited") from None


def _compare(tables: Transaction, replayed: MemoryTables) -> None:
    """Compare the tables that are derived from the entries."""
    for account in tables.accounts():
        if replayed.accounts.pop(account.name, None) != account:
            raise LedgerError(f"the account {account.name!r} is not what its entry says")
    for (name, holder), cap in tables.caps().items():
        if replayed.caps.pop((name, holder), None) != cap:
            raise LedgerError(f"the cap of {holder!r} in {name!r} is not what its entry says")
    for (name, holder), totals in tables.all_totals().items():
        if replayed.sums.pop((name, holder), None) != totals:
            raise LedgerError(f"the sums of the account {name!r} are not those of its entries")
    for charge in tables.charges():
        if replayed.charges.pop(charge.key, None) != charge:
            raise _wrong(charge.entry, "does not agree with what is known of its key")
        if charge.release is not None and digest(charge.release) != charge.sha256:
            raise _wrong(charge.entry, "has a stored release that was changed")
        if charge.release is None and charge.sha256 is not None:
            raise _wrong(charge.entry, "has lost its stored release")
        if charge.state == entries.FINISHED and charge.sha256 is None and charge.release:
            raise _wrong(charge.entry, "has a stored release that no entry knows of")
    left = (replayed.accounts, replayed.caps, replayed.sums, replayed.charges)
    if any(left):
        raise LedgerError("an account, cap, sum or key that the entries made is missing")


def _wrong(number: int, why: str) -> LedgerError:
    return LedgerError(f"entry {number} {why}")
