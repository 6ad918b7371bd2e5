"""Documents: what is said of a release, a plan, a ledger, an audit or a comparison, in blocks."""
