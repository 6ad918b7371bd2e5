"""Budgets that are renewed: which month an entry counts in, and what the months add up to.

A renewed budget is a promise for each calendar month, in UTC. What months promise adds up: see
docs/understand/proofs/ledger.md, Lemma 11.
"""

from dataclasses import replace
from typing import Any

from dphist.errors import ParameterError
from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, PureDP

NEVER = ""
"""Renewal of a budget that is one for all time."""
MONTHLY = "monthly"
"""Renewal of a budget in each calendar month."""
ALL_TIME = ""
"""Period of the sums over all entries."""


def read_renewal(renew: object) -> str:
    """Return how a budget is renewed; None means never."""
    if renew is None:
        return NEVER
    if renew != MONTHLY:
        raise ParameterError("renew", f"must be {MONTHLY!r}, or left out", "omit it to renew never")
    return MONTHLY


def find_month(time: str) -> str:
    """Return the calendar month of an entry's time.

    >>> find_month("2026-11-03T09:12:55.120+00:00")
    '2026-11'
    """
    return time[:7]


def find_end(month: str) -> str:
    """Return the day on which the next month begins, in UTC.

    >>> find_end("2026-11"), find_end("2026-12")
    ('2026-12-01', '2027-01-01')
    """
    year, number = (int(part) for part in month.split("-"))
    later = year * 12 + number
    return f"{later // 12:04}-{later % 12 + 1:02}-01"


def over_months(
    guarantee: PureDP | ApproxDP | ZCDP | ApproxZCDP, months: int
) -> PureDP | ApproxDP | ZCDP | ApproxZCDP | None:
    """Return what a budget guarantees over that many months; None if its delta reaches 1.

    >>> print(over_months(ApproxDP(1, "1e-6"), 12))
    (12, 1.2e-5)-differential privacy
    """
    most: dict[str, Any] = {"unit": guarantee.unit}
    if isinstance(guarantee, PureDP):
        return PureDP(months * guarantee.epsilon, guarantee.unit)
    if isinstance(guarantee, ZCDP):
        return ZCDP(months * guarantee.rho, guarantee.unit)
    most["delta"] = months * guarantee.delta
    if not most["delta"] < 1:
        return None
    name = "epsilon" if isinstance(guarantee, ApproxDP) else "rho"
    return replace(guarantee, **{**most, name: months * getattr(guarantee, name)})
