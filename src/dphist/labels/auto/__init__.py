"""Noisy counts above a threshold, with a cap on the labels of a user that is chosen privately."""
