"""Side-by-side measurements; each prints a table of docs/understand/benchmarks.md."""
