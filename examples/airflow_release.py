"""An Airflow DAG that releases which items sell, once for each day, charged to a ledger.

    export LEDGER=$PWD/shop.ledger PURCHASES=$PWD/purchases.parquet RELEASES=$PWD/releases
    airflow dags reserialize
    airflow dags test shop_releases 2026-11-02

with this file in the folder of DAGs. The ledger exists already: `dphist ledger create`.

The key holds the logical date of the run, not the clock's: a retried, cleared or backfilled task
returns the stored release, and pays and draws nothing. One task counts and releases, so that
no exact count is stored between two tasks. What it returns is public.
"""

import os
from pathlib import Path

import pendulum
from airflow.exceptions import AirflowFailException
from airflow.sdk import dag, task

import dphist as dh
from dphist.ledger import Deferred

UNIT, MAX_LABELS = "one customer", 20


@dag(schedule="@daily", start_date=pendulum.datetime(2026, 11, 1, tz="UTC"), catchup=False)
def shop_releases():
    @task(retries=2)
    def release_items(logical_date=None):
        day = logical_date.date().isoformat()
        mechanism = dh.calibrate(
            dh.ThresholdHistogram,
            epsilon="0.5",
            delta="1e-7",
            max_labels=MAX_LABELS,
            noise="gaussian",
        )
        purchases = Deferred(counts, UNIT, MAX_LABELS, about=f"purchases until {day}")
        try:
            with dh.Ledger.open(os.environ["LEDGER"]) as ledger:
                release = ledger.release(mechanism, purchases, by="airflow", key=f"items-{day}")
        except dh.LedgerError as error:
            raise AirflowFailException(str(error)) from None  # a retry would be refused as well
        place = Path(os.environ["RELEASES"]) / f"items-{day}.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        release.save(place)
        return str(place)

    release_items()


def counts() -> dh.LabelCounts:
    """Count the purchases: called after they were paid for, and not for a stored release."""
    return dh.LabelCounts.from_table(
        os.environ["PURCHASES"], label="item", user="customer", max_labels=MAX_LABELS, unit=UNIT
    )


shop_releases()
