"""Releases of labels that plans are checked with."""

from typing import Any

import pyarrow as pa

import dphist as dh


def count_labels(users_by_labels: int | None = None) -> dh.LabelCounts:
    users = [f"u{n}" for n in range(400)]
    rows = [(user, label) for n, user in enumerate(users) for label in "abc"[: 1 + n % 3]]
    return dh.LabelCounts.from_table(
        pa.table({"user": [u for u, _ in rows], "label": [label for _, label in rows]}),
        label="label",
        user="user",
        max_labels=2,
        users_by_labels=users_by_labels,
    )


def labels_release(**more: Any) -> dh.Release:
    made = dh.calibrate(dh.ThresholdHistogram, epsilon=2, delta="1e-6", max_labels=2, **more)
    return made.release(count_labels(**more))
