"""Planted privacy bugs, and a runner that shows that the tests catch each of them.

A mutant is one small edit of the library that weakens a guarantee, stored as text to find and text
to put in its place. `python -m mutants` applies one at a time to a copy of the repository and runs
the tests that must fail.
"""
