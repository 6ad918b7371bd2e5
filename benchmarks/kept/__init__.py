"""Ratios of speed that README and docs claim, compared with those of a committed table."""
