"""Side-by-side measurements; each module prints the table that docs/benchmarks.md shows."""
