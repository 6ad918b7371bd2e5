"""Any dataframe or file in: (count, prevalence) pairs out, labels with their counts, or bins.

`reading` is the gate, through which a caller's rows come in, once; `counting` and `binning` work
on what it hands on, in an engine (`engine`) in which nothing of the caller's changes what SQL
means: a DuckDB of ours, or Spark.
"""

from dphist.tables.checks import LARGEST, check_counts, check_total
from dphist.tables.counting.profiles import count_degrees, count_records, read_profile, sum_counts
from dphist.tables.engine.redaction import redact_errors

__all__ = [
    "LARGEST",
    "check_counts",
    "check_total",
    "count_degrees",
    "count_records",
    "read_profile",
    "redact_errors",
    "sum_counts",
]
