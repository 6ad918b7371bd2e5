"""A session of pay what you get that a ledger paid for."""

from typing import Any, NoReturn, Protocol

from dphist.data.guard import Guarded
from dphist.errors import LedgerError
from dphist.labels import PayWhatYouGet
from dphist.noise.inversion import Source
from dphist.release.release import Release


class Paying(Protocol):
    """A ledger, as far as a session uses it."""

    @property
    def id(self) -> str: ...

    def named(self, release: Release, key: str) -> Release: ...


class LedgerSession:
    """Queries of one `PayWhatYouGet`, charged in full when the ledger opened it.

    Labels that are not returned by the end stay charged. Releases name ledger, account and entry.
    """

    def __init__(self, mechanism: PayWhatYouGet, ledger: Paying, key: str) -> None:
        """Take a session that a ledger charged to a key; use `Ledger.session`."""
        self._mechanism = mechanism
        self._ledger = ledger
        self._key = key

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
            counts = counts.open_for(self._ledger.id)
        release = self._mechanism.top(counts, k, candidates, source)
        return self._ledger.named(release, self._key)

    def __reduce__(self) -> NoReturn:
        raise LedgerError("a session cannot be copied or pickled: it was paid for once")
