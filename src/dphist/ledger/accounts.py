"""Opening accounts in a ledger, closing them, and caps for people in them."""

from dphist.errors import Argument, ParameterError
from dphist.ledger import entries as actions
from dphist.ledger.book import Account, find_account
from dphist.ledger.budget import Budget
from dphist.ledger.charging import check_words
from dphist.ledger.payments import Payments
from dphist.ledger.periods import read_renewal
from dphist.ledger.stores.transaction import Signer, Transaction
from dphist.parameters import Exact
from dphist.privacy import PrivacyUnit
from dphist.privacy.unit import as_unit


def make_account(
    name: str,
    budget: Budget,
    unit: PrivacyUnit | str,
    dataset: str,
    renew: str | None,
    parameter: str,
) -> Account:
    """Return a new account.

    Parameters
    ----------
    parameter : that names the account, for errors.
    """
    check_words(name, parameter)
    words = check_words(dataset, "dataset", empty=True)
    return Account(name, as_unit(unit), budget, words, renew=read_renewal(renew))


def begin(tables: Transaction, account: Account, signer: Signer | None) -> None:
    """Write the first entries of a ledger: which one it is, and its account."""
    head = tables.head
    begun = {"id": head.id, "name": head.name, "library": head.library}
    tables.append(actions.OPENED, begun, signer)
    tables.append(actions.ACCOUNT, account.to_content(), signer)


def close(payments: Payments, name: str, note: str) -> None:
    """Add the entry that closes an account."""
    content = {
        "account": check_words(name, "name"),
        "note": check_words(note, "note", empty=True),
    }
    payments.append(actions.CLOSED, content)


def set_cap(
    payments: Payments,
    by: str,
    epsilon: Exact | None,
    rho: Exact | None,
    delta: Exact | None,
    account: str | None,
) -> None:
    """Add the entry that sets a cap in an account, or lifts it; see `Ledger.allow`."""
    holder = check_words(by, "by")
    if delta is not None and epsilon is None and rho is None:
        raise ParameterError(
            "epsilon",
            "or " + Argument("rho") + " must be given with " + Argument("delta"),
            "omit all to lift a cap",
        )

    def change(tables: Transaction) -> None:
        name = payments.one(tables, account)
        cap = find_account(tables, name).cap(epsilon, rho, delta)
        content = None if cap is None else cap.to_content()
        payments.add(tables, actions.ALLOWED, {"account": name, "by": holder, "cap": content})

    payments.write(change)
