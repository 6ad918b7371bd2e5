"""Histograms over labels that nobody listed beforehand (Rogers 2023)."""
