"""The page, text and table of a plan."""
