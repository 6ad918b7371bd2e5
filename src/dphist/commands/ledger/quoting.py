"""What a dry run says of a ledger: the cost to each account, whether it fits, what would be left.

The modules of the ledger are imported only for a command that names one.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dphist.commands.ledger.options import place_to_pay
from dphist.commands.publishing import Protected


@dataclass(frozen=True, slots=True)
class Quote:
    """Lines of a dry run about a ledger, and the same for JSON; empty without a ledger."""

    said: Sequence[str] = ()
    shown: dict[str, Any] = field(default_factory=dict)


def quote(mechanism: Any, options: argparse.Namespace, protected: Protected) -> Quote:
    """Return what a release would cost the ledger that the options name; nothing is charged."""
    place = place_to_pay(options)
    if place is None:
        return Quote()
    priced = getattr(options, "priced", None)
    if priced is not None:  # several releases are added up before the first is made
        priced.append((place, mechanism, protected))
        return Quote()
    from dphist.commands.ledger.opening import opened_at
    from dphist.commands.ledger.price import price_of

    with opened_at(place, options) as ledger:
        found = price_of(ledger, mechanism, options, protected)
    return Quote(found.said(ledger.name), {"ledger": found.shown(ledger)})
