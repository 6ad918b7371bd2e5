"""What a transaction is going to ask for, so that a server can answer all of it at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dphist.ledger.book import EVERYBODY

CHARGE = "SELECT name, entry, state, fingerprint, sha256, noted FROM dphist_charges"
ACCOUNTS = "SELECT name, content, closed FROM dphist_accounts"
CAPS = "SELECT account, holder, content FROM dphist_caps"
TOTALS = "SELECT account, holder, entries, mixed, epsilon, rho, delta FROM dphist_totals"


@dataclass(frozen=True, slots=True)
class About:
    """A charge, or what follows one.

    Attributes
    ----------
    key : of the release.
    by : the person who pays; None where nothing is charged any more.
    accounts : that are charged; None for the only one.
    """

    key: str
    by: str | None = None
    accounts: tuple[str, ...] | None = None

    def questions(self) -> list[tuple[str, Sequence[Any]]]:
        """Return statements; `Transaction.learn` takes their answers in this order."""
        asked: list[tuple[str, Sequence[Any]]] = [(f"{CHARGE} WHERE name = ?", (self.key,))]
        if self.by is None:
            return asked
        if self.accounts is None:
            # Two show that there is no only one.
            names = "(SELECT name FROM dphist_accounts ORDER BY name LIMIT 2)"
        else:
            names = f"({', '.join('?' * len(self.accounts))})"
        values = self.accounts or ()
        holders = (EVERYBODY, self.by)
        return [
            *asked,
            (f"{ACCOUNTS} WHERE name IN {names}", values),
            (f"{CAPS} WHERE account IN {names} AND holder = ?", (*values, self.by)),
            (f"{TOTALS} WHERE account IN {names} AND holder IN (?, ?)", (*values, *holders)),
        ]
