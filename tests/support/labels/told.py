"""Releases of labels with fixed noise: each mechanism, each way to name what is protected."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import dphist as dh
from tests.support.report.told import ODD, shown

VISITS = pd.DataFrame(
    {"patient": [n % 120 for n in range(240)], "drug": [f"drug {n * n % 7}" for n in range(240)]}
)
WORDS: dict[str, Any] = {
    "title": "Common drugs",
    "label_name": "drug",
    "record_name": "prescription",
    "dataset": "Prescriptions of 2025",
    "period": "2025",
    "owner": "The clinic",
    "note": "For the board",
}


def release(mechanism: Any, data: Any, seed: int = 1, **words: Any) -> dh.Release:
    """Release with fixed noise and a fixed day, as if the noise were secret."""
    return shown(mechanism.release(data, random.Random(seed).randbytes), **words)


def counted(labels: Sequence[Any], most: int = 2, largest: int = 10**6, **more: Any) -> Any:
    """Return counts of labels that the caller counted."""
    counts = [max(largest // (i + 1), 1) for i in range(len(labels))]
    bounds = {"max_labels": most, "max_count": 1, **more}
    return dh.LabelCounts.from_counts(pa.array(labels), counts, **bounds)


def visits(unit: str | None = None, **more: Any) -> dh.LabelCounts:
    """Bound the drugs of each patient to 2; no patient has more, so that nothing is random."""
    of: dict[str, Any] = {"user": "patient", "max_labels": 2, "unit": unit, **more}
    return dh.LabelCounts.from_table(VISITS, label="drug", **of)


def users_by_labels(*numbers: int) -> dh.Release:
    """Return a release that also states how many users have how many labels."""
    asked = dh.ThresholdHistogram(
        epsilon=1, delta="1e-6", max_labels=2, max_count=1, users_by_labels=4
    )
    made = release(asked, visits(users_by_labels=4))
    return replace(made, noisy={"users": np.array(numbers)})


LETTERS = list("abcdefg")
WARDS = [f"ward {n}" for n in range(30)]
LAPLACE = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=2)
GAUSSIAN = dh.ThresholdHistogram(
    epsilon="0.2", delta="1e-6", max_labels=10, max_count=3, noise="gaussian"
)
NEAR = dh.ThresholdHistogram(epsilon="0.1", delta="1e-6", max_labels=1, noise="gaussian")
LISTED = dh.ThresholdHistogram(epsilon="0.1", max_labels=2, labels=WARDS)
OTHER = dh.ThresholdHistogram(epsilon=1, max_labels=2, labels=["drug 1", "drug 2"], other=True)
CORRELATED = dh.calibrate(
    dh.ThresholdHistogram,
    epsilon=1,
    delta="1e-6",
    max_labels=30,
    labels=WARDS,
    noise="gaussian",
    correlated=True,
)
OPTIMAL = dh.ThresholdHistogram(epsilon="0.5", delta="1e-6", max_labels=2, noise="optimal")
ENDING = dh.ThresholdHistogram(
    epsilon="0.5", delta="1e-6", max_labels=2, labels=WARDS, noise="truncated"
)
TOP = dh.TopLabels(k=5, epsilon=1, delta="1e-6")
FOUND = dh.AutoThreshold(epsilon=1, delta="1e-6", max_labels=12)
DISCOVER = dh.DiscoverLabels(epsilon=1, delta="1e-6", max_labels=3)

MADE: dict[str, Callable[[], dh.Release]] = {
    "laplace": lambda: release(LAPLACE, counted(LETTERS)),
    "users": lambda: release(LAPLACE, visits()),
    "patients, in words": lambda: release(LAPLACE, visits("one patient"), **WORDS),
    "users, called people": lambda: release(
        LAPLACE, visits(), unit="person/people", label_name="taxon/taxa"
    ),
    "users or rows": lambda: release(
        LAPLACE, visits(null_users="separate", null_labels="drop"), **WORDS
    ),
    "users by labels": lambda: users_by_labels(60, 48, 9, 3),
    "rows": lambda: release(LAPLACE, dh.LabelCounts.from_table(VISITS, label="drug")),
    "rows of counts, in words": lambda: release(
        dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1, max_count=2),
        dh.LabelCounts.from_table(VISITS.assign(n=2), label="drug", count="n", max_count=2),
        **WORDS,
    ),
    "gaussian": lambda: release(GAUSSIAN, counted([f"l{n}" for n in range(140)], 10, max_count=3)),
    "optimal": lambda: release(OPTIMAL, visits()),
    "listed, with an end": lambda: release(ENDING, counted(WARDS[:20], 2, 50)),
    "near the threshold": lambda: release(NEAR, counted(LETTERS, 1, 120), seed=3),
    "one": lambda: release(LAPLACE, counted(["only"], 2, 50)),
    "dates": lambda: release(LAPLACE, counted([date(2026, 1, 1), date(2026, 2, 1)])),
    "odd labels": lambda: release(LAPLACE, counted(ODD)),
    "nothing": lambda: release(LAPLACE, counted([])),
    "for tests": lambda: replace(release(LAPLACE, counted(LETTERS)), for_tests=True),
    "listed": lambda: release(LISTED, counted(["ward 1", "ward 2"], 2, 3)),
    "listed, with other": lambda: release(
        OTHER, visits("one patient", other_than=OTHER.labels), **WORDS
    ),
    "correlated": lambda: release(CORRELATED, counted(WARDS, 30, only_adds=True)),
    "four releases": lambda: release(
        dh.calibrate(
            dh.ThresholdHistogram,
            epsilon=2,
            delta="1e-6",
            releases=4,
            max_labels=2,
            noise="gaussian",
        ),
        visits("one patient"),
        **WORDS,
    ),
    "top threshold": lambda: release(
        dh.TopThreshold(k=5, epsilon=1, delta="1e-6", max_labels=2), counted(LETTERS)
    ),
    "top": lambda: release(TOP, counted(LETTERS)),
    "top of patients, in words": lambda: release(TOP, visits("one patient"), **WORDS),
    "top, too few": lambda: release(dh.TopLabels(k=40, epsilon=1, delta="1e-6"), counted(LETTERS)),
    "top of odd labels": lambda: release(TOP, counted(ODD)),
    "top of nothing": lambda: release(TOP, counted([])),
    "query of a session": lambda: shown(
        dh.PayWhatYouGet(epsilon=1, delta="1e-6", max_labels=2).top(
            counted(LETTERS), k=3, source=random.Random(2).randbytes
        )
    ),
    "found": lambda: release(FOUND, visits("one patient", keep_sets=True, max_labels=12), **WORDS),
    "discovered": lambda: release(DISCOVER, counted(LETTERS, 3)),
    "discovered of patients, in words": lambda: release(
        DISCOVER, visits("one patient", keep_sets=True), **WORDS
    ),
    "discovered nothing": lambda: release(DISCOVER, counted([], 3)),
}
"""Releases by what they show."""
