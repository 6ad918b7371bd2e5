"""Payments: what every entry of a ledger goes through, and each charge before its release."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from dphist.errors import Argument, LedgerError, ParameterError
from dphist.ledger import entries as actions
from dphist.ledger.book import Charge, MemoryTables, find_account
from dphist.ledger.charging import Quote, check_budget, check_one_step, check_words, prices
from dphist.ledger.deferred import Deferred
from dphist.ledger.entries import Entry, digest
from dphist.ledger.groups import to_text
from dphist.ledger.stores.store import Store, UnwrittenError
from dphist.ledger.stores.transaction import Prefetch, Signer, Transaction
from dphist.ledger.units import DataUnit
from dphist.mechanism import MechanismBase
from dphist.release.release import Release

LOG = logging.getLogger("dphist.ledger")
LOG.addHandler(logging.NullHandler())  # errors say the same: without logging, nothing is printed

Accounts = str | Sequence[str] | None

_ATTEMPTS = 5
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Order:
    """Who pays for a release, by which key, for what purpose, and from which accounts."""

    by: str
    key: str
    note: str
    account: Accounts


class Payments:
    """The entries of one ledger: reading them, and writing them durably, one after the other."""

    def __init__(self, store: Store, signer: Signer | None) -> None:
        self.store = store
        self._signer = signer
        self._quote: tuple[Any, Any, Quote | None] = None, None, None  # the last one
        # Accounts of earlier charges: never trusted, see `_quote_from_seen`.
        self._seen = MemoryTables()
        self._is_signed: bool | None = None  # not known before the first entry is needed
        with store.transaction(write=False) as tables:
            self.id = tables.head.id
            self.name = tables.head.name

    def charge(
        self,
        mechanism: Any,
        data: Deferred,
        order: Order,
        *,
        action: str = actions.CHARGED,
        again: bool = False,
    ) -> tuple[str | None, Entry | None]:
        """Charge or reserve; return the stored text of a finished release, or the new entry.

        Parameters
        ----------
        again : whether a key that was charged and is not finished may be used on: of a stream.
        """
        by, key, account = order.by, order.key, order.account
        check_words(by, "by")
        check_words(key, "key")
        check_words(order.note, "note", empty=True)

        unit = data.protected
        ready = self._quote_from_seen(mechanism, unit, account, data.about)

        def pay(tables: Transaction) -> tuple[str | None, Entry | None]:
            names = self.names(tables, account)
            accounts = [find_account(tables, name) for name in names]
            self._seen.accounts.update(zip(names, accounts, strict=True))
            quote = ready
            if quote is None or quote.accounts != accounts:
                quote = Quote.of(tables, names, mechanism, unit, data.about)
            known = tables.charge(key)
            if known is None or known.state == actions.CANCELED:
                check_budget(tables, quote.priced, by, mechanism, unit)
            else:
                quote = quote.as_charged(tables.entry(known.entry).content["costs"])
                _check_same(known, quote, action)
                text = _read_stored_text(tables, known)
                if text is not None:
                    return text, None
                if again and known.state == actions.CHARGED:
                    return None, tables.entry(known.entry)
                if known.state != actions.RESERVED:
                    raise _unfinished(known)
            content = {
                "key": key,
                "by": by,
                "note": order.note,
                "mechanism": quote.mechanism,
                "fingerprint": quote.fingerprint,
                "costs": quote.costs,
            }
            entry = self.add(tables, action, content)
            return None, entry

        stored, entry = self.write(pay, Prefetch(key, by, _check_names(account)))
        if entry is not None:
            LOG.info("%s: entry %d %s for %r by %r", self.name, entry.number, action, key, by)
        return stored, entry

    def check_one_step(self, mechanism: Any, data: Deferred, account: Accounts) -> None:
        """Refuse a stream or session for an account that protects several of its units."""
        with self.reading() as tables:
            names = self.names(tables, account)
            check_one_step(prices(tables, names, mechanism, data.protected), mechanism)

    def _quote_from_seen(
        self, mechanism: Any, unit: DataUnit, account: Accounts, about: str
    ) -> Quote | None:
        """Return a quote from the accounts as they were seen last, without the ledger's lock."""
        names = _check_names(account) or tuple(self._seen.accounts)
        if account is None and len(names) != 1:
            return None
        last, asked, quote = self._quote
        if (
            last is mechanism
            and asked == (unit, names, about)
            and isinstance(mechanism, MechanismBase)
        ):
            return quote  # `charge` compares its accounts with those of the ledger
        try:
            quote = Quote.of(self._seen, names, mechanism, unit, about)
        except Exception:  # it comes again, from the accounts as they are
            return None
        self._quote = mechanism, (unit, names, about), quote
        return quote

    def finish(self, release: Release, key: str, entry: Entry) -> Release:
        """Store a release, and return it with the entry that paid for it."""
        provenance = {**release.provenance, **self.describe_payment(entry)}
        release = replace(release, provenance=provenance)
        self._store(_format_release(release), key, entry)
        return release

    def finish_groups(
        self, releases: Mapping[str, Release], key: str, entry: Entry
    ) -> dict[str, Release]:
        """Store the releases of groups; return each with the entry that paid for all of them."""
        paid = {**self.describe_payment(entry), "groups": ", ".join(releases)}
        found = {
            name: replace(each, provenance={**each.provenance, **paid, "group": name})
            for name, each in releases.items()
        }
        texts = {name: _format_release(each) for name, each in found.items()}
        known = {name: text for name, text in texts.items() if text is not None}
        self._store(to_text(known) if len(known) == len(texts) else None, key, entry)
        return found

    def _store(self, text: str | None, key: str, entry: Entry) -> None:
        sha = None if text is None else digest(text)

        def store(tables: Transaction) -> None:
            self.add(tables, actions.FINISHED, {"key": key, "sha256": sha})
            if text is not None:
                tables.put_release(key, text)

        self.write(store, Prefetch(key))
        LOG.info("%s: entry %d is finished", self.name, entry.number)

    def describe_payment(self, entry: Entry) -> dict[str, str]:
        """Return where a release was paid for, for its provenance."""
        accounts = ", ".join(part["account"] for part in entry.content["costs"])
        return {
            "ledger": f"{self.name} ({self.id})",
            "account": accounts,
            "entry": str(entry.number),
        }

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        with self.store.transaction(write=False) as tables:
            self._check_same(tables)
            yield tables

    def add(self, tables: Transaction, action: str, content: dict[str, Any]) -> Entry:
        """Add an entry within a transaction, signed if the ledger is.

        Raises
        ------
        LedgerError
            If the ledger is signed and was opened without a key: a single entry without a signature
            would make all of it unverifiable.
        """
        if self._signer is None and self._has_signatures(tables):
            raise LedgerError(
                "the entries of this ledger are signed; open it with its "
                + Argument("signing_key")
                + ". Nothing was charged"
            )
        return tables.append(action, content, self._signer)

    def _has_signatures(self, tables: Transaction) -> bool:
        """Whether the first entry is signed: then all are."""
        if self._is_signed is None:
            self._is_signed = tables.entry(1).signature is not None
        return self._is_signed

    def append(self, action: str, content: dict[str, Any]) -> None:
        """Add one entry, durably."""
        self.write(lambda tables: self.add(tables, action, content))

    def write(
        self, change: Callable[[Transaction], _Result], prefetch: Prefetch | None = None
    ) -> _Result:
        """Make a change in one transaction; again, if nothing was written for a passing reason."""
        attempts = 1
        while True:
            try:
                with self.store.transaction(write=True, prefetch=prefetch) as tables:
                    self._check_same(tables)
                    return change(tables)
            except UnwrittenError as error:
                if attempts == _ATTEMPTS:
                    raise
                attempts += 1
                LOG.info("%s: tried again: %s", self.name, error)
            except LedgerError as error:
                LOG.warning("%s: refused: %s", self.name, error)
                raise

    def _check_same(self, tables: Transaction) -> None:
        """Refuse another ledger that has been put in the place of this one."""
        if tables.head.id != self.id:
            raise LedgerError(
                f"{self.store.name} holds another ledger than the one that was opened there; "
                "nothing was charged. Open it again"
            )

    def one(self, tables: Transaction, account: str | None) -> str:
        names = self.names(tables, account)
        if len(names) != 1:
            raise ParameterError("account", "must name one account")
        return names[0]

    def names(self, tables: Transaction, account: Accounts) -> list[str]:
        """Return the accounts that are meant; the only open one by default."""
        if account is None:
            known = [each.name for each in tables.accounts()]
            if len(known) != 1:
                raise ParameterError("account", "must be given: the ledger has several, or none")
            return known
        names = _check_names(account) or ()
        for name in names:
            find_account(tables, name)
        return list(names)


