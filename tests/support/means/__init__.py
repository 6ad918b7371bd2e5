"""Means of whole numbers: a kind of release in a folder of its own."""
