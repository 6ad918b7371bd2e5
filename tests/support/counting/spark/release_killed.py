"""A program that is killed while it releases counts that Spark holds; see `test_losses.py`."""

import sys
import time
from pathlib import Path
from typing import Any

import dphist as dh
from dphist.counting.bounding.stores import SparkStore


def main(ledger: str, mark: str) -> None:
    """Count, charge, and stop when the counts are asked for: write Java's process, and wait."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    rows = builder.getOrCreate().range(100).selectExpr("id % 10 AS who", "id % 7 AS term")
    counts = dh.LabelCounts.from_table(rows, label="term", user="who", max_labels=3)

    def waiting(store: SparkStore, keep: Any) -> Any:
        gateway: Any = SparkContext._gateway
        part = Path(f"{mark}.part")
        part.write_text(str(gateway.proc.pid))
        part.replace(mark)
        time.sleep(600)

    setattr(SparkStore, "filter_batches", waiting)  # noqa: B010 - not a method of its type
    mechanism = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=3)
    dh.Ledger.open(ledger).release(mechanism, counts, by="ana", key="k")


if __name__ == "__main__":
    main(*sys.argv[1:])
