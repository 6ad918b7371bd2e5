"""Accounts and amounts as the actions of `dphist ledger` print them."""

from dphist.ledger.book import Account


def account_in_words(account: Account) -> str:
    """Return an account in one line.

    >>> from dphist.ledger.budget import Budget
    >>> from dphist.privacy import PrivacyUnit
    >>> account_in_words(Account("main", PrivacyUnit("patient"), Budget(epsilon=2)))
    "Account 'main': epsilon=2, for one patient"
    """
    about = f"; data: {account.dataset}" if account.dataset else ""
    return f"Account {account.name!r}: {account.budget}, for {account.unit}{about}"
