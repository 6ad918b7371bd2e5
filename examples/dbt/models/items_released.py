"""Which items sell: a released table, charged to a ledger under a key with the date of the run.

Rebuilt with the same `run_date`, the model is the stored release: nothing is paid or drawn again.
"""

import dphist as dh
from dphist.ledger import Deferred

UNIT, MAX_LABELS = "one customer", 20


def model(dbt, session):
    chosen = dbt.config.get("meta")
    mechanism = dh.calibrate(
        dh.ThresholdHistogram,
        epsilon="0.5",
        delta="1e-7",
        max_labels=MAX_LABELS,
        noise="gaussian",
    )
    rows = dbt.ref("purchases")  # a relation: no row is read here
    purchases = Deferred(
        lambda: dh.LabelCounts.from_table(
            rows, label="item", user="customer", max_labels=MAX_LABELS, unit=UNIT
        ),
        UNIT,
        MAX_LABELS,
        about=f"purchases for {chosen['key']}",
    )
    with dh.Ledger.open(chosen["ledger"]) as ledger:
        release = ledger.release(mechanism, purchases, by="dbt", key=chosen["key"])
    return release.value.to_arrow()
