"""The only entry for a caller's dataframe or file: opens it, checks its columns, reads it once."""
