"""From typed columns to counts of bins between fixed edges."""
