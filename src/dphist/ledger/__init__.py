"""Ledgers: budgets of privacy that hold across releases, people and years."""

from dphist.ledger.deferred import Deferred
from dphist.ledger.ledger import Ledger

__all__ = ["Deferred", "Ledger"]
