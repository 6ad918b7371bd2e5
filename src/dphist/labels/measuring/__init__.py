"""The measuring halves of mechanisms: they see counts of labels, and draw noise."""
