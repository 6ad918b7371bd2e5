"""A session of pay what you get that a ledger paid for."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from dphist.data.guard import Guarded
from dphist.errors import LedgerError
from dphist.labels import PayWhatYouGet
from dphist.noise.inversion import Source
from dphist.release.release import Release


class LedgerSession:
    """Queries of one `PayWhatYouGet`, charged in full when the ledger opened it.

    Labels that are not returned by the end stay charged. Releases name ledger, account and entry.
    """

    def __init__(
        self,
        mechanism: PayWhatYouGet,
        ledger: str,
        check_paid: Callable[[Any], None],
        paid_by: Mapping[str, str],
    ) -> None:
        """Take a session that was paid for; use `Ledger.session`.

        Parameters
        ----------
        ledger : the id of the ledger, for the data it guards.
        check_paid : refuses tables that protect another unit than was paid for.
        paid_by : where the session was paid for, for the provenance of its releases.
        """
        self._mechanism = mechanism
        self._ledger = ledger
        self._check_paid = check_paid
        self._paid_by = paid_by
        self._process = os.getpid()

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
        """Answer a query, as `PayWhatYouGet.top` does; guarded data are taken.

        Raises
        ------
        LedgerError
            If the table protects another unit than was paid for, or in a forked process.
        """
        if os.getpid() != self._process:
            raise LedgerError(
                "a session answers in the process that opened it: a forked process would spend its "
                "budget twice; open a session there with another key, which costs again"
            )
        if isinstance(counts, Guarded):
            counts = counts.open_for(self._ledger)
        self._check_paid(counts)
        release = self._mechanism.top(counts, k, candidates, source)
        return replace(release, provenance={**release.provenance, **self._paid_by})

    def __reduce__(self) -> NoReturn:
        raise LedgerError("a session cannot be copied or pickled: it was paid for once")
