"""Anonymized histograms: how many labels have each count."""

from dphist.anonymized.adaptive_scan.mechanism import AdaptiveScan, anonymize
from dphist.anonymized.cumulative_counts import CumulativeCounts
from dphist.anonymized.partition_sampler.mechanism import PartitionSampler
from dphist.anonymized.priv_hist.mechanism import PrivHist
from dphist.anonymized.rank_split import RankSplit
from dphist.anonymized.sorted_counts import SortedCounts

__all__ = [
    "AdaptiveScan",
    "CumulativeCounts",
    "PartitionSampler",
    "PrivHist",
    "RankSplit",
    "SortedCounts",
    "anonymize",
]
