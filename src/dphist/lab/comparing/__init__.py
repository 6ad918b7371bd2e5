"""Comparing mechanisms on data that may be looked at: error against time, side by side.

What a comparison says is computed from the data without privacy. It is for public data, or for data
of one's own where looking is allowed.
"""
