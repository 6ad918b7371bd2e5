"""Published mechanisms for ranges, implemented here for comparison only.

Their noise is in floating point from a generator of NumPy, and MWEM is told the number of records.
What they estimate is fit for a comparison of errors and for nothing else, least of all for a
release: none of them is registered, makes a `Release`, or can be saved. Neighbors differ by one
record, here as everywhere.
"""
