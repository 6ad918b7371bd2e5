"""Entries for the public registry of deployments, from releases or a ledger."""
