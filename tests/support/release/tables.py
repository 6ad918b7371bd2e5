"""Releases of each kind whose tables are compared."""

import pandas as pd

import dphist as dh

LABELS = dh.LabelCounts.from_counts(["a", "b", "ü"], [900, 800, 700], max_labels=1, max_count=1)
DAYS = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=60), "x": range(60)})
BINNED = dh.bin_counts(DAYS, column="day", start="2024-01-01", stop="2024-03-01", width="1mo")
GRID = dh.bin_counts(DAYS, column=["day", "x"], start=["2024-01-01", 0], stop=["2024-03-01", 60],
                     width=["1mo", 30])  # fmt: skip
MECHANISM = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1)
RELEASES = {
    "anonymized": (
        dh.AdaptiveScan(epsilon=10).release(dh.Profile.from_counts([50] * 20 + [7])),
        ["count", "prevalence"],
    ),
    "labels": (MECHANISM.release(LABELS), ["label", "count"]),
    "ranges": (
        dh.AdaptiveTree(epsilon=1, bins=2).release(BINNED),
        ["start", "stop", "count", "error"],
    ),
    "grid": (
        dh.LeafCounts(epsilon=1, bins=(2, 2)).release(GRID),
        ["start_day", "stop_day", "start_x", "stop_x", "count", "error"],
    ),
}
STREAM = dh.RunningCounts([100, 200], [{"tea": 61}, {"tea": 118, "milk": 73}])
