"""What a ledger holds and what may be spent: reading it, accounts, and caps in them."""

from pathlib import Path
from typing import NoReturn, Self

from dphist.errors import Argument, LedgerError, ParameterError
from dphist.ledger import entries as actions
from dphist.ledger.balance import Amounts, Balance
from dphist.ledger.book import EVERYBODY, Account, Charge, account_of, charge_of
from dphist.ledger.budget import Budget
from dphist.ledger.charging import checked_words
from dphist.ledger.payments import Payments
from dphist.ledger.stores.store import Store
from dphist.ledger.stores.transaction import Signer, Transaction
from dphist.ledger.table import EntryTable
from dphist.ledger.verify import verify
from dphist.parameters import Exact
from dphist.privacy import PrivacyUnit
from dphist.privacy.unit import as_unit
from dphist.release.release import Release


class LedgerAccounts:
    """The part of `Ledger` that says what was spent and what may be, and makes no release."""

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

    def open_account(
        self,
        name: str,
        *,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        delta_of_entries: Exact | None = None,
        unit: PrivacyUnit | str,
        dataset: str = "",
    ) -> None:
        """Add an account, of another data set or another unit; parameters as for `create`.

        A budget is never renewed: new data with a unit of their own, such as one patient's records
        of November, get an account of their own.
        """
        budget = Budget(epsilon=epsilon, delta=delta, rho=rho, delta_of_entries=delta_of_entries)
        account = Account(
            checked_words(name, "name"),
            as_unit(unit),
            budget,
            checked_words(dataset, "dataset", empty=True),
        )
        self._payments.append(actions.ACCOUNT, account.to_content())

    def close_account(self, name: str, note: str = "") -> None:
        """Close an account for good: nothing more can be charged to it."""
        content = {
            "account": checked_words(name, "name"),
            "note": checked_words(note, "note", empty=True),
        }
        self._payments.append(actions.CLOSED, content)

    def allow(
        self,
        by: str,
        *,
        epsilon: Exact | None = None,
        rho: Exact | None = None,
        delta: Exact | None = None,
        account: str | None = None,
    ) -> None:
        """Set a cap for a person or team below the account's total, in place of an earlier one.

        Parameters
        ----------
        by : the name that their releases are charged by. Names are not checked: a ledger does not
            know who calls it.
        epsilon, rho, delta : the cap, in the terms of the account; delta is the account's unless
            given. Without any, the cap is removed.
        """
        holder = checked_words(by, "by")
        if delta is not None and epsilon is None and rho is None:
            raise ParameterError(
                "epsilon",
                "or " + Argument("rho") + " must be given with " + Argument("delta"),
                "omit all to lift a cap",
            )

        def set_cap(tables: Transaction) -> None:
            name = self._payments.one(tables, account)
            budget = account_of(tables, name).budget
            cap = None
            if epsilon is not None or rho is not None:
                if (budget.epsilon is None) != (epsilon is None):
                    term = "rho" if budget.epsilon is None else "epsilon"
                    raise ParameterError(
                        "epsilon" if epsilon is not None else "rho",
                        f"must be left out: a cap of the account {name!r} is given as "
                        + Argument(term),
                    )
                cap = Budget(
                    epsilon=epsilon, rho=rho, delta=budget.delta if delta is None else delta
                )
                _check_below(cap, budget, name)
            content = {
                "account": name,
                "by": holder,
                "cap": None if cap is None else cap.to_content(),
            }
            self._payments.add(tables, actions.ALLOWED, content)

        self._payments.write(set_cap)


def _check_below(cap: Budget, budget: Budget, name: str) -> None:
    """Refuse a cap that allows more than the account has in all."""
    for term in ("epsilon", "rho", "delta"):
        asked, most = getattr(cap, term), getattr(budget, term)
        if asked is not None and asked > most:
            raise ParameterError(term, f"must be at most that of the account {name!r}")
