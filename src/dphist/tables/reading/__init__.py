"""The gate: a caller's dataframe or file opened, its columns typed and checked, once."""
