"""Histograms by group compared: ranks of quantiles, and numbers below a place."""
