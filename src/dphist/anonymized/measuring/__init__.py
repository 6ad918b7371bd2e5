"""The measuring halves of mechanisms: they see a profile, divide epsilon, and draw noise."""
