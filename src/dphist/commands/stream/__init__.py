"""The command `dphist stream`."""