def signer_from(path: str | Path | None) -> Signer | None:
    """Return the signer of the private key in a file."""
    if path is None:
        return None
    from dphist.ledger.signing import load_signer  # needs the extra `sign`

    return load_signer(path)


def check_signer(tables: Transaction, signer: Signer | None) -> None:
    """Refuse a key that did not sign the first entry of a signed ledger.

    Signatures of Ed25519 are a function of key and text.
    """
    if signer is None:
        return
    first = tables.entry(1)
    if first.signature is not None and signer(first.hash) != first.signature:
        raise LedgerError(
            Argument("signing_key") + " must be the key that signed the first entry; "
            "with another one the ledger could not be verified any more"
        )


def _check_names(account: Accounts) -> tuple[str, ...] | None:
    """Return the accounts that a caller names; None for the only one."""
    if account is None:
        return None
    names = tuple(account) if isinstance(account, list | tuple) else (account,)
    for name in names:
        check_words(name, "account")
    if not names or len(set(names)) != len(names):
        raise ParameterError("account", "must name each account once")
    return names


def _format_release(release: Release) -> str | None:
    """Return a release as text; None if its mechanism, of somebody else, has none."""
    try:
        return release.to_json()
    except Exception:
        return None


def _check_same(known: Charge, quote: Quote, action: str) -> None:
    """Refuse a key that stands for another release, or that is to be reserved again."""
    if known.fingerprint != quote.fingerprint:
        raise LedgerError(
            f"the key {known.key!r} was used for another release, or for other data (entry "
            f"{known.entry}); choose another key"
        )
    if action == actions.RESERVED:
        raise LedgerError(f"the key {known.key!r} is {known.state}; choose another key")


def _read_stored_text(tables: Transaction, known: Charge) -> str | None:
    """Return the release that a key stands for, as it was stored; None if there is none."""
    text = tables.release_text(known.key) if known.state == actions.FINISHED else None
    if text is not None and digest(text) != known.sha256:
        raise LedgerError(
            f"the release that is stored under the key {known.key!r} was changed; run "
            "`dphist ledger verify`"
        )
    return text


class UnfinishedError(LedgerError):
    """A key that was charged, and whose release is not there: it never draws again."""

    code = 7


def _unfinished(charge: Charge) -> LedgerError:
    if charge.state == actions.FINISHED:
        return UnfinishedError(
            f"the key {charge.key!r} was released (entry {charge.entry}), but is not stored in the "
            "ledger; use the file it was written to, or choose another key, which costs again"
        )
    return UnfinishedError(
        f"the key {charge.key!r} was charged (entry {charge.entry}) and has not finished: it is "
        "running, or failed. What it drew may have been seen, so it is not drawn again; if it "
        "failed, choose another key, which costs again"
    )
