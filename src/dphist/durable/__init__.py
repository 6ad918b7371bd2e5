"""What durable files have in common: the state of a stream, and a ledger."""
