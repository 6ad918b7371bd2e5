"""A complete tree of noisy counts, made consistent (Hay et al. 2010)."""
