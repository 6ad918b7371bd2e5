"""From the rows of a table to a release: bounding, counting and noise, in an engine's own tables.

Data are lists of rows. Neighbors differ in the rows of one user, however many these are.
"""

import random
import unicodedata
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from dphist.data.binned_counts import bin_counts
from dphist.data.label_counts import LabelCounts
from dphist.data.profile import Profile
from dphist.lab.auditing.pipelines.engines import Frame

Rows = list[tuple[Any, ...]]
Pairs = list[tuple[str, Rows, Rows]]

MOST_LABELS = 2
MOST_RECORDS = 2
EDGES = [0.0, 1.0, 2.0, 3.0]

_LABELS = pa.schema([("user", pa.string()), ("label", pa.string())])
_VALUES = pa.schema([("user", pa.string()), ("value", pa.float64())])
_OTHERS = 12  # users beside the one: about as many as a threshold asks for


def label_counts(mechanism: Any, frame: Frame) -> Callable[[Rows], Any]:
    """Return a callable that counts labels, and releases counts."""

    def run(rows: Rows) -> Any:
        table = frame(_table(rows, _LABELS))
        counts = LabelCounts.from_table(
            table, label="label", user="user", max_labels=MOST_LABELS, max_count=1
        )
        return mechanism.release(counts)

    return run


def profiles(mechanism: Any, frame: Frame) -> Callable[[Rows], Any]:
    """Return a callable that counts labels, and releases how many have each count."""

    def run(rows: Rows) -> Any:
        table = frame(_table(rows, _LABELS))
        made = Profile.from_table(table, label="label", user="user", max_records=MOST_RECORDS)
        return mechanism.release(made)

    return run


def bins(mechanism: Any, frame: Frame) -> Callable[[Rows], Any]:
    """Return a callable that counts values in bins, and releases the counts."""

    def run(rows: Rows) -> Any:
        table = frame(_table(rows, _VALUES))
        counts = bin_counts(
            table, column="value", edges=EDGES, user="user", max_records=MOST_RECORDS
        )
        return mechanism.release(counts)

    return run


def _table(rows: Rows, schema: pa.Schema) -> pa.Table:
    columns = [
        pa.array([row[place] for row in rows], item.type) for place, item in enumerate(schema)
    ]
    return pa.table(columns, schema=schema)


def label_pairs() -> Pairs:
    """Return tables with and without a user: over the bounds, with repeated rows, look-alikes."""
    others = [(f"u{k}", "tea") for k in range(_OTHERS)]
    shuffled = others.copy()
    random.Random(5).shuffle(shuffled)  # noqa: S311 - public data
    composed = unicodedata.normalize("NFC", "caf\u00e9")
    looks = [unicodedata.normalize("NFD", composed), f"{composed} ", composed.upper()]
    accents = [(f"u{k}", composed) for k in range(_OTHERS)]
    ones = [(f"u{k}", "1") for k in range(_OTHERS)]
    cases: dict[str, tuple[Rows, Rows]] = {
        "no rows, and one user": ([], [("one", "tea")]),
        "one user has a common label": (others, [*others, ("one", "tea")]),
        "one user has a new label": (others, [*others, ("one", "new")]),
        "a user above the bound": (others, [*others, *_all("one", ["tea", *"abcdefghij"])]),
        "a user above the bound, first": (others, [*_all("one", [*"abcdefghij"]), *others]),
        "a user's rows repeated": (others, [*others, *_all("one", ["tea"] * 20)]),
        "rows in another order, and one user": (others, [("one", "tea"), *shuffled]),
        "normal forms of the same text": (accents, [*accents, *_all("one", looks)]),
        "texts that are equal as numbers": (ones, [*ones, *_all("one", ["1.0", "True", "01"])]),
        "the empty text": (others, [*others, *_all("one", ["", " "])]),
    }
    return [(name, *pair) for name, pair in cases.items()]


def bin_pairs() -> Pairs:
    """Return tables with and without a user: over the bounds, NaN, the zeros, the edges."""
    nan, inf = float("nan"), float("inf")
    others = [(f"u{k}", 0.5 + k % 3) for k in range(_OTHERS)]
    cases: dict[str, tuple[Rows, Rows]] = {
        "no rows, and one user": ([], [("one", 0.5)]),
        "one user in a common bin": (others, [*others, ("one", 1.5)]),
        "a user above the bound": (others, [*others, *_all("one", [0.5, 1.5, 2.5] * 4)]),
        "a user of one bin, above the bound": (others, [*_all("one", [2.5] * 9), *others]),
        "NaN": (others, [*others, *_all("one", [nan, nan, 0.5])]),
        "both zeros": (others, [*others, *_all("one", [-0.0, 0.0])]),
        "the edges": (others, [*others, *_all("one", [1.0, 3.0])]),
        "the infinities": (others, [*others, *_all("one", [inf, -inf])]),
        "a number below all others": (others, [*others, *_all("one", [5e-324, -5e-324])]),
        "a missing value": (others, [*others, *_all("one", [None, 0.5])]),
        "rows in another order, and one user": (others, [("one", 0.5), *others[::-1]]),
    }
    return [(name, *pair) for name, pair in cases.items()]


def _all(user: str, values: list[Any]) -> Rows:
    return [(user, value) for value in values]
