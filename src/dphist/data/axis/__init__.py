"""Bins of one axis: edges of numbers or times."""
