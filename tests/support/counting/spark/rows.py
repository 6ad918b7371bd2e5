"""Rows that every kind of Spark session counts, with what they come to."""

from typing import Any

import pyarrow as pa

from dphist import LabelCounts

KEY = "5eed" * 4 + "c0de" * 4
NUMBER = 1000
ROWS = [
    ("heavy" if i % 100 == 0 else f"u{i * 7919 % 211}", f"t{i * i % 97}", i % 4, i * 31 % 1000)
    for i in range(NUMBER)
]
TABLE = pa.table(
    {
        "who": [who for who, *_ in ROWS],
        "term": [term for _, term, *_ in ROWS],
        "n": [n for _, _, n, _ in ROWS],
        "x": [x for *_, x in ROWS],
    }
)
NAMES: dict[str, Any] = {"label": "term", "user": "who"}
BINS: dict[str, Any] = {"column": "x", "start": 0, "stop": 900, "width": 60}


def as_dict(counts: LabelCounts) -> dict[str, int]:
    """Return all labels with their counts."""
    found = counts.filter_batches(lambda batch: batch)
    labels = found["label"].to_pylist()
    assert len(labels) == len(set(labels))
    return dict(zip(labels, found["count"].to_pylist(), strict=True))
