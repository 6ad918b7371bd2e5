"""Any dataframe or file in: (count, prevalence) pairs out, or labels with their counts.

Pairs are grouped where the rows lie, in the dataframe's own engine or, for a file, in DuckDB. Where
users are bounded or labels are kept (`contributions`), it is a DuckDB of ours, or Spark.
"""

from dphist.tables.checks import LARGEST, IntArray, check_counts, check_total
from dphist.tables.counting.aggregate import count_records, read_profile, sum_counts
from dphist.tables.counting.degrees import count_degrees
from dphist.tables.engine.guard import shielded

__all__ = [
    "LARGEST",
    "IntArray",
    "check_counts",
    "check_total",
    "count_degrees",
    "count_records",
    "read_profile",
    "shielded",
    "sum_counts",
]
