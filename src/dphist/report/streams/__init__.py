"""Reports of running counts."""
