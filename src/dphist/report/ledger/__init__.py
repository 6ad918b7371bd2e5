"""A ledger as text and as a page: what was spent on what, by whom, and what is left."""
