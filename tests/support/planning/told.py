"""Plans by what they show: each kind, few and many settings, bounds, warnings, criteria."""

from collections.abc import Callable
from typing import Any

import dphist as dh

LISTED: dict[str, Any] = {"labels": 150, "correlated": True, "sums_of": 3, "users": 4000}
MADE: dict[str, Callable[[], dh.Plan]] = {
    "labels": lambda: dh.plan("labels", max_labels=[1, 10], epsilon=["0.5", 1], users=20_000),
    "labels of customers": lambda: dh.plan(
        "labels",
        **LISTED,
        max_labels=[5, 50],
        delta=["1e-4", "1e-6"],
        unit="one <b>customer</b> 诊断",
        criteria=["count error < 30", "data: " + "w" * 250],
    ),
    "listed labels": lambda: dh.plan("labels", epsilon=1, delta=0, labels=4),
    "ranges": lambda: dh.plan(
        "ranges", bins=64, total=9000, workload="prefix", sensitivity=[1, 5], epsilon=[1, 2]
    ),
    "a map": lambda: dh.plan("ranges", bins=(16, 8), total=10**6, epsilon=["0.5", 1]),
    "anonymized": lambda: dh.plan(
        "anonymized", total=5000, epsilon=["0.1", 1], unit="one patient", criteria=["epsilon <= 1"]
    ),
    "a stream": lambda: dh.plan("streams", horizon=10**6, max_events=[1, 5], max_labels=[1, 2]),
    "tables": lambda: dh.plan(
        "tables",
        keys={"region": 26, "sex": ["f", "m"]},
        tables=["region", "sex+region"],
        errors={"region": 2},
        max_rows=[1, 3],
        epsilon=["0.5", 1],
        total=10**6,
        unit="one patient",
        criteria=["cell error < 0.1 %"],
    ),
    "one setting": lambda: dh.plan("streams", horizon=900, epsilon=[1], delta="1e-6"),
    "many settings": lambda: dh.plan(
        "labels",
        epsilon=["0.1", "0.3", 1, 3],
        max_labels=[1, 2, 5, 10, 20, 50],
        max_count=[1, 10, 100],
        delta=["1e-5", "1e-6", "1e-7"],
        users=90_000,
        criteria=["at least 50 labels", "count error < 10 %"],
    ),
}
