"""The command `dphist ledger`, and what commands that release share to pay from a ledger."""
