"""Reading a ledger: what was spent, what is left, what is stored, and whether it is right."""

from pathlib import Path
from typing import NoReturn, Self

from dphist.errors import LedgerError
from dphist.ledger.balance import Amounts, Balance
from dphist.ledger.book import EVERYBODY, Account, Charge, account_of, charge_of
from dphist.ledger.budget import Budget
from dphist.ledger.charging import checked_words
from dphist.ledger.payments import Payments
from dphist.ledger.stores.store import Store
from dphist.ledger.stores.transaction import Signer
from dphist.ledger.table import EntryTable
from dphist.ledger.verify import verify
from dphist.release.release import Release


class LedgerReading:
    """The part of `Ledger` that changes nothing."""

    def __init__(self, store: Store, signer: Signer | None = None) -> None:
        """Take a store; use `create` or `open`."""
        self._payments = Payments(store, signer)

    @property
    def id(self) -> str:
        """Random digits that no other ledger has."""
        return self._payments.id

    @property
    def name(self) -> str:
        """What the maker of the ledger called it."""
        return self._payments.name

    @property
    def place(self) -> str:
        """Where the ledger is kept; without a password."""
        return self._payments.store.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.place!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up connections. Accounts stay open: see `close_account`. May be called again."""
        self._payments.store.close()

    @property
    def accounts(self) -> list[Account]:
        """All accounts, by name."""
        with self._payments.reading() as tables:
            return tables.accounts()

    @property
    def spent(self) -> Amounts:
        """What was spent of the only account; see `balance` for several."""
        return self.balance().spent

    @property
    def remaining(self) -> Amounts:
        """What is left of the only account; see `balance` for several."""
        return self.balance().remaining

    def balance(self, account: str | None = None, by: str | None = None) -> Balance:
        """Return what an account, or the cap of a person in it, has left and has spent."""
        if by is not None:
            checked_words(by, "by")
        with self._payments.reading() as tables:
            name = self._payments.one(tables, account)
            budget: Budget | None = account_of(tables, name).budget
            if by is not None:
                budget = tables.cap(name, by)
                if budget is None:
                    raise LedgerError(f"{by!r} has no cap in the account {name!r}; see `allow`")
            assert budget is not None  # noqa: S101
            return Balance(name, budget, tables.totals(name, by or EVERYBODY))

    def find(self, key: str) -> Charge:
        """Return what is known of a key; LedgerError if nothing is."""
        checked_words(key, "key")
        with self._payments.reading() as tables:
            return charge_of(tables, key)

    def stored(self, key: str) -> Release:
        """Return the release that was stored under a key."""
        checked_words(key, "key")
        with self._payments.reading() as tables:
            charge = charge_of(tables, key)
            text = tables.release_text(key)
        if text is None:
            raise LedgerError(f"the key {key!r} is {charge.state}, and no release is stored")
        return Release.from_json(text, name=f"the release of the key {key!r}")

    def entries(self) -> EntryTable:
        """Return all entries, as a table."""
        with self._payments.reading() as tables:
            return EntryTable(list(tables.entries()))

    def verify(self, public_key: str | Path | None = None) -> int:
        """Recompute chain, sums and stored releases; return the number of entries.

        Parameters
        ----------
        public_key : file of the public key (PEM) that all entries must be signed for.

        Raises
        ------
        LedgerError
            If something is wrong: it names the first wrong entry.
        """
        self._payments.store.check()
        with self._payments.reading() as tables:
            return verify(tables, public_key)

    def __reduce__(self) -> NoReturn:
        raise LedgerError("a ledger cannot be pickled; open it again where it is needed")
