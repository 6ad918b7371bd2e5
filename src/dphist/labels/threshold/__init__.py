"""Noisy counts above a threshold (Rogers 2023, Algorithm 1)."""
