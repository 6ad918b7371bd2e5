"""A Dagster asset of which items sell, released once for each day, charged to a ledger.

    export LEDGER=shop.ledger PURCHASES=purchases.parquet RELEASES=releases
    dagster asset materialize -f dagster_release.py --select items_released --partition 2026-11-02

The ledger exists already: `dphist ledger create`.

The key holds the partition, not the clock's date: a retried or rematerialized partition
is the stored release, and pays and draws nothing. One asset counts and releases, so that no exact
count is stored by an IO manager between two assets.
"""

import os
from pathlib import Path

import dagster as dg

import dphist as dh
from dphist.ledger import Deferred

UNIT, MAX_LABELS = "one customer", 20


@dg.asset(
    partitions_def=dg.DailyPartitionsDefinition(start_date="2026-11-01"),
    retry_policy=dg.RetryPolicy(max_retries=2),
)
def items_released(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
    """Items with noisy counts, (0.5, 1e-7)-differentially private for one customer."""
    day = context.partition_key
    mechanism = dh.calibrate(
        dh.ThresholdHistogram, epsilon="0.5", delta="1e-7", max_labels=MAX_LABELS, noise="gaussian"
    )
    purchases = Deferred(counts, UNIT, MAX_LABELS, about=f"purchases until {day}")
    try:
        with dh.Ledger.open(os.environ["LEDGER"]) as ledger:
            release = ledger.release(mechanism, purchases, by="dagster", key=f"items-{day}")
    except dh.LedgerError as error:
        # A retry would be refused as well.
        raise dg.Failure(str(error), allow_retries=False) from None
    place = Path(os.environ["RELEASES"]) / f"items-{day}.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    release.save(place)
    entry = release.provenance["entry"]
    return dg.MaterializeResult(metadata={"release": str(place), "entry": str(entry)})


def counts() -> dh.LabelCounts:
    """Count the purchases: called after they were paid for, and not for a stored release."""
    return dh.LabelCounts.from_table(
        os.environ["PURCHASES"], label="item", user="customer", max_labels=MAX_LABELS, unit=UNIT
    )


defs = dg.Definitions(assets=[items_released])
