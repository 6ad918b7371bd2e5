"""Releases with fixed noise, one of each mechanism and of each way to name what is protected."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd

import dphist as dh
from tests.support.report.told import CLINIC, shown

COUNTS = dh.Profile.from_counts([3, 3, *range(1, 31), 90])
VISITS = pd.DataFrame(
    {"patient": [n % 60 for n in range(200)], "drug": [f"d{n * n % 23}" for n in range(200)]}
)
EDGES = pd.DataFrame({"a": [1, 1, 2, 3], "b": [2, 3, 3, 4]})
WORDS: dict[str, Any] = {
    "title": "Drugs by number of visits",
    "label_name": "drug",
    "record_name": "visit",
    **CLINIC,
}


def release(mechanism: Any, data: dh.Profile = COUNTS, seed: int = 1, **words: Any) -> dh.Release:
    """Release with fixed noise and a fixed day, as if the noise were secret."""
    return shown(mechanism.release(data, random.Random(seed).randbytes), **words)


def visits(unit: str | None = None, **columns: Any) -> dh.Profile:
    """Bound the visits of each patient to 2; no patient has more, so that nothing is random."""
    frame = VISITS[VISITS.index < 120]
    of: dict[str, Any] = {"user": "patient", "max_records": 2, "unit": unit, **columns}
    return dh.Profile.from_table(frame, label="drug", **of)


SCAN = dh.AdaptiveScan(epsilon=1)
SCAN_OF_TWO = dh.AdaptiveScan(epsilon=1, sensitivity=2)
MADE: dict[str, Callable[[], dh.Release]] = {
    "scan": lambda: release(SCAN),
    "scan of users": lambda: release(SCAN_OF_TWO, visits()),
    "scan of patients, in words": lambda: release(SCAN_OF_TWO, visits("one patient"), **WORDS),
    "scan of users, called people": lambda: release(
        SCAN_OF_TWO, visits(), unit="person/people", label_name="taxon/taxa"
    ),
    "scan of contributions": lambda: release(dh.AdaptiveScan(epsilon="0.3", sensitivity=20)),
    "scan of visits": lambda: release(SCAN, record_name="visit"),
    "scan of edges": lambda: release(
        SCAN_OF_TWO,
        dh.Profile.from_edges(EDGES, source="a", target="b"),
        seed=3,
    ),
    "scan of nothing": lambda: release(
        dh.AdaptiveScan(epsilon="0.05"), dh.Profile.from_counts([1] * 20), seed=12
    ),
    "scan for tests": lambda: replace(release(SCAN), for_tests=True),
    "sorted counts": lambda: release(dh.SortedCounts(epsilon="0.5", labels=40, sensitivity=3)),
    "sorted counts of one count": lambda: release(
        dh.SortedCounts(epsilon=40, labels=2), dh.Profile.from_counts([7, 7])
    ),
    "privhist": lambda: release(dh.PrivHist(epsilon="0.5")),
    "privhist with blocks": lambda: release(dh.PrivHist(epsilon="0.5", shares=(1, 1, "1/3"))),
    "rank split": lambda: release(dh.RankSplit(epsilon="1/3")),
    "rank split with a total": lambda: release(dh.RankSplit(epsilon=1, total=600)),
    "cumulative counts": lambda: release(dh.CumulativeCounts(epsilon=1, largest=99)),
    "partition sampler": lambda: release(dh.PartitionSampler(epsilon=1, delta="1e-6")),
    "four releases": lambda: release(
        dh.calibrate(dh.RankSplit, epsilon=2, delta=0, releases=4), **WORDS
    ),
}
"""Releases by what they show."""
