"""Neighbors: pairs of data that differ in one protected unit, chosen where mechanisms go wrong."""

from dphist.lab.auditing.neighbors.making import pairs_for, variants_for
from dphist.lab.auditing.neighbors.pair import Pair, given_pairs

__all__ = ["Pair", "given_pairs", "pairs_for", "variants_for"]
