"""DAWA (Li, Hay, Miklau, Wang 2014). For comparison only.

A quarter of epsilon chooses a partition into buckets of nearly equal bins; the rest counts a tree
over the buckets, with weights that suit the queries. Records are spread evenly over a bucket.
"""

from dphist.ranges.comparing.published.dawa.mechanism import dawa

__all__ = ["dawa"]
