"""Conversion of any dataframe or file to (count, prevalence) pairs, counts of labels, or bins.

`reading` is the only entry for a caller's rows, which are read once. `bounding` and `binning`
process them in an engine (`engine`) in which a caller cannot change the meaning of SQL: a private
DuckDB, or Spark.
"""

from dphist.counting.bounding.profiles import (
    count_degrees,
    count_records,
    count_user_sizes,
    read_profile,
    sum_counts,
)
from dphist.counting.checks import LARGEST, check_counts, check_total
from dphist.counting.engine.redaction import redact_errors

__all__ = [
    "LARGEST",
    "check_counts",
    "check_total",
    "count_degrees",
    "count_records",
    "count_user_sizes",
    "read_profile",
    "redact_errors",
    "sum_counts",
]
