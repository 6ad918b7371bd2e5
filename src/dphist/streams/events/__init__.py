"""Events: read from a table, and bounded per event and per user."""
