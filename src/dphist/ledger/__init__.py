"""Ledgers: budgets of privacy that hold across releases, people and years."""

from dphist.ledger.ledger import Deferred, Ledger

__all__ = ["Deferred", "Ledger"]
