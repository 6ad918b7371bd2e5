"""Histograms released with differential privacy."""

__all__: list[str] = []
