"""A session of pay what you get that a ledger paid for."""

from typing import Any, NoReturn

from dphist.data.guard import Guarded
from dphist.errors import LedgerError
from dphist.labels import PayWhatYouGet
from dphist.noise.inversion import Source
from dphist.release.release import Release


class LedgerSession:
    """Queries of one `PayWhatYouGet`, charged in full when the ledger opened it.

    Labels that are not returned by the end stay charged.
    """

    def __init__(self, mechanism: PayWhatYouGet, ledger: str) -> None:
        """Take a session that was paid for; use `Ledger.session`.

        Parameters
        ----------
        ledger : the id of the ledger, for the data it guards.
        """
        self._mechanism = mechanism
        self._ledger = ledger

    @property
    def remaining(self) -> int:
        """How many labels may still be returned."""
        return self._mechanism.remaining

    @property
    def remaining_queries(self) -> int:
        """How many queries may still be asked."""
        return self._mechanism.remaining_queries

    def top(
        self, counts: Any, k: int = 10, candidates: int = 100, source: Source | None = None
    ) -> Release:
        """Answer a query, as `PayWhatYouGet.top` does; guarded data are taken."""
        if isinstance(counts, Guarded):
            counts = counts.open_for(self._ledger)
        return self._mechanism.top(counts, k, candidates, source)

    def __reduce__(self) -> NoReturn:
        raise LedgerError("a session cannot be copied or pickled: it was paid for once")
