"""The largest release of the kind of one that was paid for, and that still fits."""

import math

from dphist.errors import DphistError
from dphist.ledger.charging import Largest, cost_in, largest_fitting
from dphist.ledger.entries import FINISHED
from dphist.ledger.history import AccountHistory, Payment
from dphist.ledger.ledger import Ledger
from dphist.ledger.units import DataUnit
from dphist.release.release import Release


def find_largest_like(ledger: Ledger, history: AccountHistory, payment: Payment) -> Largest | None:
    """Return the largest budget of one more release of the kind that a payment was for.

    The mechanism, and what it was calibrated to, is that of the stored release.

    Returns
    -------
    None if none fits, or if no release is stored, as of streams, sessions and groups.
    """
    if payment.state != FINISHED:
        return None
    account = history.account
    try:
        release = ledger.stored(payment.key)
        for data in _list_units(release):
            _, cost = cost_in(account, release.mechanism, data)
            if cost == payment.cost:
                budget, totals = account.budget, history.totals
                return largest_fitting(account, budget, totals, release.mechanism, data)
    except DphistError:  # it is not stored, is of groups, or is of a mechanism that is not here
        pass
    return None


def _list_units(release: Release) -> list[DataUnit]:
    """Return whom the data may have protected: the right one costs what was charged."""
    unit = release.guarantee.unit
    bounds = [number for _, number in unit.bounds if isinstance(number, int)]
    return [DataUnit(unit, math.prod(bounds) if bounds else None), DataUnit()]
