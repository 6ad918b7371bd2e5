"""The measuring halves of mechanisms: they see counts of bins, pay, and draw noise."""
