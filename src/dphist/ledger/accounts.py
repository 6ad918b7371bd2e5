"""Opening and closing accounts of a ledger, and caps in them."""

from dphist.errors import Argument, ParameterError
from dphist.ledger import entries as actions
from dphist.ledger.book import Account, account_of
from dphist.ledger.budget import Budget
from dphist.ledger.charging import checked_words
from dphist.ledger.reading import LedgerReading
from dphist.ledger.stores.transaction import Transaction
from dphist.parameters import Exact
from dphist.privacy import PrivacyUnit
from dphist.privacy.unit import as_unit


class LedgerAccounts(LedgerReading):
    """The part of `Ledger` that says what may be spent."""

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
