"""Anonymized histograms: how many labels have each count."""

from dphist.anonymized.best import anonymize, best_mechanism
from dphist.anonymized.rank_split import RankSplit
from dphist.anonymized.sorted_counts import SortedCounts

__all__ = ["RankSplit", "SortedCounts", "anonymize", "best_mechanism"]
