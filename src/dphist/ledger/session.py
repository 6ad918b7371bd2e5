"""A session of pay what you get that a ledger paid for."""

import os
from dataclasses import replace
from typing import Any, NoReturn

from dphist.data.guard import Guarded
from dphist.errors import LedgerError, ParameterError
from dphist.labels import PayWhatYouGet
from dphist.ledger.charging import prices
from dphist.ledger.deferred import Deferred
from dphist.ledger.entries import Entry
from dphist.ledger.payments import Order, Payments
from dphist.ledger.units import DataUnit
from dphist.noise.inversion import Source
from dphist.release.release import Release


class LedgerSession:
    """Queries of one `PayWhatYouGet`, charged in full when the ledger opened it.

    Labels that are not returned by the end stay charged. Releases name ledger, account and entry.
    """

    def __init__(self, mechanism: PayWhatYouGet, payments: Payments, entry: Entry) -> None:
        """Take a session that was paid for by an entry; use `Ledger.session`."""
        self._mechanism = mechanism
        self._payments = payments
        self._entry = entry
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
            counts = counts.open_for(self._payments.id)
        self._check_paid(counts)
        release = self._mechanism.top(counts, k, candidates, source)
        return replace(
            release,
            provenance={**release.provenance, **self._payments.describe_payment(self._entry)},
        )

    def __enter__(self) -> "LedgerSession":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is given back: the session was charged in full."""

    def _check_paid(self, counts: Any) -> None:
        """Refuse a table that protects another unit than was paid for."""
        paid = self._entry.content["costs"]
        with self._payments.reading() as tables:
            names = [part["account"] for part in paid]
            asked = prices(tables, names, self._mechanism, DataUnit.of(counts))
        if [price.to_content() for price in asked] != paid:
            raise LedgerError(
                "the table does not protect the unit, or has not the bound, that was paid for; "
                "open a session with data of this kind"
            )

    def __reduce__(self) -> NoReturn:
        raise LedgerError("a session cannot be copied or pickled: it was paid for once")


def open_session(
    payments: Payments,
    mechanism: PayWhatYouGet,
    data: Deferred,
    order: Order,
) -> LedgerSession:
    """Charge a whole session, and open it; see `Ledger.session`."""
    _check_unused(mechanism)
    payments.check_one_step(mechanism, data, order.account)
    _, entry = payments.charge(mechanism, data, order)
    assert entry is not None  # noqa: S101 - a session is never stored
    return LedgerSession(mechanism, payments, entry)


def _check_unused(mechanism: PayWhatYouGet) -> None:
    """Refuse what is no session, and one that has answered a query."""
    if not isinstance(mechanism, PayWhatYouGet):
        raise ParameterError("mechanism", "must be a dphist.PayWhatYouGet")
    if mechanism.remaining != mechanism.budget or mechanism.remaining_queries != mechanism.queries:
        raise ParameterError("mechanism", "must be a session that has answered no query yet")
