"""Side-by-side measurements; each prints a table of docs/understand/lab-notes."""
