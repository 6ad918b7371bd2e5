"""Enumerating all that a mechanism can do on small data: its laws as fractions.

A callable that takes its randomness from a `source` is a tree: each piece of randomness it asks for
has finitely many results, or infinitely many of which all but a few are unlikely. `enumerate_law`
goes through that tree, the likeliest paths first, and bounds the probability of what it has not
reached. From the laws on two neighbors, `delta_between` bounds delta at any epsilon, from both
sides.
"""
