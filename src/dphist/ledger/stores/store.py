"""What a ledger asks of the place where it is kept."""

from contextlib import AbstractContextManager
from typing import Protocol

from dphist.errors import LedgerError
from dphist.ledger.stores.transaction import Prefetch, Transaction


class UnwrittenError(LedgerError):
    """A transaction was cut short, and nothing of it was written: it may be run again."""


class Store(Protocol):
    """A place for the tables of one ledger.

    **Guarantee.** When the context of a writing transaction ends without an error, everything it
    wrote is durable; otherwise nothing of it is ever seen. Writing transactions run one after the
    other, whoever makes them: threads, processes, machines. An `UnwrittenError` says that the same
    transaction may be run again; after any other error it need not be known whether it was written.
    """

    @property
    def name(self) -> str:
        """The name of the place, for messages; without a password."""

    def transaction(
        self, *, write: bool, prefetch: Prefetch | None = None
    ) -> AbstractContextManager[Transaction]:
        """Begin a transaction; it is committed at the end of the context, or rolled back.

        Parameters
        ----------
        prefetch : what it will ask for, if that is known: a store may answer it at once.
        """

    def check(self) -> None:
        """Check the structure of the tables, for verifying; LedgerError if it is not ours."""

    def close(self) -> None:
        """Give up what is held open. May be called again."""
